// The stream of `/v1/events`: what just happened, in words, and a reason to read the status at once.
"use strict";

import { currentToken } from "./api.js";
import { EventReader } from "./event_reader.js";
import { count, counted } from "./format.js";

const KEPT = 100; // lines of the log
const NAMED = 3; // partitions that one line names
const FLUSH_MS = 1000; // partitions that change within this time are one line

const ended = ({ job, endings }) =>
  `Job ${job} has ended: ${Object.entries(endings).map(([ending, number]) => `${count(number)} ${ending}`).join(", ") || "nothing was to be done"}.`;

// What events say. A job that is seen for the first time has no state before.
export class Log {
  #states = new Map(); // state of each job that was seen
  #changed = new Map(); // partitions by job and state since the last flush

  constructor() {
    this.lines = []; // the newest first: { id, ms, text }
    this.number = 0;
    this.isOpen = false; // whether events arrive
  }

  #add(text) {
    this.number += 1;
    this.lines.unshift({ id: this.number, ms: Date.now(), text });
    this.lines.splice(KEPT);
  }

  take(event) {
    const what = {
      start: () => (this.isOpen = true),
      closed: () => (this.isOpen = false),
      job: () => this.#job(event),
      job_deleted: () => this.#add(`Job ${event.job} was deleted.`),
      partition: () => this.#partition(event),
      partitions: () => this.#add(`${counted(event.changes, "change")} of partitions.`),
      paused: () => this.#add(event.paused ? "Everything is paused." : "Everything is resumed."),
      schedule: () => this.#add(event.open ? "The schedule lets steps start." : `The schedule holds: ${event.reason}.`),
    }[event.event];
    what?.();
  }

  // Events do not name brokers: two statuses one after the other do.
  compare(before, { brokers: { offline } }) {
    if (!before) return;
    for (const id of offline) if (!before.brokers.offline.includes(id)) this.#add(`Broker ${id} is offline.`);
    for (const id of before.brokers.offline) if (!offline.includes(id)) this.#add(`Broker ${id} is back.`);
  }

  #job(event) {
    const before = this.#states.get(event.job);
    this.#states.set(event.job, event.state);
    if (event.state === "ended") this.#states.delete(event.job);
    if (before === event.state) return;
    const words = { running: before ? `Job ${event.job} is resumed.` : `Job ${event.job} was accepted: ${counted(event.total, "partition")}.`, paused: `Job ${event.job} is paused.`, ended: ended(event) };
    this.#add(words[event.state]);
  }

  #partition({ job, state, topic, partition }) {
    if (state === "queued" || state === "pending") return;
    const key = `${job} ${state}`;
    if (!this.#changed.has(key)) this.#changed.set(key, { job, state, names: [], number: 0 });
    const group = this.#changed.get(key);
    group.number += 1;
    if (group.names.length < NAMED) group.names.push(`${topic}-${partition}`);
  }

  // Writes what has happened to partitions.
  flush() {
    for (const { job, state, names, number } of this.#changed.values()) {
      const which = number > names.length ? `${count(number)} partitions` : names.join(", ");
      this.#add(`Job ${job}: ${which} ${state}.`);
    }
    this.#changed.clear();
  }
}

// The worker of all tabs, or a reader of this tab's own in browsers without such workers.
class Source {
  #worker = null;
  #own;

  constructor(take) {
    this.#own = new EventReader(take);
    if (!("SharedWorker" in window)) return;
    this.#worker = new SharedWorker("event_worker.js", { type: "module", name: "events" });
    this.#worker.port.onmessage = ({ data }) => take(data);
    this.#worker.onerror = () => {
      this.#worker = null;
    };
  }

  open() {
    if (this.#worker) this.#worker.port.postMessage({ token: currentToken() });
    else this.#own.open(currentToken());
  }

  close() {
    this.#worker?.port.postMessage({ close: true });
    this.#own.close();
  }
}

// Reads the stream while it is wanted. `changed()` is called after events, once in FLUSH_MS at most. Those of single
// partitions may be many at any time: what they change is read with the next refresh.
export class Stream {
  #source = new Source((event) => this.#take(event));
  #timer = null;
  #isUrgent = false;

  constructor(changed) {
    [this.log, this.changed] = [new Log(), changed];
    addEventListener("pagehide", () => this.close());
  }

  // Opens the stream if it is closed. It is called again and again while the stream is wanted.
  open() {
    this.#source.open();
  }

  close() {
    this.#source.close();
  }

  #take(event) {
    this.log.take(event);
    this.#isUrgent ||= !event.event.startsWith("partition");
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS);
  }

  #flush() {
    this.log.flush();
    if (this.#isUrgent) this.changed();
    [this.#timer, this.#isUrgent] = [null, false];
  }
}
