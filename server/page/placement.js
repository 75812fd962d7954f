// Brokers that get new partitions, and those that do not: asks before a change.
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
