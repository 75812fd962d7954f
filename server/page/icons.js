// Icons of the pages: lines in a square of 24.
"use strict";

import { shape } from "./svg.js";

const PATHS = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
  map: "M5 5h4v4H5zM15 5h4v4h-4zM10 15h4v4h-4zM9 7h6M7 9l4 6M17 9l-4 6",
  jobs: "M4 6h10M4 12h16M4 18h7M18 4v4M16 6h4",
  brokers: "M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01",
  topics: "M12 3l9 5-9 5-9-5zM3 12l9 5 9-5M3 16l9 5 9-5",
  load: "M4 20V11M9 20V5M14 20v-7M19 20V8",
  plan: "M5 12h11M12 7l5 5-5 5M20 5v14",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  history: "M12 8v4l3 2M4 12a8 8 0 1 0 3-6.2M4 4v4h4",
  search: "M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM16 16l4 4",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  light: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5",
  dark: "M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z",
};

export function icon(name) {
  const drawing = shape("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" });
  drawing.append(shape("path", { d: PATHS[name] }));
  return drawing;
}
