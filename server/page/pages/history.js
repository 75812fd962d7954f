// The history: who ordered what, one line for each action, with filters and an export of what they select.
"use strict";

import { get, withQuery } from "../api.js";
import { ACTIONS, linesOf } from "../audit_words.js";
import { Table, h, link, setHidden, setText } from "../dom.js";
import { counted, moment, program } from "../format.js";
import { fileLink } from "../save.js";

const ROWS = 100; // entries that are read at once

const requests = ({ entry, entries }) => `${program(entry.client_id)}${entries.length > 1 ? ` (${counted(entries.length, "request")})` : ""}`;

const newTable = () => new Table("entries", "Accepted requests, the newest first", [
  { label: "time", nowrap: true, text: ({ entry }) => moment(entry.time_ms) },
  { label: "action", text: ({ entry }) => entry.action },
  { label: "job", ...link(({ entry }) => (entry.job === null ? null : `#/jobs/${entry.job}`), ({ entry }) => entry.job ?? "") },
  { label: "what", wide: true, text: ({ text }) => text },
  { label: "by", wide: true, text: ({ entry }) => entry.principal },
  { label: "client", wide: true, text: requests },
], ({ entry }) => entry.id);

const milliseconds = (text) => (text ? new Date(text).getTime() : "");

function filters(changed, given) {
  const actions = ["", ...ACTIONS].map((value) => h("option", { value }, value || "all"));
  const field = (label, name, attributes) => h("label", {}, label, " ", h("input", { name, value: given[name], ...attributes }));
  return h("form", { id: "filters", onsubmit: (event) => event.preventDefault(), oninput: changed },
    h("label", {}, "Action ", h("select", { name: "action" }, ...actions)),
    field("By", "principal", { autocomplete: "off", placeholder: "ann, or Local:root" }),
    field("Job", "job", { inputmode: "numeric", pattern: "[0-9]{1,9}", autocomplete: "off" }),
    field("Topic", "topic", { autocomplete: "off" }),
    field("From", "since", { type: "datetime-local" }),
    field("Until", "until", { type: "datetime-local" }));
}

// A name without a kind is that of a user.
const principalOf = (text) => (text && !text.includes(":") ? `User:${text}` : text);

function match(form) {
  const given = Object.fromEntries(new FormData(form));
  const job = /^\s*[1-9]\d{0,8}\s*$/.test(given.job) ? given.job.trim() : "";
  return { ...given, principal: principalOf(given.principal.trim()), topic: given.topic.trim(), job, since: milliseconds(given.since), until: milliseconds(given.until) };
}

class History {
  constructor(root, params, app) {
    this.pages = 1; // of ROWS entries each
    this.newest = 0; // the number of the last read; answers of earlier ones are outdated
    const show = (pages) => () => {
      this.pages = pages();
      app.refresh();
    };
    this.form = filters(show(() => 1), params);
    this.table = newTable();
    this.none = h("p", { id: "none", hidden: true }, "No entry matches.");
    this.older = h("button", { type: "button", id: "older", onclick: show(() => this.pages + 1) }, "Show older");
    this.where = h("span");
    this.exported = fileLink(app, "Export as JSON lines", "v1/audit/export", "audit.jsonl", { id: "export" });
    root.append(h("div", { class: "page-head" }, h("h1", {}, "History"), this.exported),
      h("section", { class: "card", "aria-label": "History" }, this.form, this.table.node, this.none, h("p", { class: "pages", id: "entries-pages" }, this.where, this.older)));
  }

  async update({ paced }) {
    if (paced && this.pages > 1) return; // Older entries do not change under the reader.
    const turn = (this.newest += 1);
    const [query, entries] = [match(this.form), []];
    let next = "";
    for (let read = 0; read < this.pages && next !== null; read += 1) {
      const answer = await get("v1/audit", { ...query, before: next, limit: ROWS });
      entries.push(...answer.entries);
      next = answer.next;
    }
    if (turn !== this.newest) return;
    const lines = linesOf(entries);
    this.table.show(lines);
    setHidden(this.table.node, !lines.length);
    setHidden(this.none, lines.length > 0);
    setText(this.where, lines.length ? counted(lines.length, "action") : "");
    setHidden(this.older, next === null);
    this.exported.href = withQuery("v1/audit/export", query);
  }

  close() {}
}

export const page = { title: () => "History", open: (root, params, app) => new History(root, params, app) };
