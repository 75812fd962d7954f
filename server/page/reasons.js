// The reasons of partitions that do not move.
"use strict";

import { Table, h, setHidden, setText } from "./dom.js";
import { count } from "./format.js";

const FIRST = 6; // reasons that are shown at once: with a limit for each broker, there are many

// `show` takes the reasons, the most frequent first, and the number of partitions with others.
export function reasonTable(id, caption) {
  const table = new Table(id, caption, [
    { label: "partitions", number: true, text: (row) => count(row.partitions) },
    { label: "reason", wide: true, text: (row) => row.reason },
  ], (row) => row.reason);
  let [rows, whole] = [[], false];
  const draw = () => {
    table.show(whole ? rows : rows.slice(0, FIRST));
    setText(more, `Show all ${count(rows.length)} reasons`);
    setHidden(more, whole || rows.length <= FIRST);
  };
  const more = h("button", { type: "button", onclick: () => draw(whole = true) });
  const node = h("div", {}, table.node, more);
  return {
    node,
    show(reasons, others) {
      rows = others ? [...reasons, { partitions: others, reason: "other reasons" }] : reasons;
      setHidden(node, !rows.length);
      draw();
    },
  };
}
