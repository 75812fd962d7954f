// Reads `/v1/events` while it is wanted. Used by a worker that all tabs share, or by a tab itself: nothing of the document is used.
"use strict";

const AGAIN_MS = 5000; // from the end of a stream to the next one

export class EventReader {
  #abort = null;
  #due = 0;

  // `take(event)` gets the events, and { event: "closed" } when there are none any more.
  constructor(take) {
    this.take = take;
  }

  // Opens the stream if it is closed; a server that refuses it is asked again later. `token` may be null.
  open(token) {
    if (this.#abort || performance.now() < this.#due) return;
    this.#abort = new AbortController();
    this.#read(token, this.#abort.signal).catch(() => null).then(() => {
      this.#abort = null;
      this.#due = performance.now() + AGAIN_MS;
      this.take({ event: "closed" });
    });
  }

  close() {
    this.#abort?.abort();
  }

  async #read(token, signal) {
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const answer = await fetch("v1/events", { headers, signal });
    if (answer.ok) for await (const event of eventsOf(answer)) this.take(event);
  }
}

// The server-sent events of an answer, one after the other, until it ends.
async function* eventsOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const data = frame.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("");
      if (data) yield JSON.parse(data);
    }
  }
}
