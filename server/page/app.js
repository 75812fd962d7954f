// The first module: connects the pages with the server, and what is shared by them.
"use strict";

import { RequestError, UnreachableError, forgetToken, hasToken, setToken } from "./api.js";
import { ask } from "./confirm.js";
import { element, setHidden, setLinked, setText } from "./dom.js";
import { drawPages, markPage, showHeader, showPill, startTheme } from "./header.js";
import { jobActions } from "./job_actions.js";
import { startKeys } from "./keys.js";
import { Live } from "./live.js";
import { notify, wanted } from "./notices.js";
import { Router, find } from "./router.js";
import { ROUTES } from "./routes.js";
import { Search } from "./search.js";
import { Stream } from "./stream.js";
import { showTab } from "./tab.js";

// What a page gets: what the server said last, and what a page may do.
const app = {
  status: null, // that of `/v1/status`
  client: null, // that of `/v1/whoami`
  mayChange: false,
  act,
  attempt,
  guard,
  ask,
  go: (hash) => location.assign(hash),
  refresh: () => live.refresh(),
};
app.run = jobActions(app);

// ---- what went wrong ----------------------------------------------------------------------------------------------

const troubles = { server: "", page: "" }; // why nothing is read, and why the last action on the page failed

function trouble(of, text) {
  troubles[of] = text;
  const shown = troubles.page || troubles.server;
  setText(element("trouble"), shown);
  setHidden(element("trouble"), !shown);
}

// Returns a listener that runs an action of the user, and shows why it failed.
function guard(action) {
  return async (event) => {
    event?.preventDefault();
    trouble("page", "");
    try {
      await action(event);
    } catch (error) {
      trouble("page", error.message);
    }
  };
}

const FRESH_MS = 8000; // in which what was said stays in view, however far the page is scrolled
let fresh;

function say(text) {
  clearTimeout(fresh);
  const { classList } = element("said");
  classList.add("fresh");
  fresh = setTimeout(() => classList.remove("fresh"), FRESH_MS);
  setLinked(element("said"), text);
  setHidden(element("said"), !text);
}

// Sends a request that changes something, and says what happened: `text`, or what it returns for the answer.
async function act(text, send) {
  try {
    const answer = await send();
    say(typeof text === "function" ? text(answer) : text);
  } catch (error) {
    say(error instanceof RequestError ? `Refused: ${error.message}` : error.message);
  }
  await live.refresh();
}

// Returns what `read` reads for a dialog; null when that fails, which is said.
function attempt(read) {
  return read().catch((error) => act("", () => Promise.reject(error)).then(() => null));
}

// ---- the server ---------------------------------------------------------------------------------------------------

async function show(read) {
  const { status, client } = read;
  notify(app.status, status);
  app.log.compare(app.status, status);
  Object.assign(app, { status, client, mayChange: client.role === "operator" });
  showHeader(status, client);
  showTab(title, status);
  await router.page.update(read);
  trouble("server", "");
  setHidden(element("content"), false);
  setHidden(element("login"), true);
  document.body.classList.remove("locked");
  setHidden(element("leave"), !hasToken());
  if (!live.sleeps) events.open(); // The tab may have been hidden while it was read.
}

// Why nothing new is shown: a word, and a line. Errors that are not of a request are faults of the page.
function failure(error) {
  if (error instanceof RequestError) return ["refused", error.message];
  if (error instanceof UnreachableError) return ["unreachable", `${error.message} Retrying.`];
  console.error(error);
  return ["fault", `This page has a fault: ${error.message}`];
}

function fail(error) {
  const [word, line] = failure(error);
  const locked = error.status === 401;
  showPill(word, "bad");
  showTab(title, null);
  // Who has no token yet has done nothing wrong.
  trouble("server", locked ? (hasToken() ? "This token is not valid." : "") : line);
  if (locked && element("login").hidden) {
    document.body.classList.add("locked");
    events.close();
    setText(element("host"), location.host);
    setHidden(element("content"), true);
    setHidden(element("login"), false);
    element("token").focus();
  }
}

element("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  setToken(element("token").value);
  live.forgetClient();
  await live.refresh();
});

element("leave").addEventListener("click", () => {
  forgetToken();
  live.forgetClient();
  live.refresh();
});

// ---- start --------------------------------------------------------------------------------------------------------

let title = ""; // of the page
const live = new Live(show, fail, wanted);
const events = new Stream(() => live.refresh(true));
app.log = events.log;
const router = new Router(ROUTES, element("content"), app, ({ route, title: opened }) => {
  title = opened;
  trouble("page", "");
  say("");
  showTab(title, app.status);
  markPage(route.path);
  if (app.status) live.refresh();
});
element("skip").addEventListener("click", (event) => {
  event.preventDefault();
  router.focusTitle();
});
startTheme();
startKeys(ROUTES, app.go);
new Search((address) => find(ROUTES, address) !== null, app.go);
document.addEventListener("visibilitychange", () => live.sleeps && events.close());
drawPages(ROUTES);
router.open();
live.run();
