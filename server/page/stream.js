// The stream of `/v1/events`: what just happened, in words, and a reason to read the status at once.
"use strict";

import { stream } from "./api.js";
import { count, counted } from "./format.js";

const KEPT = 100; // lines of the log
const NAMED = 3; // partitions that one line names
const FLUSH_MS = 1000; // partitions that change within this time are one line
const AGAIN_MS = 5000; // from the end of a stream to the next one

const ended = ({ job, endings }) =>
  `Job ${job} has ended: ${Object.entries(endings).map(([ending, number]) => `${count(number)} ${ending}`).join(", ") || "nothing was to be done"}.`;

// What events say. A job that is seen for the first time has no state before.
export class Log {
  #states = new Map(); // state of each job that was seen
  #changed = new Map(); // partitions by job and state since the last flush

  constructor() {
    this.lines = []; // the newest first: { id, ms, text, job }
    this.number = 0;
  }

  #add(text, job = null) {
    this.number += 1;
    this.lines.unshift({ id: this.number, ms: Date.now(), text, job });
    this.lines.splice(KEPT);
  }

  take(event) {
    const what = {
      job: () => this.#job(event),
      job_deleted: () => this.#add(`Job ${event.job} was deleted.`),
      partition: () => this.#partition(event),
      partitions: () => this.#add(`${counted(event.changes, "change")} of partitions.`),
      paused: () => this.#add(event.paused ? "Everything is paused." : "Everything is resumed."),
      schedule: () => this.#add(event.open ? "The schedule lets steps start." : `The schedule holds: ${event.reason}.`),
    }[event.event];
    what?.();
  }

  #job(event) {
    const before = this.#states.get(event.job);
    this.#states.set(event.job, event.state);
    if (event.state === "ended") this.#states.delete(event.job);
    if (before === event.state) return;
    const words = { running: before ? `Job ${event.job} is resumed.` : `Job ${event.job} was accepted: ${counted(event.total, "partition")}.`, paused: `Job ${event.job} is paused.`, ended: ended(event) };
    this.#add(words[event.state], event.job);
  }

  #partition({ job, state, topic, partition }) {
    if (state === "queued" || state === "pending") return;
    const key = `${job} ${state}`;
    if (!this.#changed.has(key)) this.#changed.set(key, { job, state, names: [], number: 0 });
    const group = this.#changed.get(key);
    group.number += 1;
    if (group.names.length < NAMED) group.names.push(`${topic}-${partition}`);
  }

  // Writes what has happened to partitions; returns whether there was something.
  flush() {
    for (const { job, state, names, number } of this.#changed.values()) {
      const which = number > names.length ? `${count(number)} partitions` : names.join(", ");
      this.#add(`Job ${job}: ${which} ${state === "waiting" ? "blocked" : state}.`, job);
    }
    const some = this.#changed.size > 0;
    this.#changed.clear();
    return some;
  }
}

// Reads the stream while it is wanted. `changed()` is called after events, once in FLUSH_MS at most.
export class Stream {
  #abort = null;
  #due = 0;
  #timer = null;

  constructor(changed) {
    [this.log, this.changed] = [new Log(), changed];
  }

  // Opens the stream if it is closed; a server that refuses it is asked again later.
  open() {
    if (this.#abort || performance.now() < this.#due) return;
    this.#abort = new AbortController();
    this.#read(this.#abort.signal).catch(() => null).then(() => {
      this.#abort = null;
      this.#due = performance.now() + AGAIN_MS;
    });
  }

  close() {
    this.#abort?.abort();
  }

  async #read(signal) {
    for await (const event of stream("v1/events", signal)) {
      this.log.take(event);
      this.#timer ??= setTimeout(() => {
        this.#timer = null;
        this.log.flush();
        this.changed();
      }, FLUSH_MS);
    }
  }
}
