// Replication factors in the builder of plans: one for all chosen topics, or one for each of several kinds of topics.
"use strict";

import { RequestError } from "./api.js";
import { button } from "./build.js";
import { h } from "./dom.js";

const [LEAST, MOST] = [1, 32767];

// The fields: a line for each factor.
export function factorFields() {
  const lines = h("ul", { class: "rows" });
  const add = () => {
    const factor = h("input", { name: "factor", type: "number", min: LEAST, max: MOST, value: 3 });
    const topics = h("input", { name: "factor_topics", autocomplete: "off", spellcheck: "false", placeholder: "all of them" });
    const line = h("li", {}, h("label", {}, "Factor ", factor), h("label", {}, "of topics that match ", topics), button("Remove", () => remove(line), "", { "aria-label": "Remove this factor" }));
    lines.append(line);
    mark();
    return factor;
  };
  const remove = (line) => {
    const beside = line.nextElementSibling ?? line.previousElementSibling;
    line.remove();
    mark();
    beside.querySelector("input").focus();
  };
  // One factor is left in any case.
  const mark = () => lines.querySelectorAll("button").forEach((each) => { each.hidden = lines.children.length === 1; });
  add();
  return [lines, h("p", {}, button("Another factor…", () => add().focus()))];
}

// The part of the request: `rf`, or `factors` of topics. `data` is that of the form.
export function factorsOf(data) {
  const topics = data.getAll("factor_topics").map((each) => each.trim());
  const factors = data.getAll("factor").map(Number);
  const wrong = factors.find((each) => !Number.isInteger(each) || each < LEAST || each > MOST);
  if (wrong !== undefined) throw new RequestError(400, `Enter replication factors from ${LEAST} to ${MOST}.`);
  if (factors.length === 1 && !topics[0]) return { rf: factors[0] };
  const [unnamed] = factors.filter((_, place) => !topics[place]);
  if (unnamed) throw new RequestError(400, `Enter which topics get the factor ${unnamed}, such as orders.*`);
  return { factors: factors.map((factor, place) => ({ factor, topics: topics[place] })) };
}
