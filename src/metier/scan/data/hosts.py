"""URLs in a text, and the reputation of their hosts: known, the skill's own, shared, anonymous, unknown.

Only names are judged; nothing is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from metier.lazy import lazy_pattern
from metier.scan.patterns import words
from metier.scan.purpose import Purpose
from metier.scan.scale import Confidence
from metier.values import dataclass

__all__ = [
    "HostReputation",
    "Url",
    "download_risk",
    "foreign_urls",
    "host_reputation",
    "is_unknown_host",
    "reputation_of",
    "urls_in",
]


class HostReputation(StrEnum):
    KNOWN = "known"
    """A host of a well-known owner."""
    OWN = "own"
    """A host that shares its name with the skill."""
    UNKNOWN = "unknown"
    """Any other host."""
    SHARED = "shared"
    """Anyone can publish there: code hosting, free web hosting."""
    ANONYMOUS = "anonymous"
    """No known owner: IP addresses, paste sites, tunnels, shorteners, file drops, request catchers."""
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Url:
    text: str
    host: str
    path: str
    at: int
    is_plain_http: bool

    @property
    def is_placeholder(self) -> bool:
        """Returns True if the host stands for another one: example.com, <your-host>, {base}."""
        return bool(_PLACEHOLDER.search(self.host)) or not self.host

    @property
    def label(self) -> str:
        """The registered part of the host: `example` of cdn.example.co.uk."""
        parts = self.host.split(".")
        if len(parts) > 2 and parts[-2] in ("co", "com", "org", "net", "gov", "ac"):
            return parts[-3]
        return parts[-2] if len(parts) > 1 else parts[0]


_URL = lazy_pattern(
    r"(?:https?|s?ftp|wss?|ssh|git|s3)://(?P<host>\[[0-9a-f:.]{2,45}\]|[^\s/\"'`<>()\[\]{}|\\^;,:?#@]{1,200})(?::\d{1,5})?"
    r"(?P<path>[/?#][^\s\"'`<>\\^|)\]}]{0,400})?",
    re.IGNORECASE,
)
_PLACEHOLDER = lazy_pattern(
    r"(?:^|\.)(?:example\.(?:com|org|net|edu)|example|invalid|test|localdomain)$|^(?:your|my|some|the)[-_.]?|[$<{%*]|^x{2,}"
    r"|^\.\.\.|^host(?:name)?$|^domain|yourdomain|your-domain|mycompany"
)
_ADDRESS = lazy_pattern(r"\d{1,3}(?:\.\d{1,3}){3}|\d{8,10}|0x[0-9a-f]{8}|\[[0-9a-f:.]+\]")
_LOCAL = lazy_pattern(
    r"localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|10\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+"
    r"|172\.(?:1[6-9]|2\d|3[01])\.\d+\.\d+|host\.docker\.internal|.*\.local(?:host)?|.*\.internal|[a-z0-9-]+"
)
_DOCUMENTATION = lazy_pattern(
    r"192\.0\.2\.\d+|198\.51\.100\.\d+|203\.0\.113\.\d+|1\.2\.3\.4|[08]\.8\.[84]\.[84]|1\.1\.1\.1|169\.254\.169\.254"
)
_ILL_WORDS = lazy_pattern(
    r"(?:^|[.-])(?:evil\w*|attacker\w*|malicious\w*|malware|exfil\w*|c2\d*|stealer|phish\w*|badguy|backdoor|pwned)(?:[.-]|$)"
)

_KNOWN = words("""
    astral.sh bun.sh bun.com deno.land deno.com rustup.rs docker.com nodesource.com python-poetry.org fly.io ollama.com
    claude.ai cursor.com vercel.com supabase.com sdkman.io starship.rs paradigm.xyz tailscale.com rclone.org helm.sh k3s.io
    linkerd.io fluxcd.io istio.io google.com cloud.google.com googleapis.com aka.ms microsoft.com visualstudio.com
    amazonaws.com amazon.com pnpm.io volta.sh mise.run mise.jdx.dev nixos.org determinate.systems hashicorp.com rvm.io
    brew.sh npmjs.com npmjs.org pypi.org pythonhosted.org python.org nodejs.org golang.org go.dev rust-lang.org crates.io
    rubygems.org ruby-lang.org yarnpkg.com cloudflare.com anthropic.com openai.com huggingface.co nvidia.com apple.com
    debian.org ubuntu.com fedoraproject.org gnu.org kernel.org apache.org mozilla.org llvm.org kubernetes.io k8s.io
    pulumi.com terraform.io railway.app railway.com render.com netlify.com heroku.com digitalocean.com stripe.com sentry.io
    datadoghq.com grafana.com elastic.co mongodb.com postgresql.org mysql.com redis.io sqlite.org git-scm.com gitlab.com
    bitbucket.org atlassian.com jetbrains.com eclipse.org oracle.com ibm.com redhat.com linkedin.com slack.com notion.so
    notion.com figma.com linear.app airtable.com zapier.com twilio.com sendgrid.com dot.net aspire.dev antigravity.google
    cli.inference.sh inference.sh foundry.paradigm.xyz solana.com anza.xyz crowdsec.net acme.sh containerlab.dev proton.me
    modal.com replicate.com wandb.ai snyk.io semgrep.dev trailofbits.com cdnjs.cloudflare.com jsdelivr.net unpkg.com esm.sh
    tailwindcss.com w3.org schema.org json-schema.org agentskills.io modelcontextprotocol.io wikipedia.org arxiv.org
    stackoverflow.com shields.io conda.io anaconda.com anaconda.org continuum.io r-project.org julialang.org haskell.org
    opam.ocaml.org scala-lang.org kotlinlang.org gradle.org maven.org dart.dev flutter.dev swift.org expo.dev warp.dev
    zed.dev devenv.sh just.systems chocolatey.org scoop.sh get.scoop.sh winget.run pkgx.sh lmstudio.ai gemini.google.com
    x.ai mistral.ai cohere.com together.ai groq.com perplexity.ai elevenlabs.io langchain.com llamaindex.ai firecrawl.dev
    tavily.com exa.ai serper.dev
