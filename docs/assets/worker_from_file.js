// Pages that are opened from a file may not start workers, and the search of the site is one. Here it runs in a hidden frame.
if (location.protocol === "file:") {
    window.Worker = class extends EventTarget {
        constructor(url) {
            super();
            const frame = document.createElement("iframe");
            frame.hidden = true;
            document.body.appendChild(frame);
            const inside = frame.contentWindow;
            const load = (source) => new Promise((done, failed) => {
                const script = inside.document.createElement("script");
                Object.assign(script, { src: source, async: false, onload: done, onerror: failed });
                inside.document.body.appendChild(script);
            });
            inside.postMessage = (data) => {
                const event = new MessageEvent("message", { data });
                this.dispatchEvent(event);
                if (this.onmessage) this.onmessage(event);
            };
            inside.importScripts = (...sources) => sources.reduce((last, source) => last.then(() => load(source)), Promise.resolve());
            this.inside = inside;
            this.loaded = load(url);
        }
        postMessage(data) {
            this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
        }
        terminate() {}
    };
}
