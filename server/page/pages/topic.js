// One topic: what it consists of, what can be done with it, and its partitions.
"use strict";

import { crumbs, facts } from "../build.js";
import { onlyTopic, planLink, sized } from "../broker_words.js";
import { h, setHidden } from "../dom.js";
import { bytes, count, counted } from "../format.js";
import { Listing } from "../listing.js";
import { HEALTHS, STATES } from "../partition_words.js";
import { pickActions } from "../picks.js";
import { factor, topicBadges } from "./topics.js";

export const page = {
  title: ({ topic }) => topic,
  open(root, { topic }, app) {
    const badges = h("span", { class: "badges" });
    const actions = h("p", { class: "actions" },
      planLink("Move it to other brokers…", { goal: "to", topics: onlyTopic(topic) }, "primary"),
      planLink("Change its replication factor…", { goal: "rf", topics: onlyTopic(topic) }),
      planLink("Spread it evenly…", { goal: "balance", topics: onlyTopic(topic) }));
    const numbers = h("div", {});
    const card = h("section", { class: "card", "aria-label": "Partitions" }, h("h2", {}, "Partitions"));
    root.append(
      crumbs([["Topics", "#/topics"]], topic),
      h("div", { class: "page-head start" }, h("h1", {}, topic), badges), actions,
      h("section", { class: "card", "aria-label": "What it consists of" }, numbers), card);
    let looks = "";
    const picked = pickActions(app);
    const list = new Listing(card, app, {
      id: "partitions-of-topic",
      path: `v1/topics/${encodeURIComponent(topic)}`,
      rows: "partitions",
      noun: "partition",
      caption: `Partitions of ${topic}`,
      columns: picked.columns,
      keyOf: (row) => row.partition,
      filters: [STATES, HEALTHS],
      onAnswer({ topic: row }) {
        setHidden(actions, !app.mayChange);
        const now = JSON.stringify(row);
        if (now === looks) return;
        looks = now;
        badges.replaceChildren(...topicBadges(row));
        numbers.replaceChildren(facts([
          ["partitions", count(row.partitions)],
          ["replicas each", factor(row)],
          ["data", sized(row.bytes, row.unsized, "partition")],
          ["with all replicas", bytes(row.replica_bytes)],
          ["moving now", row.moving ? counted(row.moving, "partition") : null],
          ["id", row.id],
        ]));
      },
    });
    card.append(picked.node);
    return { update: () => list.update(), close: () => list.close() };
  },
};
