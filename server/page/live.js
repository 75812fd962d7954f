// What the server says, for all pages: its status and the client, read again and again while the tab is visible.
"use strict";

import { get } from "./api.js";

const EVERY_MS = 2000;
const SHARE = 20; // The pause after a refresh is at least this multiple of its duration,
const LONGEST_MS = 10_000; // but not longer than this, however busy the server is.
const CLIENT_MS = 30_000; // time between two reads of the role of this client

export class Live {
  #client = { value: null, due: 0 };
  #refreshing = null;
  #asked = false;
  #paced = true; // whether nobody asked for the refresh that comes next
  #timer = null; // of the next refresh; null before `run`

  // `show({ status, client, paced })` updates the document; `fail(error)` says why that failed: the server refuses or
  // does not answer, or the page has a fault. `paced` is true when nobody asked for the refresh: then a page may read large answers less often.
  // `watching()` says whether the user wants notifications: then a hidden tab reads too, less often.
  constructor(show, fail, watching) {
    [this.show, this.fail, this.watching] = [show, fail, watching];
    this.locked = false; // whether a token is needed: until there is one, nothing is read
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && !this.locked && !this.#refreshing) this.refresh();
    });
  }

  // The role of the client is read with the next refresh.
  forgetClient() {
    this.#client.due = 0;
  }

  // Whether nobody looks: then nothing is read.
  get sleeps() {
    return document.hidden && !this.watching();
  }

  // One refresh runs at a time. A request during it starts another one after it.
  async refresh(paced = false) {
    if (paced && this.sleeps) return;
    this.#asked = true;
    this.#paced &&= paced;
    this.#refreshing ??= this.#round();
    await this.#refreshing;
  }

  async #round() {
    const began = performance.now();
    try {
      while (this.#asked) {
        const paced = this.#paced;
        [this.#asked, this.#paced] = [false, true];
        await this.#once(paced);
      }
    } finally {
      this.#refreshing = null;
      if (this.#timer !== null) this.#later(SHARE * (performance.now() - began));
    }
  }

  async #once(paced) {
    try {
      const [client, status] = await Promise.all([this.#readClient(), get("v1/status")]);
      await this.show({ status, client, paced });
      this.locked = false;
    } catch (error) {
      this.forgetClient();
      this.locked = error.status === 401;
      this.fail(error);
    }
  }

  async #readClient() {
    if (performance.now() >= this.#client.due) {
      Object.assign(this.#client, { value: await get("v1/whoami"), due: performance.now() + CLIENT_MS });
    }
    return this.#client.value;
  }

  // Reads from now on. What else asks for a refresh, such as an event, puts the next one off.
  run() {
    this.#later(0);
    this.#turn();
  }

  #later(pause) {
    clearTimeout(this.#timer);
    const least = document.hidden ? LONGEST_MS : EVERY_MS;
    this.#timer = setTimeout(() => this.#turn(), Math.max(least, Math.min(LONGEST_MS, pause)));
  }

  #turn() {
    // A refresh that runs already is new enough.
    if (!this.sleeps && !this.locked && !this.#refreshing) this.refresh(true);
    else this.#later(0);
  }
}
