// A list that the server searches, filters, sorts and pages: a table with a search field, filters and pages.
"use strict";

import { get } from "./api.js";
import { showBasis } from "./basis.js";
import { Table, h, setAttribute, setHidden, setText } from "./dom.js";
import { count } from "./format.js";

const PAUSE_MS = 250; // between the last key and the search
const LEAST_MS = 2_000; // between two reads of the list,
const SHARE = 100; // which is at least this multiple of what one takes,
const MOST_MS = 30_000; // and at most this.
const ROWS = 25;

// `options`: `id` of the table, `path` and `rows` (the name of the list in its answer), `noun`, `caption`, `columns` and `keyOf` as of a
// Table, where a column may have `sort` (its name at the server) and `first` ("descending": its first order);
// `search` ({ name, label }), `filters` ([{ name, label, choices: [[value, text]] }]), `fixed` (parameters that do not
// change), `query` (those to begin with), `nested` (whether the list is part of a form), and `onAnswer`.
export class Listing {
  constructor(parent, app, options) {
    this.app = app;
    this.options = options;
    this.query = { ...options.query };
    this.due = 0;
    this.number = 0;
    this.closed = false;
    this.status = h("p", { class: "count", role: "status" });
    this.order = this.#newOrder();
    this.table = new Table(options.id, options.caption, options.columns, options.keyOf);
    this.node = this.table.node;
    this.pages = this.#newPages();
    this.basis = h("p", { class: "basis" });
    this.trouble = h("p", { role: "alert", class: "bad" });
    parent.append(this.#newTools(), this.trouble, h("div", { class: "scroll" }, this.node), this.pages, this.basis);
    this.#addSorts();
  }

  #newTools() {
    const { search, filters = [], noun } = this.options;
    this.inputs = new Map();
    const tools = h(this.options.nested ? "div" : "form", { class: "tools", role: "search", "aria-label": `Find ${noun}s`, onsubmit: (event) => event.preventDefault() });
    if (search) {
      let timer;
      const input = h("input", {
        type: "search",
        autocomplete: "off",
        spellcheck: "false",
        placeholder: search.label,
        "aria-label": search.label,
        oninput: () => {
          clearTimeout(timer);
          timer = setTimeout(() => this.change({ [search.name]: input.value.trim() }), PAUSE_MS);
        },
      });
      input.value = this.query[search.name] ?? "";
      this.inputs.set(search.name, input);
      tools.append(input);
    }
    for (const { name, label, choices } of filters) {
      const select = h("select", { onchange: () => this.change({ [name]: select.value }) }, choices.map(([value, text]) => h("option", { value }, text)));
      select.value = this.query[name] ?? "";
      this.inputs.set(name, select);
      tools.append(h("label", {}, `${label} `, select));
    }
    tools.append(h("label", { class: "by-sort" }, "Order ", this.order), this.status);
    return tools;
  }

  // Where the rows are cards there are no heads of columns.
  #newOrder() {
    const options = this.options.columns.filter(({ sort }) => sort).flatMap(({ sort, label, first }) => {
      const both = [[`${sort} `, `${label} ↑`], [`${sort} descending`, `${label} ↓`]];
      return first === "descending" ? both.reverse() : both;
    });
    return h("select", {
      onchange: () => {
        const [sort, descending] = this.order.value.split(" ");
        this.change({ sort, descending: descending === "descending" });
      },
    }, options.map(([value, text]) => h("option", { value }, text)));
  }

  #newPages() {
    const step = (text, by) => h("button", { type: "button", onclick: () => this.change({ offset: Math.max(0, (this.query.offset ?? 0) + by * ROWS) }, true) }, text);
    return h("nav", { class: "pages", "aria-label": `Pages of ${this.options.noun}s` }, step("Previous", -1), h("span", {}), step("Next", 1));
  }

  #addSorts() {
    [...this.node.querySelectorAll("thead th")].forEach((cell, place) => {
      const column = this.options.columns[place];
      if (!column.sort) return;
      const sort = h("button", { type: "button", class: "sort", onclick: () => this.#sortBy(column) }, column.label);
      cell.replaceChildren(sort);
    });
    this.#showSort();
  }

  #sortBy({ sort, first }) {
    const same = (this.query.sort ?? this.options.columns[0].sort) === sort;
    const descending = same ? !this.query.descending : first === "descending";
    this.change({ sort, descending });
  }

  #showSort() {
    const now = this.query.sort ?? this.options.columns[0].sort;
    this.order.value = `${now} ${this.query.descending ? "descending" : ""}`;
    [...this.node.querySelectorAll("thead th")].forEach((cell, place) => {
      const { sort } = this.options.columns[place];
      if (sort) setAttribute(cell, "aria-sort", sort === now ? (this.query.descending ? "descending" : "ascending") : "none");
    });
  }

  // Changes parameters, which begins at the first page, and reads the list.
  change(values, paging = false) {
    Object.assign(this.query, paging ? {} : { offset: 0 }, values);
    for (const [name, value] of Object.entries(this.query)) if (!value) delete this.query[name];
    this.#showSort();
    this.due = 0;
    return this.update();
  }

  async update() {
    if (performance.now() < this.due || this.closed) return;
    const number = ++this.number;
    const began = performance.now();
    this.due = Infinity;
    try {
      const answer = await get(this.options.path, { limit: ROWS, ...this.query, ...this.options.fixed });
      if (number !== this.number || this.closed) return;
      setText(this.trouble, "");
      this.#show(answer);
    } catch (error) {
      if (number !== this.number || this.closed) return;
      setText(this.trouble, error.message);
    }
    const now = performance.now();
    this.due = now + Math.min(MOST_MS, Math.max(LEAST_MS, SHARE * (now - began)));
  }

  #show(answer) {
    const rows = answer[this.options.rows];
    const offset = this.query.offset ?? 0;
    const { noun } = this.options;
    this.table.show(rows);
    setHidden(this.node, !rows.length);
    setText(this.status, rows.length ? `${count(answer.total)} ${answer.total === 1 ? noun : `${noun}s`}` : `No ${noun} matches.`);
    const [previous, text, next] = this.pages.children;
    setHidden(this.pages, answer.total <= ROWS);
    setText(text, `${count(offset + 1)} to ${count(offset + rows.length)} of ${count(answer.total)}`);
    previous.disabled = offset === 0;
    next.disabled = !answer.next;
    showBasis(this.basis, answer.basis);
    if (!rows.length && offset) this.change({ offset: 0 });
    this.options.onAnswer?.(answer);
  }

  close() {
    this.closed = true;
  }
}

const shown = new WeakMap(); // the row that each cell shows, as text

// Makes the children of a cell those of `nodes(row)`, when the row has changed.
export const content = (nodes) => ({
  patch(cell, row) {
    const now = JSON.stringify(row);
    if (shown.get(cell) === now) return;
    shown.set(cell, now);
    const focused = cell.contains(document.activeElement);
    cell.replaceChildren(...[nodes(row)].flat().filter(Boolean));
    if (focused) cell.querySelector("a, button")?.focus({ preventScroll: true });
  },
});
