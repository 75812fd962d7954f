// The browser's tab: its title and its icon show the progress of the open jobs and the health of the cluster.
"use strict";

import { element, setAttribute } from "./dom.js";
import { problemLines } from "./health.js";
import { howFar } from "./jobs.js";

const AROUND = 2 * Math.PI * 12; // length of the ring

// How far all open jobs are together, from 0 to 1; null without a job.
export function progressOf(jobs) {
  if (!jobs.length) return null;
  const shares = jobs.map((job) => howFar(job)).map(({ value, total }) => value / Math.max(1, total));
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

export function titleOf(page, status) {
  const progress = status && progressOf(status.jobs);
  const parts = [status && problemLines(status).length ? "⚠" : null, progress === null ? null : `${Math.floor(100 * progress)}\u00a0%`];
  return [parts.filter(Boolean).join(" "), page, status?.cluster_name, "reassignd"].filter(Boolean).join(" · ");
}

// A ring that closes with the progress, and a dot in the color of the health.
function drawn(progress, color) {
  const length = (progress ?? 1) * AROUND;
  const ring = `<circle cx="16" cy="16" r="12" fill="none" stroke-width="5"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${ring} stroke="#8a94a6" opacity=".35"/>`
    + `${ring} stroke="${color}" stroke-dasharray="${length.toFixed(1)} 100" transform="rotate(-90 16 16)"/><circle cx="16" cy="16" r="5" fill="${color}"/></svg>`;
}

// `page` is the title of the page; `status` is null before the first answer. The icon has the color of the badge of the
// health, which must be shown already.
export function showTab(page, status) {
  const title = titleOf(page, status);
  if (document.title !== title) document.title = title;
  const color = getComputedStyle(element("pill")).color;
  const picture = drawn(status && progressOf(status.jobs), color);
  setAttribute(element("icon"), "href", `data:image/svg+xml,${encodeURIComponent(picture)}`);
}
