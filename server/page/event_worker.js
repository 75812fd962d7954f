// A worker that all tabs of a browser share: it holds one stream of events and passes them on. A browser opens six
// connections to a server with HTTP/1.1: with a stream in each of six tabs, none is left for anything else.
"use strict";

import { EventReader } from "./event_reader.js";

const LEASE_MS = 150_000; // A tab asks again and again; one that has not for so long is gone. Hidden ones may ask once a minute.

const streams = new Map(); // by token

// A stream, and the tabs that get its events: the time at which each asked last, by its port.
class Shared {
  #state = null; // the event that last said whether the stream is open: a tab that comes later gets it, too
  tabs = new Map();
  reader = new EventReader((event) => this.#pass(event));

  #pass(event) {
    if (event.event === "start" || event.event === "closed") this.#state = event;
    for (const port of this.tabs.keys()) port.postMessage(event);
  }

  want(port, token) {
    if (!this.tabs.has(port) && this.#state) port.postMessage(this.#state);
    this.tabs.set(port, performance.now());
    this.reader.open(token);
  }
}

// A stream that no tab wants is closed.
function forget(isGone) {
  for (const [token, { reader, tabs }] of streams) {
    for (const [port, asked] of tabs) if (isGone(port, asked, token)) tabs.delete(port);
    if (tabs.size) continue;
    reader.close();
    streams.delete(token);
  }
}

// A tab sends its token, or null without one, while it wants events, and "close" when it does not any more.
addEventListener("connect", ({ ports: [port] }) => {
  port.onmessage = ({ data: { token, close } }) => {
    if (!close) {
      if (!streams.has(token)) streams.set(token, new Shared());
      streams.get(token).want(port, token);
    }
    const oldest = performance.now() - LEASE_MS;
    forget((other, asked, ofToken) => asked < oldest || (other === port && (close || ofToken !== token)));
  };
});
