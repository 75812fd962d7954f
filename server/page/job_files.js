// The files of a job, and its actions as commands.
"use strict";

import { commandList, commandsOf } from "./commands.js";
import { h, section } from "./dom.js";
import { fileLink } from "./save.js";

const FILES = [
  ["partitions.csv", "Partitions as CSV", (number) => `job-${number}.csv`],
  ["partitions.json", "Partitions as JSON", (number) => `job-${number}.json`],
  ["rollback.json", "Rollback file", (number) => `rollback-${number}.json`],
];

export class JobFiles {
  constructor(number, app) {
    this.commands = commandList();
    const file = ([name, text, saved]) => fileLink(app, text, `v1/jobs/${number}/${name}`, saved(number));
    this.node = section("files", "Files and commands", h("p", { class: "actions" }, ...FILES.map(file)),
      h("details", {}, h("summary", {}, "The actions on this job as commands"), this.commands.node));
  }

  update(job) {
    this.commands.show(commandsOf(job));
  }
}
