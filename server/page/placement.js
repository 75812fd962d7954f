// Brokers and log directories that get something new, and those that do not: asks before a change.
"use strict";

import { post } from "./api.js";
import { counted } from "./format.js";

export async function allow(id, app) {
  if (await app.ask(`Allow new partitions on broker ${id}?`, ["New topics and new partitions may be placed on it again."], "Allow")) {
    await app.act(({ notes }) => notes.join(" ") || `Broker ${id} gets new partitions again.`, () => post("v1/placement", { allow: [id] }));
  }
}

export async function exclude({ id, replicas }, app) {
  const lines = ["New topics and new partitions are placed on other brokers.", replicas && `Its ${counted(replicas, "replica")} stay.`];
  if (await app.ask(`Place no new partitions on broker ${id}?`, lines, "Exclude")) {
    await app.act(({ notes }) => notes.join(" ") || `Broker ${id} gets no new partitions.`, () => post("v1/placement", { exclude: [id] }));
  }
}

export async function allowDir(broker, dir, app) {
  if (await app.ask(`Allow new replicas in ${dir} of broker ${broker}?`, ["New replicas may be placed there again."], "Allow")) {
    await app.act(({ notes }) => notes.join(" ") || `${dir} of broker ${broker} gets new replicas again.`, () => post("v1/placement", { allow_dirs: [{ broker, dir }] }));
  }
}

// `last`: no other directory of the broker gets new replicas.
export async function excludeDir(broker, dir, last, app) {
  const others = last ? "No other directory of the broker gets new replicas: then the broker gets no new partitions." : "New replicas are placed in the other directories of the broker.";
  if (await app.ask(`Place no new replicas in ${dir} of broker ${broker}?`, [others, "The replicas in it stay."], "Exclude")) {
    await app.act(({ notes }) => notes.join(" ") || `${dir} of broker ${broker} gets no new replicas.`, () => post("v1/placement", { exclude_dirs: [{ broker, dir }] }));
  }
}
