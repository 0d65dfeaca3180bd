// Loaded by every Node.js of an observed run: a clock that timers move, and stand-ins for packages that are not installed.
// The values in capitals are replaced when a run is planned.
"use strict";
const OFFSET = Number("@OFFSET@") * 1000;
let moved = 0;
const RealDate = Date;
const now = () => RealDate.now() + OFFSET + moved;
class MovedDate extends RealDate {
  constructor(...values) {
    if (values.length) super(...values);
    else super(now());
  }
  static now() {
    return now();
  }
}
Object.defineProperty(MovedDate, "name", { value: "Date" });
globalThis.Date = MovedDate;

const mark = (text) => {
  try {
    require("fs").closeSync(require("fs").openSync("/run/metier/" + text));
  } catch (error) {}
};

// A timer fires soon, and the clock has then moved by its delay. Short ones keep their order.
const shorten = (real) => (callback, delay = 0, ...values) => {
  if (Number(delay) >= 1000) mark(`sleep/${Math.round(delay / 1000)}`);
  return real(
    (...inner) => {
      moved += Math.max(0, Number(delay) || 0);
      return callback(...inner);
    },
    Number(delay) > 20 ? 20 + Math.min(30, Number(delay) / 1e6) : delay,
    ...values,
  );
};
const realTimeout = globalThis.setTimeout;
const timers = require("timers");
let ticks = 0;
globalThis.setTimeout = timers.setTimeout = shorten(realTimeout);
const realInterval = globalThis.setInterval;
globalThis.setInterval = timers.setInterval = (callback, delay, ...values) => {
  const timer = realInterval(
    (...inner) => {
      moved += Number(delay) || 0;
      if (++ticks > 40) clearInterval(timer);
      return callback(...inner);
    },
    Math.min(Number(delay) || 1, 20),
    ...values,
  );
  return timer;
};
const promises = require("timers/promises");
promises.setTimeout = (delay, value) => new Promise((resolve) => setTimeout(() => resolve(value), delay));
require("util").promisify.custom &&
  Object.defineProperty(globalThis.setTimeout, require("util").promisify.custom, {
    value: (delay, value) => promises.setTimeout(delay, value),
  });

const Module = require("module");
const realLoad = Module._load;
const stand = (name) =>
  new Proxy(function () {}, {
    get: (target, key) => {
      if (key === "then") return undefined;
      if (key === Symbol.toPrimitive) return () => "example";
      if (key === Symbol.iterator) return function* () {};
      if (key === "__esModule") return true;
      if (key === "prototype") return target.prototype;
      return stand(`${name}.${String(key)}`);
    },
    apply: (target, self, values) => stand(name),
    construct: () => stand(name),
  });
const send = async (method, url, body, options = {}) => {
  const target = new URL(url, options.baseURL);
  for (const [key, value] of Object.entries(options.params || {})) target.searchParams.set(key, value);
  const headers = { ...(options.headers || {}) };
  let data = body ?? options.data;
  if (data !== undefined && data !== null && typeof data === "object" && !Buffer.isBuffer(data) && !(data instanceof URLSearchParams)) {
    data = JSON.stringify(data);
    headers["content-type"] = headers["content-type"] || "application/json";
  }
  const answer = await fetch(target, { method, headers, body: method === "GET" || method === "HEAD" ? undefined : data });
  const text = await answer.text();
  let parsed = text;
  try {
    parsed = JSON.parse(text);
  } catch (error) {}
  return { status: answer.status, statusText: "OK", headers: Object.fromEntries(answer.headers), data: parsed, body: parsed, config: options };
};
const client = (base = {}) => {
  const call = (first, second) =>
    typeof first === "string" ? send(second?.method || "GET", first, second?.data, { ...base, ...second })
      : send((first.method || "GET").toUpperCase(), first.url, first.data, { ...base, ...first });
  for (const method of ["get", "delete", "head", "options"])
    call[method] = (url, options) => send(method.toUpperCase(), url, undefined, { ...base, ...options });
  for (const method of ["post", "put", "patch"])
    call[method] = (url, data, options) => send(method.toUpperCase(), url, data, { ...base, ...options });
  call.request = call;
  call.create = (options) => client({ ...base, ...options });
  call.default = call;
  call.isAxiosError = () => false;
  call.interceptors = { request: { use() {} }, response: { use() {} } };
  call.defaults = { headers: { common: {} } };
  return call;
};
const known = { axios: client(), got: client(), "node-fetch": Object.assign((...values) => fetch(...values), { default: fetch }), undici: { fetch, request: fetch } };
Module._load = function (name, parent, isMain) {
  try {
    return realLoad.call(this, name, parent, isMain);
  } catch (error) {
    if (error && error.code === "MODULE_NOT_FOUND" && !/^[./]/.test(name)) {
      mark(`package/${name}`);
      return known[name] || stand(name);
    }
    throw error;
  }
};
