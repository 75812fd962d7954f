// The reasons why partitions, and replicas between directories, do not move.
"use strict";

import { Table, setHidden, shortened } from "./dom.js";
import { count } from "./format.js";

const FIRST = 6; // reasons that are shown at once: with a limit for each broker, there are many

// `show` takes the reasons, the most frequent first, and the number of partitions with others.
export function reasonTable(id, caption) {
  const table = shortened(new Table(id, caption, [
    { label: "how many", number: true, text: (row) => count(row.partitions) },
    { label: "reason", wide: true, text: (row) => row.reason },
  ], (row) => row.reason), FIRST, "reasons");
  return {
    node: table.node,
    show(reasons, others) {
      table.show(others ? [...reasons, { partitions: others, reason: "other reasons" }] : reasons);
      setHidden(table.node, !reasons.length);
    },
  };
}
