// What numbers are based on, as far as that is not of this moment.
"use strict";

import { setHidden, setText } from "./dom.js";
import { capital, duration } from "./format.js";

const OLD_SECONDS = 3;
const STALE_SECONDS = 180; // from this age on, something is wrong

const ago = (ms) => Math.max(0, Math.round((Date.now() - ms) / 1000));

// Shows how old the parts of an answer are, in `node`. Nothing is shown of an answer without a basis.
export function showBasis(node, basis) {
  const { counted_ms: countedAt = 0, seen_ms: seenAt = 0, sizes_ms: sizesAt = 0 } = basis ?? {};
  const old = [["Kafka was asked for all topics", seenAt], ["replicas were counted", countedAt], ["sizes were measured", sizesAt]]
    .filter(([, at]) => at && ago(at) >= OLD_SECONDS);
  const words = old.map(([what, at]) => `${what} ${duration(ago(at))} ago`);
  if (sizesAt === null) words.push("sizes are not measured yet");
  setText(node, words.length ? `${capital(words.join(", "))}.` : "");
  setHidden(node, !words.length);
  node.classList.toggle("warn", old.some(([, at]) => ago(at) >= STALE_SECONDS));
}
