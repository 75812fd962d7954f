// Reads what a page shows, at a pace that costs the server a hundredth of a core at most.
"use strict";

const SHARE = 100; // The pause after an answer is at least this multiple of the time that it took,
const LONGEST_MS = 60_000; // but not longer than this or than `longest`, whatever `load` wants.

export class Reader {
  #due = 0;
  #reading = null;
  #again = false;

  // `load()` reads and shows; it is called every `every` milliseconds at most, or less often if it returns a longer pause.
  constructor(load, every, longest = LONGEST_MS) {
    Object.assign(this, { load, every, longest });
  }

  // Reads if it is time, or at once with `now`. One read runs at a time; one that is asked for meanwhile follows it.
  async read(now = false) {
    if (this.#reading) {
      this.#again ||= now;
      return this.#reading;
    }
    if (!now && performance.now() < this.#due) return null;
    this.#reading = this.#round();
    try {
      await this.#reading;
    } finally {
      this.#reading = null;
    }
    return null;
  }

  async #round() {
    do {
      this.#again = false;
      const began = performance.now();
      const pause = (await this.load()) ?? 0;
      const ended = performance.now();
      this.#due = ended + Math.max(this.every, Math.min(this.longest, Math.max(pause, SHARE * (ended - began))));
    } while (this.#again);
  }
}
