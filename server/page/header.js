// What is around every page: the cluster, its health, the client, the theme and the links to the pages.
"use strict";

import { element, h, setAttribute, setHidden, setText } from "./dom.js";
import { count } from "./format.js";
import { verdict } from "./health.js";
import { icon } from "./icons.js";

const THEMES = { system: "light", light: "dark", dark: "system" }; // each one and that after it

export function showPill(text, kind) {
  const node = element("pill");
  setText(node, text);
  setAttribute(node, "class", `badge ${kind}`);
}

export function showHeader(status, client) {
  setText(element("version"), status.version);
  setText(element("cluster-name"), status.cluster_name);
  setText(element("cluster-id"), status.cluster_name ? status.cluster_id : `Cluster ${status.cluster_id}`);
  setAttribute(element("cluster"), "title", `Kafka's cluster id: ${status.cluster_id}`);
  showActive(status.active);
  setText(element("client"), `${client.principal}, ${client.role}`);
  showPill(...verdict(status));
}

// Which of several instances answers. With one there is nothing to say.
function showActive(active) {
  const several = active !== null && active.instances > 1;
  setHidden(element("active"), !several);
  if (!several) return;
  const address = active.url.replace(/^https?:\/\//, "").replace(/\/$/, "");
  setText(element("active"), `${address || active.instance} of ${count(active.instances)}, term ${count(active.term)}`);
  setAttribute(element("active"), "title", `The active one of ${count(active.instances)} instances, ${active.instance}; its term is ${count(active.term)}. Open the settings.`);
}

// ---- pages --------------------------------------------------------------------------------------------------------

export function drawPages(routes) {
  element("pages").replaceChildren(...routes.filter(({ label }) => label).map(({ path, label, icon: name }) =>
    h("a", { href: `#/${path}`, "data-path": path }, icon(name), h("span", {}, label))));
}

// A page below another one, such as a job, belongs to the link of that.
export function markPage(path) {
  for (const link of element("pages").children) {
    const { path: own } = link.dataset;
    const here = own === path || (own !== "" && path !== null && path.startsWith(`${own}/`));
    setAttribute(link, "aria-current", here ? "page" : null);
  }
}

// ---- theme --------------------------------------------------------------------------------------------------------

const theme = () => (THEMES[localStorage.getItem("theme")] ? localStorage.getItem("theme") : "system");

function showTheme() {
  document.documentElement.dataset.theme = theme();
  element("theme").replaceChildren(icon(theme()));
  setAttribute(element("theme"), "aria-label", `Theme: ${theme()}`);
  setAttribute(element("theme"), "title", `Theme: ${theme()}. Click for ${THEMES[theme()]}.`);
}

export function startTheme() {
  element("theme").addEventListener("click", () => {
    localStorage.setItem("theme", THEMES[theme()]);
    showTheme();
  });
  showTheme();
}
