// The brokers: what each holds, moves and has room for.
"use strict";

import { content, Listing } from "../listing.js";
import { h } from "../dom.js";
import { diskMeter, flags, movesText, sized, stateBadge } from "../broker_words.js";
import { count } from "../format.js";

const COLUMNS = [
  { label: "broker", sort: "id", ...content((row) => h("a", { href: `#/brokers/${row.id}` }, `Broker ${row.id}`)) },
  { label: "rack", sort: "rack", text: (row) => row.rack ?? "" },
  { label: "state", ...content((row) => [stateBadge(row), ...flags(row)]) },
  { label: "disk", sort: "disk", first: "descending", wide: true, ...content(diskMeter) },
  { label: "data", sort: "bytes", first: "descending", number: true, text: (row) => sized(row.bytes, row.unsized, "replica") },
  { label: "replicas", sort: "replicas", first: "descending", number: true, text: (row) => count(row.replicas) },
  { label: "leaders", sort: "leaders", first: "descending", number: true, text: (row) => count(row.leaders) },
  { label: "moving", sort: "rate", first: "descending", wide: true, text: movesText },
];

const STATES = [["", "any state"], ["live", "live"], ["offline", "offline"], ["offline and empty", "offline and empty"], ["shutting down", "shutting down"]];

export const page = {
  title: () => "Brokers",
  open(root, params, app) {
    root.append(h("h1", {}, "Brokers"));
    const card = h("section", { class: "card", "aria-label": "Brokers" });
    root.append(card);
    const list = new Listing(card, app, {
      id: "broker-list",
      path: "v1/brokers",
      rows: "brokers",
      noun: "broker",
      caption: "Brokers with their disks, replicas and moves",
      columns: COLUMNS,
      keyOf: (row) => row.id,
      search: { name: "q", label: "Search by id, host or rack" },
      filters: [{ name: "state", label: "State", choices: STATES }],
    });
    return { update: () => list.update(), close: () => list.close() };
  },
};
