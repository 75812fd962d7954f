// The two ways to a plan: to enter one, and to have one proposed.
"use strict";

import { h } from "./dom.js";

const TABS = [["plan", "#/plan", "Enter a plan"], ["propose", "#/plan/propose", "Propose a plan"]];

// `open` is the name of the tab on the page.
export const planTabs = (open) =>
  h("nav", { class: "tabs", "aria-label": "Ways to a plan" },
    ...TABS.map(([name, href, label]) => h("a", { href, "aria-current": name === open ? "page" : null }, label)));
