// The topics: what each consists of and moves.
"use strict";

import { badge } from "../build.js";
import { h, namedLink } from "../dom.js";
import { sized, topicAddress } from "../broker_words.js";
import { count } from "../format.js";
import { content, Listing } from "../listing.js";

export const factor = ({ least_replicas: least, most_replicas: most }) => (least === most ? count(most) : `${count(least)} to ${count(most)}`);

export function topicBadges(row) {
  return [
    row.offline && badge("bad", `${count(row.offline)} offline`),
    row.under_replicated && badge("warn", `${count(row.under_replicated)} under-replicated`),
    row.moving && badge("info", `${count(row.moving)} moving`),
    row.reassigning > row.moving && badge("warn", `${count(row.reassigning - row.moving)} to move`),
    row.deleting && badge("warn", "is being deleted"),
  ].filter(Boolean);
}

export const topicLink = ({ topic }) => namedLink(topicAddress(topic), topic);

const COLUMNS = [
  { label: "topic", sort: "topic", ...content(topicLink) },
  { label: "partitions", sort: "partitions", first: "descending", number: true, text: (row) => count(row.partitions) },
  { label: "replicas each", sort: "replicas", first: "descending", number: true, text: factor },
  { label: "data of all replicas", sort: "bytes", first: "descending", number: true, text: (row) => sized(row.replica_bytes, row.unsized, "partition") },
  { label: "moving", sort: "moving", first: "descending", number: true, text: (row) => (row.reassigning ? `${count(row.moving)} of ${count(row.reassigning)}` : "") },
  { label: "health", sort: "under_replicated", first: "descending", ...content((row) => topicBadges({ ...row, moving: 0, reassigning: 0 })) },
];

const STATES = [["", "all topics"], ["moving", "moving"], ["reassigning", "moving or to move"], ["under-replicated", "under-replicated"], ["offline", "offline"], ["deleting", "being deleted"]];

export const page = {
  title: () => "Topics",
  open(root, params, app) {
    const card = h("section", { class: "card", "aria-label": "Topics" });
    root.append(h("h1", {}, "Topics"), card);
    const list = new Listing(card, app, {
      id: "topic-list",
      path: "v1/topics",
      rows: "topics",
      noun: "topic",
      caption: "Topics with their partitions, data and moves",
      columns: COLUMNS,
      keyOf: (row) => row.topic,
      search: { name: "q", label: "Search by name" },
      filters: [{ name: "state", label: "Show", choices: STATES }],
    });
    return { update: () => list.update(), close: () => list.close() };
  },
};
