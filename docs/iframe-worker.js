// Search runs in a worker, and browsers start none for a page that was opened from disk. There, a hidden frame does.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const load = (source) => new Promise((loaded) => {
        const script = inside.document.createElement("script");
        script.src = new URL(source, location.href).href;
        script.onload = loaded;
        inside.document.body.append(script);
      });
      inside.importScripts = (...sources) => Promise.all(sources.map(load));
      this.ready = load(address);
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
