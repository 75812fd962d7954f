// The rates of the partitions that are shown, from the bytes copied between two answers of the server.
"use strict";

const APART_MS = 3000; // least time between the two answers

export class Rates {
  #seen = new Map(); // by partition: { ms, copied, rate } of the answer from which on the rate is measured

  // `read` is the time of the answer in ms. Partitions that are not in it are forgotten.
  add(partitions, nameOf, read) {
    const before = this.#seen;
    this.#seen = new Map(partitions.filter((part) => part.state === "moving" && part.copied !== null)
      .map((part) => [nameOf(part), measured(before.get(nameOf(part)), part.copied, read)]));
  }

  // Bytes per second; null before it is measured.
  of(name) {
    return this.#seen.get(name)?.rate ?? null;
  }
}

// The next step of a partition begins at 0 again.
function measured(last, copied, ms) {
  if (!last || copied < last.copied) return { ms, copied, rate: null };
  if (ms - last.ms < APART_MS) return last;
  return { ms, copied, rate: ((copied - last.copied) * 1000) / (ms - last.ms) };
}
