// A cursor over a drawing, for the pointer and the arrow keys, and a box that says what is under it.
// For screen readers the drawing is a slider whose value is that text.
"use strict";

import { setAttribute, setText } from "./dom.js";

const LARGE = 10; // places that a page key moves

// `at(x)` returns the place under a horizontal position in pixels, `x(place)` its position, `size()` the number of places.
// `read(place)` returns lines of text, `choose(place)` is called by a click or Enter.
export class Cursor {
  constructor(host, { at, x, size, read, moved = () => {}, choose = null }) {
    Object.assign(this, { host, at, x, size, read, moved, choose, place: null });
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    setAttribute(this.tip, "aria-hidden", "true");
    host.append(this.tip);
    host.tabIndex = 0;
    host.classList.add("readable");
    setAttribute(host, "role", "slider");
    setAttribute(host, "aria-valuemin", 0);
    host.addEventListener("pointermove", (event) => this.#point(event));
    host.addEventListener("pointerleave", () => this.hide());
    host.addEventListener("keydown", (event) => this.#key(event));
    host.addEventListener("focus", () => host.matches(":focus-visible") && this.show(this.place ?? this.size() - 1));
    host.addEventListener("blur", () => this.hide());
    if (choose) host.addEventListener("click", (event) => this.#point(event) && choose(this.place));
    this.refresh();
  }

  // Shows what is under the cursor now; call it after the data has changed.
  refresh() {
    setAttribute(this.host, "aria-valuemax", Math.max(0, this.size() - 1));
    const place = Math.max(0, Math.min(this.place ?? this.size() - 1, this.size() - 1));
    setAttribute(this.host, "aria-valuenow", place);
    setAttribute(this.host, "aria-valuetext", this.size() ? this.read(place).join(", ") : "no data");
    if (!this.tip.hidden) this.show(place);
  }

  show(place) {
    if (!this.size()) return;
    this.place = Math.max(0, Math.min(place, this.size() - 1));
    const lines = this.read(this.place);
    while (this.tip.children.length > lines.length) this.tip.lastChild.remove();
    while (this.tip.children.length < lines.length) this.tip.append(document.createElement("div"));
    lines.forEach((line, number) => setText(this.tip.children[number], line));
    this.tip.hidden = false;
    const [x, width] = [this.x(this.place), this.host.clientWidth];
    const left = x + 12 + this.tip.offsetWidth > width ? Math.max(0, x - 12 - this.tip.offsetWidth) : x + 12;
    this.tip.style.transform = `translate(${Math.round(left)}px, 8px)`;
    setAttribute(this.host, "aria-valuenow", this.place);
    setAttribute(this.host, "aria-valuetext", lines.join(", "));
    this.moved(this.place);
  }

  hide() {
    this.tip.hidden = true;
    this.place = null;
    this.moved(null);
  }

  #point(event) {
    const place = this.at(event.clientX - this.host.getBoundingClientRect().left);
    if (place === null) this.hide();
    else this.show(place);
    return place !== null;
  }

  #key(event) {
    const last = this.size() - 1;
    const place = this.place ?? last;
    const to = {
      ArrowLeft: place - 1, ArrowRight: place + 1, ArrowDown: place - 1, ArrowUp: place + 1,
      PageDown: place - LARGE, PageUp: place + LARGE, Home: 0, End: last,
    }[event.key];
    if (to !== undefined) this.show(to);
    else if (event.key === "Escape" && !this.tip.hidden) this.hide();
    else if ((event.key === "Enter" || event.key === " ") && this.choose) this.choose(place);
    else return;
    event.preventDefault();
  }
}
