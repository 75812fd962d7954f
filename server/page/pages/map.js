// The map of the cluster.
"use strict";

import { h, setHidden } from "../dom.js";
import { FlowView } from "../flow.js";

export const page = {
  title: () => "Cluster map",

  open(root, params, app) {
    const jobs = h("select", {}, h("option", { value: "" }, "all jobs"));
    const filter = h("label", {}, "Data of ", jobs);
    root.append(h("div", { class: "page-head" }, h("h1", {}, "Cluster map"), filter));
    const card = h("section", { class: "card", "aria-label": "Cluster map" });
    root.append(card);
    const view = new FlowView(card, app, { query: () => ({ job: jobs.value }) });
    jobs.addEventListener("input", () => view.update(true));
    return {
      update({ status } = app) {
        const open = status?.jobs ?? [];
        setHidden(filter, open.length < 2);
        const wanted = ["", ...open.map((each) => String(each.id))];
        if ([...jobs.options].map((each) => each.value).join() !== wanted.join()) {
          const before = jobs.value;
          jobs.replaceChildren(...wanted.map((id) => h("option", { value: id }, id ? `job ${id}` : "all jobs")));
          jobs.value = wanted.includes(before) ? before : "";
        }
        return view.update();
      },
      close: () => view.close(),
    };
  },
};
