// Search in a page that was opened from a file. Browsers let no page of file:// start a Worker, so the site's search
// worker runs in a hidden frame instead. The theme's offline plugin would load such a stand-in from a network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<script></script>";
      this.frame = new Promise((resolve) => {
        frame.onload = () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = inside.document.createElement("script");
          script.src = url;
          script.onload = () => resolve(inside);
          inside.document.body.append(script);
        };
      });
      document.addEventListener("DOMContentLoaded", () => document.body.append(frame));
      if (document.body && document.readyState !== "loading") document.body.append(frame);
    }
    postMessage(data) {
      this.frame.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
