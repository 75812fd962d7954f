// The files of a job, and its actions as commands.
"use strict";

import { download, hasToken } from "./api.js";
import { commandList, commandsOf } from "./commands.js";
import { h, section } from "./dom.js";
import { saveBlob } from "./save.js";

const FILES = [
  ["partitions.csv", "Partitions as CSV", (number) => `job-${number}.csv`],
  ["partitions.json", "Partitions as JSON", (number) => `job-${number}.json`],
  ["rollback.json", "Rollback file", (number) => `rollback-${number}.json`],
];

export class JobFiles {
  constructor(number, app) {
    this.commands = commandList();
    // A link does not send the token of this tab.
    const file = ([name, text, saved]) => {
      const href = `v1/jobs/${number}/${name}`;
      const save = app.guard(async () => saveBlob(await download(href), saved(number)));
      return h("a", { class: "button", href, download: saved(number), onclick: (event) => hasToken() && save(event) }, text);
    };
    this.node = section("files", "Files and commands", h("p", { class: "actions" }, ...FILES.map(file)),
      h("details", {}, h("summary", {}, "The actions on this job as commands"), this.commands.node));
  }

  update(job) {
    this.commands.show(commandsOf(job));
  }
}
