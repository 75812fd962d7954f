// The schedule: a week that is edited by dragging, by fields or as text; it is checked before it is saved.
"use strict";

import { get, post, put } from "./api.js";
import { h, section, setHidden, setText } from "./dom.js";
import { rate, time } from "./format.js";
import { WeekEditor } from "./week_editor.js";
import { fromPeriods } from "./week.js";

const EVERY_MS = 30_000;
const PAUSE_MS = 300; // between the last key and the check
const EXAMPLE = "Mon-Fri 22:00-06:00 throttle=50MB; tz=Europe/Berlin";
const ANY_TIME = "There is no schedule: steps may start at any time.";

function nowLine({ now, time_zone: zone }) {
  const until = now.until_ms ? ` until ${time(now.until_ms)}` : "";
  const limited = now.open && now.throttle !== null ? `, with a throttle of ${rate(now.throttle)}` : "";
  const what = now.open ? `Steps may start${until}${limited}.` : `No steps start: ${now.reason}.`;
  return `${what} Times of the periods are in ${zone}.`;
}

export class ScheduleEditor {
  constructor(app) {
    this.app = app;
    this.saved = null; // the schedule of the server
    this.changed = false;
    [this.edge, this.due] = ["", 0];
    this.now = h("p", { id: "schedule-now" });
    this.text = h("input", { id: "schedule-text", autocomplete: "off", spellcheck: "false", placeholder: EXAMPLE });
    this.said = h("p", { id: "schedule-check", role: "status" });
    this.save = h("button", { type: "submit", class: "primary" }, "Save the schedule");
    this.undo = h("button", { type: "button", onclick: () => this.#reset() }, "Undo");
    this.form = h("form", { class: "schedule" }, h("label", { for: "schedule-text" }, "As text; empty for no schedule"), this.text, this.said, h("p", { class: "actions" }, this.save, this.undo));
    const strip = h("div", { class: "strip" });
    this.node = section("schedule", "Schedule", this.now, h("p", { class: "soft", id: "schedule-help" }, "Drag over the hours in which steps may start, or over open hours to close them."), strip, this.form);
    this.editor = new WeekEditor(strip, (text) => this.#check(text, true));
    this.#listen();
  }

  #listen() {
    let timer;
    this.text.addEventListener("input", () => {
      clearTimeout(timer);
      this.#mark(true);
      timer = setTimeout(() => this.#check(this.text.value.trim() || null, false), PAUSE_MS);
    });
    this.form.addEventListener("submit", async (event) => {
      event.preventDefault();
      clearTimeout(timer);
      const schedule = this.text.value.trim() || null;
      if (!(await this.#check(schedule, false))) return;
      await this.app.act(schedule === null ? "The schedule is removed." : "The schedule is changed.", async () => {
        const answer = await put("v1/schedule", { schedule });
        this.#mark(false);
        this.#take(answer);
        return answer;
      });
    });
  }

  // Reads the schedule when its state in `/v1/status` has changed, else every EVERY_MS. A change that is not saved stays.
  async update(state) {
    setHidden(this.form, !this.app.mayChange);
    setHidden(this.node.querySelector("#schedule-help"), !this.app.mayChange);
    const edge = JSON.stringify([state, this.app.mayChange]);
    if (performance.now() < this.due && edge === this.edge) return;
    const answer = await get("v1/schedule");
    [this.due, this.edge] = [performance.now() + EVERY_MS, edge];
    setText(this.now, answer.schedule === null ? ANY_TIME : nowLine(answer));
    if (!this.changed) this.#take(answer);
  }

  #take(answer) {
    this.saved = answer;
    setText(this.now, answer.schedule === null ? ANY_TIME : nowLine(answer));
    this.#reset();
  }

  #reset() {
    this.#mark(false);
    this.text.value = this.saved?.schedule ?? "";
    setText(this.said, "");
    this.#draw(this.saved ?? { periods: [], time_zone: "UTC" });
  }

  #draw({ periods, time_zone: zone }) {
    this.editor.show(fromPeriods(periods), zone, this.app.mayChange);
  }

  #mark(changed) {
    this.changed = changed;
    this.save.disabled = !changed;
    setHidden(this.undo, !changed);
  }

  // Asks the server what the text would permit now; returns whether it is a schedule. `drawn`: the week shows it already.
  async #check(schedule, drawn) {
    this.#mark(true);
    if (drawn) this.text.value = schedule ?? "";
    try {
      const answer = await post("v1/schedule/preview", { schedule });
      if ((this.text.value.trim() || null) !== schedule) return false;
      this.said.className = "";
      setText(this.said, schedule === null ? "Without a schedule steps may start at any time." : `If you save it: ${nowLine(answer)}`);
      if (!drawn) this.#draw(answer);
      return true;
    } catch (error) {
      this.said.className = "bad";
      setText(this.said, error.message);
      return false;
    }
  }
}
