// One broker: what it holds, its directories, what can be done with it, and its partitions.
"use strict";

import { get } from "../api.js";
import { showBasis } from "../basis.js";
import { badge, button, crumbs, facts, meter } from "../build.js";
import { flags, movesText, percent, planLink, sized, stateBadge } from "../broker_words.js";
import { h, pieces, setText } from "../dom.js";
import { bytes, count, counted } from "../format.js";
import { Listing } from "../listing.js";
import { HEALTHS, STATES, partitionName } from "../partition_words.js";
import { pickActions } from "../picks.js";
import { allow, allowDir, exclude, excludeDir } from "../placement.js";

export const page = {
  title: ({ broker }) => `Broker ${broker}`,
  open(root, { broker: id }, app) {
    const [view, picked] = [newView(root, id), pickActions(app)];
    const list = new Listing(view.partitions, app, {
      id: "partitions-of-broker",
      path: "v1/partitions",
      rows: "partitions",
      noun: "partition",
      caption: `Partitions of broker ${id}`,
      columns: picked.columns,
      keyOf: partitionName,
      search: { name: "topic", label: "Search by topic" },
      filters: [STATES, HEALTHS],
      fixed: { broker: id },
      query: { sort: "size", descending: true },
    });
    view.partitions.append(picked.node);
    let closed = false;
    async function update() {
      try {
        const { broker, basis } = await get(`v1/brokers/${id}`);
        if (closed) return;
        setText(view.trouble, "");
        show(view, broker, basis, app);
      } catch (error) {
        setText(view.trouble, error.message);
      }
      await list.update();
    }
    return {
      update,
      close() {
        closed = true;
        list.close();
      },
    };
  },
};

function newView(root, id) {
  const view = {
    badges: h("span", { class: "badges" }),
    actions: h("p", { class: "actions" }),
    trouble: h("p", { role: "alert", class: "bad" }),
    check: h("p", { role: "status", class: "check" }),
    numbers: h("div", {}),
    dirs: h("div", {}),
    basis: h("p", { class: "basis" }),
    partitions: h("section", { class: "card", "aria-label": "Partitions" }, h("h2", {}, "Partitions")),
  };
  root.append(
    crumbs([["Brokers", "#/brokers"]], id),
    h("div", { class: "page-head start" }, h("h1", {}, `Broker ${id}`), view.badges),
    view.actions, view.check, view.trouble,
    h("div", { class: "cards" },
      h("section", { class: "card", "aria-label": "What it holds" }, h("h2", {}, "What it holds"), view.numbers, view.basis),
      h("section", { class: "card", "aria-label": "Log directories" }, h("h2", {}, "Log directories"), view.dirs)),
    view.partitions,
  );
  return view;
}

function show(view, broker, basis, app) {
  const looks = JSON.stringify([broker, app.mayChange]);
  showBasis(view.basis, basis);
  if (view.looks === looks) return;
  view.looks = looks;
  view.badges.replaceChildren(stateBadge(broker), ...flags(broker));
  view.numbers.replaceChildren(facts([
    ["address", broker.host && `${broker.host}:${broker.port}`],
    ["rack", broker.rack],
    ["replicas", count(broker.replicas)],
    ["leaders", broker.leaders === broker.preferred ? count(broker.leaders) : `${count(broker.leaders)}, preferred for ${count(broker.preferred)}`],
    ["data", sized(broker.bytes, broker.unsized, "replica")],
    ["moving now", movesText(broker)],
    ["to come", broker.coming ? counted(broker.coming, "replica") : null],
    ["to go", broker.going ? counted(broker.going, "replica") : null],
    ["not in sync", broker.lagging ? counted(broker.lagging, "replica") : null],
  ]));
  refill(view.dirs, directories(broker, app));
  refill(view.actions, actions(view, broker, app));
}

const nameOf = (node) => node.getAttribute("aria-label") ?? node.textContent;

