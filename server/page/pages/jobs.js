// The list of jobs, in pages.
"use strict";

import { get } from "../api.js";
import { Pager, h, setHidden } from "../dom.js";
import { count, counted } from "../format.js";
import { jobTable, noJobs } from "../jobs.js";

const ROWS = 20;

function open(root, _params, app) {
  const [table, none] = [jobTable(app), noJobs()];
  const pager = new Pager("jobs-pages", ROWS, app.refresh, ["Newer", "Older"]);
  root.append(h("h1", {}, "Jobs"), h("section", { class: "card" }, table.node, none, pager.node));
  return {
    async update() {
      const { total, jobs } = await get("v1/jobs", { limit: ROWS, offset: pager.offset });
      table.show(jobs);
      const last = pager.offset + jobs.length;
      pager.show(`${count(pager.offset + 1)} to ${count(last)} of ${counted(total, "job")}`, last, total);
      setHidden(table.node, !jobs.length);
      setHidden(none, total > 0);
      setHidden(pager.node, total <= ROWS);
    },
    close() {},
  };
}

export const page = { title: () => "Jobs", open };
