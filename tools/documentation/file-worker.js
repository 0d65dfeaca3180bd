// Replaces what browsers refuse on pages that are opened from disk.
if (location.protocol === "file:") {
  // Workers: a hidden frame runs the worker's script instead.
  // As between a page and a worker: a copy, and never in the middle of something else.
  const deliver = (data, receive) => {
    const copy = structuredClone(data);
    setTimeout(() => receive(new MessageEvent("message", { data: copy })));
  };

  window.Worker = class FrameWorker {
    constructor(url) {
      this.onmessage = this.onerror = this.onmessageerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => deliver(data, (event) => this.onmessage?.(event));
      this.loaded = new Promise((resolve) => {
        const script = inside.document.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = () => this.onerror?.(new ErrorEvent("error", { message: `cannot load ${url}` }));
        inside.document.body.append(script);
      });
    }

    postMessage(data) {
      this.loaded.then(() => deliver(data, (event) => this.frame.contentWindow?.onmessage?.(event)));
    }

    terminate() {
      this.frame.remove();
    }
  };
  // Nor may a page read another file, but it may run one: `versions.js` has the list of `versions.json`.
  const { open, send } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    this.address = String(url);
    return open.call(this, method, url, ...rest);
  };
  XMLHttpRequest.prototype.send = function (...rest) {
    if (!this.address.endsWith("/versions.json")) return send.apply(this, rest);
    const script = document.createElement("script");
    script.src = this.address.replace(/on$/, "");
    script.onload = () => {
      const response = new Blob([JSON.stringify(window.siteVersions)]);
      Object.defineProperties(this, { status: { value: 200 }, response: { value: response } });
      this.dispatchEvent(new ProgressEvent("load"));
    };
    script.onerror = () => this.dispatchEvent(new ProgressEvent("error"));
    document.head.append(script);
  };
  // On disk the address of a folder is not that of its page.
  const follow = (event) => {
    const link = event.target instanceof Element && event.target.closest(".md-version__link");
    if (link) {
      event.preventDefault();
      event.stopImmediatePropagation();
      location.href = new URL("index.html", link.href);
    }
  };
  document.addEventListener("click", follow, true);
}
