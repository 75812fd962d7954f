// A partition in words and badges, and the columns of lists of partitions.
"use strict";

import { topicAddress } from "./broker_words.js";
import { badge } from "./build.js";
import { h, namedLink } from "./dom.js";
import { bytes } from "./format.js";
import { content } from "./listing.js";
import { chips } from "./replicas.js";

const STATE_KINDS = { moving: "info", stalled: "bad", external: "info", waiting: "warn", queued: "", "rolling back first": "", "at rest": "" };
const HEALTH_KINDS = { "in sync": "good", "under-replicated": "warn", "under min ISR": "bad", offline: "bad" };

const choices = (label, words) => [["", `any ${label}`], ...words.map((word) => [word, word])];

export const STATES = { name: "state", label: "State", choices: choices("state", Object.keys(STATE_KINDS).filter((each) => each !== "stalled")) };
export const HEALTHS = { name: "health", label: "Health", choices: choices("health", Object.keys(HEALTH_KINDS)) };

// A step in flight that makes no progress has a reason.
export const stateWord = ({ state, reason }) => (state === "moving" && reason ? "stalled" : state);
export const partitionState = (row) => badge(STATE_KINDS[stateWord(row)] ?? "", stateWord(row));
export const partitionHealth = ({ health }) => badge(HEALTH_KINDS[health] ?? "", health);

export const sizeText = ({ size }) => (size === null ? "not known" : bytes(size));

export const partitionName = ({ topic, partition }) => `${topic}-${partition}`;
export const partitionLink = (row) => namedLink(`${topicAddress(row.topic)}/${row.partition}`, partitionName(row));

// A partition at rest is not worth a badge in a list.
const stateOf = (row) => (row.state === "at rest" ? null : partitionState(row));
const healthOf = (row) => (row.health === "in sync" ? null : partitionHealth(row));

export const partitionColumns = [
  { label: "partition", sort: "partition", ...content(partitionLink) },
  { label: "replicas", wide: true, ...content(chips) },
  { label: "size", sort: "size", first: "descending", number: true, text: sizeText },
  { label: "state", sort: "state", ...content((row) => [healthOf(row), stateOf(row)]) },
  { label: "job", ...content((row) => (row.job === null ? null : h("a", { href: `#/jobs/${row.job}` }, `job ${row.job}`))) },
  { label: "why it does not move", wide: true, text: (row) => row.reason },
];
