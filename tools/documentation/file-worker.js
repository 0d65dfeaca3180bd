// Browsers refuse workers on pages that are opened from disk. There, a hidden frame runs the worker's script instead.
if (location.protocol === "file:") {
  window.Worker = class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = this.onmessageerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      };
      this.loaded = new Promise((resolve) => {
        const script = inside.document.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = () => this.onerror?.(new ErrorEvent("error", { message: `cannot load ${url}` }));
        inside.document.body.append(script);
      });
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.onmessage?.(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