""")
_SHARED = words("""
    github.com raw.githubusercontent.com githubusercontent.com github.io gitlab.io gitee.com codeberg.org sourceforge.net
    vercel.app netlify.app pages.dev workers.dev web.app firebaseapp.com herokuapp.com onrender.com railway.app glitch.me
    repl.co replit.app surge.sh fly.dev deno.dev r2.dev blogspot.com wordpress.com wixsite.com weebly.com azurewebsites.net
    cloudfront.net cloudsmith.io packagecloud.io
    lovable.app streamlit.app hf.space drive.google.com docs.google.com drive.usercontent.google.com dropbox.com
    dropboxusercontent.com onedrive.live.com 1drv.ms sharepoint.com forever.sh tiiny.site
    framer.website framer.app webflow.io carrd.co notion.site gitbook.io tilda.ws bubbleapps.io godaddysites.com square.site
    mystrikingly.com 000webhostapp.com infinityfreeapp.com altervista.org webnode.page jimdosite.com softr.app bolt.host
""")
_ANONYMOUS = words("""
    pastebin.com paste.ee rentry.co rentry.org hastebin.com ghostbin.com dpaste.org dpaste.com paste.rs ix.io sprunge.us
    termbin.com glot.io controlc.com privatebin.net justpaste.it 0bin.net paste.gg pastes.io bpa.st snippet.host
    gist.githubusercontent.com gist.github.com cl1p.net telegra.ph write.as transfer.sh file.io 0x0.st catbox.moe
    litter.catbox.moe anonfiles.com gofile.io bashupload.com tmpfiles.org temp.sh oshi.at mediafire.com mega.nz mega.io
    sendspace.com zippyshare.com wetransfer.com we.tl pixeldrain.com uguu.se filebin.net keep.sh ngrok.io ngrok.app
    ngrok-free.app ngrok-free.dev loca.lt localtunnel.me serveo.net trycloudflare.com localhost.run pagekite.me bore.pub
    pinggy.link tunnelmole.net lhr.life bit.ly tinyurl.com is.gd t.co goo.gl cutt.ly rb.gy shorturl.at ow.ly tiny.cc s.id
    v.gd shrtco.de t.ly webhook.site requestbin.com requestbin.net pipedream.net m.pipedream.net requestcatcher.com
    beeceptor.com hookbin.com interact.sh oast.fun oast.pro oast.live oast.site oast.online oast.me burpcollaborator.net
    oastify.com dnslog.cn ceye.io canarytokens.com postb.in webhook-test.com typedwebhook.tools svix.com/play hookdeck.com
    duckdns.org no-ip.org no-ip.com ddns.net hopto.org zapto.org dynu.com 3322.org nip.io sslip.io
