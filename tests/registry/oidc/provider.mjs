// A real OpenID provider for the tests. A browser that is not signed in is signed in as the account that the last PUT /as/NAME
// named; DELETE /as/NAME removes an account.
import Provider from "oidc-provider";
import http from "node:http";

const [port, redirectUri] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const accounts = JSON.parse(process.env.ACCOUNTS);
let current = Object.keys(accounts)[0];

const provider = new Provider(issuer, {
  clients: [{
    client_id: "registry", client_secret: "a secret with : and %", redirect_uris: [redirectUri],
    post_logout_redirect_uris: [new URL("/", redirectUri).href],
  }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["preferred_username", "groups"] },
  features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
  pkce: { required: () => true },
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (ctx, id) => accounts[id] && ({ accountId: id, claims: () => ({ sub: id, ...accounts[id] }) }),
});
const serve = provider.callback();

async function interact(request, response) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === "login" && !accounts[current]) {
    return provider.interactionFinished(request, response, { error: "access_denied", error_description: "the account was removed" });
  }
  if (prompt.name === "login") {
    return provider.interactionFinished(request, response, { login: { accountId: current } });
  }
  const grant = grantId ? await provider.Grant.find(grantId) : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

http.createServer((request, response) => {
  if (request.method === "PUT" && request.url.startsWith("/as/")) {
    current = request.url.slice(4);
    return response.end();
  }
  if (request.method === "DELETE" && request.url.startsWith("/as/")) {
    delete accounts[request.url.slice(4)];
    return response.end();
  }
  return request.url.startsWith("/interaction/") ? interact(request, response) : serve(request, response);
}).listen(Number(port), "127.0.0.1", () => console.log("ready"));
