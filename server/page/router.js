// From the address to a page: finds the route of the hash, and opens its page in the document.
"use strict";

import { h } from "./dom.js";
import { visible } from "./format.js";

const OLD_JOB = /^#job-(\d+)$/; // the address of a job before there were pages

const parts = (path) => path.split("/").filter(Boolean);

// The parts of an address; null for one that cannot be decoded.
function decoded(hash) {
  try {
    return parts(hash.split("?")[0].replace(/^#\/?/, "")).map(decodeURIComponent);
  } catch {
    return null;
  }
}

function matched({ path }, given) {
  const wanted = parts(path);
  if (wanted.length !== given.length) return null;
  const params = {};
  for (const [place, part] of wanted.entries()) {
    if (part.startsWith(":")) params[part.slice(1)] = given[place];
    else if (part !== given[place]) return null;
  }
  return params;
}

// The route of the address and its parameters; null when there is none. `query` has what follows a question mark.
export function find(routes, hash) {
  const given = decoded(hash);
  const query = Object.fromEntries(new URLSearchParams(hash.split("?")[1] ?? ""));
  for (const route of given ? routes : []) {
    const params = matched(route, given);
    if (params) return { route, params: { ...query, ...params } };
  }
  return null;
}

const nowhere = {
  title: () => "No such page",
  open(root) {
    root.append(h("h1", {}, "There is no such page"), h("p", {}, "Nothing is at ", h("code", {}, visible(location.hash)), ". ", h("a", { href: "#/" }, "Go to the overview.")));
    return { update() {}, close() {} };
  },
};

export class Router {
  // `opened({ route, params, page })` is called after a page was opened.
  constructor(routes, root, app, opened) {
    Object.assign(this, { routes, root, app, opened, page: null });
    addEventListener("hashchange", () => {
      this.open();
      this.focusTitle();
    });
  }

  // Opens the page of the address.
  open() {
    const old = location.hash.match(OLD_JOB);
    if (old) {
      location.replace(`#/jobs/${old[1]}`);
      return;
    }
    this.page?.close();
    this.root.replaceChildren();
    const { route = { path: null, page: nowhere }, params = {} } = find(this.routes, location.hash) ?? {};
    this.page = route.page.open(this.root, params, this.app);
    scrollTo(0, 0);
    this.opened({ route, title: route.page.title(params) });
  }

  // The link that was used is gone with its page: keys and screen readers go on at the top of the new one.
  focusTitle() {
    const title = this.root.querySelector("h1");
    title?.setAttribute("tabindex", "-1");
    title?.focus({ preventScroll: true });
  }
}
