// Notifications of the browser when a job ends, waits, is stalled or held. The user asks for them, on the overview.
"use strict";

import { badgeOf } from "./jobs.js";

const TOLD = ["held", "waiting", "stalled"];
const LISTED = 20; // open jobs that a status lists

const supported = () => "Notification" in window && isSecureContext;

export const wanted = () => supported() && Notification.permission === "granted" && localStorage.getItem("notify") === "yes";

// Whether the browser lets the page ask.
export const possible = () => supported() && Notification.permission !== "denied";

export async function want(yes) {
  localStorage.setItem("notify", yes && (await Notification.requestPermission()) === "granted" ? "yes" : "no");
}

// What a user who does not look wants to know, from two statuses.
export function noticesOf(before, after) {
  const now = new Map(after.jobs.map((job) => [job.id, job]));
  const kept = after.jobs.length < LISTED;
  return before.jobs.flatMap((job) => {
    const present = now.get(job.id);
    if (!present) return kept ? [{ job: job.id, text: `Job ${job.id} has ended.` }] : [];
    const [[was], [is]] = [badgeOf(job, before.paused), badgeOf(present, after.paused)];
    if (was === is || !TOLD.includes(is)) return [];
    return [{ job: job.id, text: `Job ${job.id} is ${is}${present.held ? `: ${present.held}` : ""}.` }];
  });
}

export function notify(before, after) {
  if (!wanted() || !before) return;
  for (const { job, text } of noticesOf(before, after)) {
    const notice = new Notification(text, { tag: `job-${job}`, body: after.cluster_name || `cluster ${after.cluster_id}` });
    notice.onclick = () => {
      window.focus();
      location.assign(`#/jobs/${job}`);
    };
  }
}