// Puts other children into a node; the focus stays on the control of the same name.
function refill(node, children) {
  const focused = node.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  node.replaceChildren(...children);
  for (const each of node.querySelectorAll("a, button")) if (nameOf(each) === focused) each.focus({ preventScroll: true });
}

// A directory can be emptied into the others of its broker.
const emptyLink = (broker, path) => planLink("Empty…", { goal: "empty", dirs: `${broker}:${path}` }, "", { "aria-label": `Empty the directory ${path}…` });

const getsReplicas = ({ works, cordoned, excluded }) => works && !cordoned && !excluded;

// What can be done with a directory. The only one cannot be emptied. One that has failed gets nothing new in any case.
function dirActions(id, dirs, dir, app) {
  const { path, works, excluded } = dir;
  const last = !dirs.some((each) => each !== dir && getsReplicas(each));
  const placing = excluded
    ? button("Allow new replicas…", () => allowDir(id, path, app), "", { "aria-label": `Allow new replicas in the directory ${path}…` })
    : works && button("No new replicas…", () => excludeDir(id, path, last, app), "", { "aria-label": `No new replicas in the directory ${path}…` });
  return h("span", { class: "actions" }, works && dirs.length > 1 && emptyLink(id, path), placing);
}

function directories({ id, log_dirs: dirs }, app) {
  if (!dirs.length) return [h("p", { class: "soft" }, `Broker ${id} does not report its directories.`)];
  return [h("ul", { class: "dirs" }, dirs.map((dir) => directory(id, dirs, dir, app)))];
}

function directory(id, dirs, dir, app) {
  const { path, works, total, used, cordoned, excluded } = dir;
  return h("li", {},
    h("span", {}, h("code", {}, pieces(path, "/")), " ", works ? null : badge("bad", "failed"), cordoned ? badge("warn", "cordoned") : null, excluded ? badge("warn", "gets no new replicas") : null),
    total === null ? h("span", { class: "soft" }, works ? "size not known" : "") : meter(used, total, `${bytes(used)} of ${bytes(total)} (${percent(used, total)})`, `${path}: ${bytes(used)} of ${bytes(total)} used`),
    app.mayChange && (dirs.length > 1 || excluded) ? dirActions(id, dirs, dir, app) : null);
}

function actions(view, broker, app) {
  const { id } = broker;
  const change = app.mayChange ? [
    planLink("Drain…", { goal: "drain", brokers: id }, "primary"),
    planLink("Demote…", { goal: "demote", brokers: id }),
    planLink("Relieve its disks…", { goal: "relieve", brokers: id }),
    planLink("Move replicas to it…", { goal: "add", brokers: id }),
    broker.log_dirs.length > 1 ? planLink("Even out its directories…", { goal: "disks", brokers: id }) : null,
    placementButton(broker, app),
  ].filter(Boolean) : [];
  return [...change, button("Can it be stopped?", () => check(view, id))];
}

function placementButton(broker, app) {
  return broker.excluded
    ? button("Allow new partitions…", () => allow(broker.id, app))
    : button("No new partitions…", () => exclude(broker, app));
}

async function check(view, id) {
  setText(view.check, "Asking the cluster…");
  try {
    const { drained, replicas, partitions, stays_registered: stays } = await get(`v1/brokers/${id}/drained`);
    const names = `${partitions.join(", ")}${replicas > partitions.length ? ", …" : ""}`;
    const registered = stays ? ` Kafka keeps it registered until \`kafka-cluster.sh unregister --id ${id}\`.` : "";
    view.check.className = drained ? "check good" : "check bad";
    setText(view.check, drained ? `Yes: broker ${id} holds nothing, and gets nothing.${registered}` : `No: broker ${id} holds or gets ${counted(replicas, "replica")}: ${names}`);
  } catch (error) {
    view.check.className = "check bad";
    setText(view.check, error.message);
  }
}
