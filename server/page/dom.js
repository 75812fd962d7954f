// Changes the document in place: what is the same stays as it is, so that focus and selection survive a refresh.
// Values are set as text, never as markup.
"use strict";

import { count, short, visible } from "./format.js";

export const element = (id) => document.getElementById(id);

// A new element. Attributes that are false or missing are left out; those named `on…` are listeners.
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  const shown = children.flat().filter((child) => child !== null && child !== undefined && child !== false);
  node.append(...shown.map((child) => (child instanceof Node ? child : visible(child))));
  return node;
}

// A section with a heading, which names it for screen readers.
export function section(id, title, ...content) {
  const heading = h("h2", { id: `${id}-title` }, title);
  return h("section", { id: `${id}-section`, class: "card", "aria-labelledby": heading.id }, heading, ...content);
}

// The parts of a long name, each of which ends with one of the characters: lines break between them.
export const pieces = (name, ends) => name.split(new RegExp(`(?<=[${ends}])`)).map((part) => h("span", { class: "piece" }, part));

export function setText(node, value) {
  const text = visible(value);
  if (node.textContent !== text) node.textContent = text;
}

// Sets a text in which each job and each broker, such as `Job 7`, is a link to its page.
export function setLinked(node, value) {
  const text = visible(value);
  if (node.textContent === text) return;
  node.replaceChildren(...text.split(/(\b(?:job|broker) \d+\b)/i).map((part, place) => (place % 2 ? h("a", { href: `#/${part.toLowerCase().replace(" ", "s/")}` }, part) : part)));
}

