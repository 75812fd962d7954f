// Brokers and log directories that get something new, and those that do not: asks before a change.
"use strict";

import { post } from "./api.js";
import { dirText } from "./dir_picker.js";
import { capital, counted } from "./format.js";

const NAMED = 5; // brokers or directories that are named

const named = (all, noun, plural) => (all.length > NAMED ? counted(all.length, noun, plural) : `${all.length > 1 ? plural : noun} ${all.join(", ")}`);
const brokers = (ids) => named(ids, "broker", "brokers");
const directories = (dirs) => named(dirs.map(dirText), "directory", "directories");

// What a proposal changes of where something new is placed: of each kind, what `say` makes of its name and of "they are several".
function changesOf({ exclude, allow: allowed, exclude_dirs: dirs }, ...say) {
  const kinds = [[exclude, brokers], [allowed, brokers], [dirs, directories]];
  return kinds.flatMap(([all, name], kind) => (all.length ? [say[kind](name(all), all.length > 1)] : []));
}

// In words; nothing if `placement` is null.
export const placementLines = (placement) => (placement ? changesOf(placement,
  (who, several) => `${who} ${several ? "get" : "gets"} no new partitions`,
  (who, several) => `${who} ${several ? "get" : "gets"} new partitions again`,
  (who, several) => `${who} ${several ? "get" : "gets"} no new replicas`) : []);

// The same as a button.
export const placementAction = (placement) => capital(changesOf(placement,
  (who) => `exclude ${who}`, (who) => `allow ${who}`, (who) => `exclude ${who}`).join(", "));

// What was set, where Kafka does not follow all of it.
export const placementSet = (placement) => capital(changesOf(placement,
  (who, several) => `${who} ${several ? "are" : "is"} excluded`,
  (who, several) => `${who} ${several ? "are" : "is"} no longer excluded`,
  (who, several) => `${who} ${several ? "are" : "is"} excluded`).join("; "));

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
