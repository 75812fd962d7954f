// Shapes of drawings.
"use strict";

import { visible } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

export function shape(name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = visible(text);
  return node;
}
