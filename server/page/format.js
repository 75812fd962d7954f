// Texts for numbers, bytes, times and replicas, in the units that the commands use.

export const count = (number) => (number ?? 0).toLocaleString("en");

export const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

export function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  for (; number >= 1024 && unit < units.length - 1; unit += 1) number /= 1024;
  return `${number.toLocaleString("en", { maximumSignificantDigits: 3 })} ${units[unit]}`;
}

export const rate = (number) => (number === null ? "" : `${bytes(number)}/s`);

export function duration(seconds) {
  if (seconds === null) return "";
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0 s";
  return parts.slice(first, first + 2)
    .map(([size, name], place) => [Math.floor((place ? seconds % parts[first][0] : seconds) / size), name])
    .filter(([number]) => number)
    .map((each) => each.join(" "))
    .join(" ");
}

export const list = (replicas) => (replicas ? `[${replicas.join(", ")}]` : "");

// The date is left out today.
export function time(ms) {
  if (!ms) return "";
  const then = new Date(ms);
  return then.toDateString() === new Date().toDateString() ? then.toLocaleTimeString() : then.toLocaleString();
}

// Names may contain invisible characters, such as marks that reverse the text's direction: show their codes.
export const visible = (text) =>
  String(text ?? "").replace(/[\p{C}\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
