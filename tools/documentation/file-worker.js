// Browsers refuse workers on pages that are opened from disk. There, a hidden frame runs the worker's script instead.
if (location.protocol === "file:") {
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
}