export function setAttribute(node, name, value) {
  if (value === null || value === undefined) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

export function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

// Makes the children of a node those of the keys, in their order. `make(key)` returns a new child.
export function keyed(parent, keys, make) {
  const present = new Map();
  for (const child of [...parent.children]) {
    if (keys.includes(child.dataset.key)) present.set(child.dataset.key, child);
    else child.remove();
  }
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  let next = parent.firstElementChild;
  const children = keys.map((key) => {
    let child = present.get(key);
    if (!child) {
      child = make(key);
      child.dataset.key = key;
    }
    if (child === next) next = next.nextElementSibling;
    else if (next?.nextElementSibling === child) {
      // One that comes later now is moved, instead of all after it.
      parent.append(next);
      next = child.nextElementSibling;
    } else parent.insertBefore(child, next);
    return child;
  });
  if (focused && document.activeElement !== focused) focused.focus({ preventScroll: true });
  return children;
}

function part(tag, role, className) {
  const node = document.createElement(tag);
  // CSS shows rows as blocks on narrow windows, where browsers would forget that they are rows.
  node.setAttribute("role", role);
  if (className) node.className = className;
  return node;
}

const SLIM = 3; // columns of a table that stays one on narrow windows

// The table is `node`. A column has a `label`, and `text(row)`, or `make(cell)` and `patch(cell, row)` for other content than text.
// `number` aligns it right, `wide` lets it take a line of its own on narrow windows, `nowrap` keeps it in one line.
export class Table {
  constructor(id, caption, columns, keyOf) {
    this.node = h("table", { id, role: "table", class: columns.length <= SLIM && "slim" }, h("caption", {}, caption));
    this.columns = columns;
    this.keyOf = keyOf;
    const head = part("thead", "rowgroup");
    const line = part("tr", "row");
    for (const column of columns) {
      const cell = part("th", "columnheader", column.number ? "number" : "");
      cell.scope = "col";
      cell.textContent = column.label;
      line.append(cell);
    }
    head.append(line);
    this.body = part("tbody", "rowgroup");
    this.node.append(head, this.body);
  }

  show(rows) {
    const lines = keyed(this.body, rows.map((row) => String(this.keyOf(row))), () => this.#newLine());
    lines.forEach((line, place) => this.#patch(line, rows[place]));
  }

  #newLine() {
    const line = part("tr", "row");
    this.columns.forEach((column, place) => {
      const cell = place ? part("td", "cell") : part("th", "rowheader");
      if (!place) cell.scope = "row";
      cell.className = [column.number && "number", column.wide && "wide", column.nowrap && "nowrap"].filter(Boolean).join(" ");
      cell.dataset.label = column.label;
      column.make?.(cell);
      line.append(cell);
    });
    return line;
  }

  #patch(line, row) {
    this.columns.forEach((column, place) => {
      const cell = line.children[place];
      if (column.patch) column.patch(cell, row);
      else setText(cell, column.text(row));
    });
  }
}

// The first rows of a table, and the others on request. `noun` is the plural of what a row is.
export function shortened(table, first, noun) {
  let [rows, whole] = [[], false];
  const draw = () => {
    table.show(whole ? rows : rows.slice(0, first));
    setText(more, `Show all ${count(rows.length)} ${noun}`);
    setHidden(more, whole || rows.length <= first);
  };
  const more = h("button", { type: "button", onclick: () => draw(whole = true) });
  return {
    node: h("div", { class: "shortened" }, table.node, more),
    show(all) {
      rows = all;
      draw();
    },
  };
}

// A bar of one number within another. The label says what it is for those who do not see it.
export const progress = (values) => ({
  make(cell) {
    cell.append(document.createElement("progress"), document.createElement("span"));
  },
  patch(cell, row) {
    const { value, total, text, label } = values(row);
    const [bar, words] = cell.children;
    setHidden(bar, total === null);
    setAttribute(bar, "max", Math.max(total ?? 1, 1));
    setAttribute(bar, "value", Math.min(value, Math.max(total ?? 1, 1)));
    setAttribute(bar, "aria-label", visible(label));
    setText(words, text);
  },
});

// Puts buttons into a node: `wanted` has [name, label, action, kind] of each.
export function setButtons(parent, wanted) {
  const nodes = keyed(parent, wanted.map(([name]) => name), () => h("button", { type: "button" }));
  nodes.forEach((node, place) => {
    const [name, label, action, kind = ""] = wanted[place];
    setText(node, name);
    setAttribute(node, "aria-label", visible(label));
    setAttribute(node, "class", kind || null);
    node.onclick = action;
  });
}

// Buttons of a row. `of(row)` returns those that apply to it.
export const buttons = (of) => ({ patch: (cell, row) => setButtons(cell, of(row)) });

// Buttons that turn pages of `rows` rows. `turn` is called after each; `show` says where the reader is.
export class Pager {
  constructor(id, rows, turn, [before, after] = ["Previous", "Next"]) {
    this.rows = rows;
    this.offset = 0;
    const step = (by) => () => {
      this.offset = Math.max(0, this.offset + by * rows);
      turn();
    };
    this.previous = h("button", { type: "button", onclick: step(-1) }, before);
    this.next = h("button", { type: "button", onclick: step(1) }, after);
    this.words = h("span");
    this.node = h("p", { class: "pages", id }, this.previous, this.words, this.next);
  }

  // `last` is the number of the last row that is shown, of `total`.
  show(text, last, total) {
    setText(this.words, text);
    this.previous.disabled = this.offset === 0;
    this.next.disabled = last >= total;
  }
}

// A name, which is shortened when it is long; the pointer shows it whole.
export const named = (of) => ({
  patch(cell, row) {
    const name = of(row);
    setText(cell, short(name));
    setAttribute(cell, "title", short(name) === name ? null : name);
  },
});

// A link with such a name.
export const namedLink = (href, name) => h("a", { href, title: short(name) === name ? null : name }, short(name));

export const link = (href, text) => ({
  make(cell) {
    cell.append(document.createElement("a"));
  },
  patch(cell, row) {
    setAttribute(cell.firstChild, "href", href(row));
    setText(cell.firstChild, text(row));
  },
});
