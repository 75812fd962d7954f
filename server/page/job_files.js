// The files of a job, and its actions as commands.
"use strict";

import { commandList, commandsOf } from "./commands.js";
import { h, section, setText } from "./dom.js";
import { capital } from "./format.js";
import { nounOf } from "./jobs.js";
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
    this.files = FILES.map(file);
    this.node = section("files", "Files and commands", h("p", { class: "actions" }, ...this.files),
      h("details", {}, h("summary", {}, "The actions on this job as commands"), this.commands.node));
  }

  update(job) {
    this.commands.show(commandsOf(job));
    for (const [place, form] of ["CSV", "JSON"].entries()) setText(this.files[place], `${capital(nounOf(job))}s as ${form}`);
  }
}