""")
_INSTALLERS = lazy_pattern(
    r"^https://(?:raw\.githubusercontent\.com|github\.com)/(?:homebrew/|nvm-sh/|pyenv/|rbenv/|ohmyzsh/|asdf-vm/|junegunn/"
    r"|helm/|k3d-io/|rancher/|nektos/|golangci/|anchore/|aquasecurity/|gitleaks/|trufflesecurity/|tailwindlabs/"
    r"|jesseduffield/|astral-sh/|docker/|kubernetes/|kubernetes-sigs/|argoproj/|hashicorp/|openai/|anthropics/"
    r"|google-gemini/|microsoft/|google/|vercel/|cloudflare/|supabase/|stripe/)"
)
_ANONYMOUS_ENDINGS = (".onion", ".tk", ".ml", ".ga", ".cf", ".gq", ".bit", ".i2p")
_MOST = 2_000


def urls_in(text: str) -> Iterator[Url]:
    """Yields the first URLs of a text."""
    at = text.find("://")
    count = 0
    while at >= 0 and count < _MOST:
        count += 1
        for back in (5, 4, 3, 2):
            found = _URL.match(text, at - back) if at >= back else None
            if found:
                host = found["host"].rpartition("@")[2].rstrip(".").lower()
                yield Url(
                    found[0].rstrip(".,;:!?*_~"),
                    host,
                    found["path"] or "",
                    found.start(),
                    text[at - back : at].lower() == "http",
                )
                break
        at = text.find("://", at + 3)


def reputation_of(url: Url, purpose: Purpose) -> HostReputation:
    """Returns the reputation of a URL's host for a skill with this purpose."""
    own = purpose.own
    host = url.host
    if _LOCAL.fullmatch(host):
        return HostReputation.LOCAL
    if _ADDRESS.fullmatch(host):
        return HostReputation.UNKNOWN if _DOCUMENTATION.fullmatch(host) else HostReputation.ANONYMOUS
    if _is_under(host, _ANONYMOUS) or host.endswith(_ANONYMOUS_ENDINGS) or _ILL_WORDS.search(host):
        return HostReputation.ANONYMOUS
    if _INSTALLERS.search(url.text.lower()):
        return HostReputation.KNOWN
    if _is_under(host, _SHARED):
        return HostReputation.OWN if _is_own(url, own) else HostReputation.SHARED
    if _is_under(host, _KNOWN):
        return HostReputation.KNOWN
    label = re.sub(r"[^a-z0-9]", "", url.label)
    if len(label) >= 4 and (label in own or (len(own) >= 6 and own in label)):
        return HostReputation.OWN
    return HostReputation.UNKNOWN


def host_reputation(host: str, purpose: Purpose) -> HostReputation:
    """Returns the reputation of a host for a skill with this purpose."""
    url = next(urls_in(f"https://{host}/"), None)
    return reputation_of(url, purpose) if url else HostReputation.UNKNOWN


def foreign_urls(text: str, purpose: Purpose) -> Iterator[tuple[Url, HostReputation]]:
    """Yields the URLs whose hosts are neither local, known nor placeholders."""
    for url in urls_in(text):
        kind = reputation_of(url, purpose)
        if kind not in (HostReputation.LOCAL, HostReputation.KNOWN) and not url.is_placeholder:
            yield url, kind


def is_unknown_host(url: Url, purpose: Purpose) -> bool:
    """Returns True if the host is neither well known nor named by the skill's name or description."""
    kind = reputation_of(url, purpose)
    return (
        kind in (HostReputation.UNKNOWN, HostReputation.ANONYMOUS, HostReputation.SHARED)
        and (kind is HostReputation.ANONYMOUS or not url.is_placeholder)
        and not (len(url.label) >= 4 and purpose.mentions((url.label,)))
    )


def download_risk(url: Url, purpose: Purpose) -> Confidence:
    """Returns the confidence that running a download from this URL is harmful."""
    return {
        HostReputation.KNOWN: Confidence.LOW,
        HostReputation.LOCAL: Confidence.LOW,
        HostReputation.OWN: Confidence.MEDIUM,
        HostReputation.SHARED: Confidence.MEDIUM,
        HostReputation.UNKNOWN: Confidence.HIGH,
        HostReputation.ANONYMOUS: Confidence.HIGH,
    }[reputation_of(url, purpose)]


def _is_own(url: Url, own: str) -> bool:
    """Returns True if the owner, the repository or the name below a shared host is that of the skill."""
    below = url.host.split(".")[0] if url.host not in _SHARED else ""
    parts = [re.sub(r"[^a-z0-9]", "", part.lower()) for part in (below, *url.path.split("/")[1:3])]
    return any(len(part) >= 4 and (part in own or (len(own) >= 5 and own in part)) for part in parts)


def _is_under(host: str, names: frozenset[str]) -> bool:
    parts = host.split(".")
    return any(".".join(parts[start:]) in names for start in range(max(0, len(parts) - 4), len(parts) - 1))
