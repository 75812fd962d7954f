// What just happened, the newest first, and the switch of the notifications.
"use strict";

import { h, keyed, section, setHidden, setLinked, setText } from "./dom.js";
import { time } from "./format.js";
import { possible, want, wanted } from "./notices.js";

const SHOWN = 12;

// `log` has `lines`, the newest first, and `isOpen`: whether events arrive.
export function newLogPanel(log) {
  const list = h("ol", { id: "log" });
  const none = h("p", { class: "hint" });
  const toggle = h("button", { type: "button", id: "notify", onclick: async () => {
    await want(!wanted());
    showToggle();
  } });
  const showToggle = () => {
    setHidden(toggle, !possible());
    setText(toggle, wanted() ? "Stop notifications" : "Notify me when a job ends or is held");
  };
  showToggle();
  return {
    node: section("log", "What just happened", list, none, h("p", {}, toggle)),
    update() {
      const shown = log.lines.slice(0, SHOWN);
      const make = () => h("li", {}, h("time"), h("span"));
      keyed(list, shown.map(({ id }) => String(id)), make).forEach((item, place) => {
        const { ms, text } = shown[place];
        setText(item.firstChild, time(ms));
        setLinked(item.lastChild, text);
      });
      setText(none, log.isOpen ? "Nothing has happened since this page was opened." : "Events do not arrive yet. The page is read every two seconds all the same.");
      setHidden(none, shown.length > 0);
    },
  };
}
