// Texts for numbers, bytes, times and replicas, in the units that the commands use. No line breaks before a unit.

const SPACE = "\u00a0";

// With commas between thousands. A NumberFormat takes as long as all other modules of the page to start.
export function count(number) {
  const [whole, ...fraction] = String(number ?? 0).split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...fraction].join(".");
}

const threeDigits = (number) => count(Number(number.toPrecision(3)));

export const counted = (number, noun, plural = `${noun}s`) => `${count(number)} ${number === 1 ? noun : plural}`;

export function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  for (; number >= 1024 && unit < units.length - 1; unit += 1) number /= 1024;
  return `${threeDigits(number)}${SPACE}${units[unit]}`;
}

const UNITS = "kmgt";

// Reads `50MB`, `50MB/s`, `48MiB` or a number of bytes per second; nothing is null.
export function readRate(text) {
  if (text.trim() === "") return null;
  const match = text.trim().match(/^(\d{1,18}(?:\.\d{1,6})?) ?(?:([kmgt])(i?))?b?(?:\/s)?$/i);
  const power = match?.[2] ? UNITS.indexOf(match[2].toLowerCase()) + 1 : 0;
  const value = match && Math.trunc(Number(match[1]) * (match[3] ? 1024 : 1000) ** power);
  if (!match || value < 1 || value >= 2 ** 53) throw new Error("Enter bytes per second, such as 50MB, 48MiB or 1000000, or nothing.");
  return value;
}

// What `readRate` reads: `50MB`, or the bytes where they are no whole number of such units.
export function rateText(number) {
  const unit = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(([, size]) => number % size === 0);
  return unit ? `${number / unit[1]}${unit[0]}` : String(number);
}

// Rates have decimal units, so that what was entered as 50MB is shown as 50 MB/s.
export function rate(number) {
  if (number === null) return "";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  for (; Math.round(number) >= 1000 && unit < units.length - 1; unit += 1) number /= 1000;
  return `${threeDigits(number)}${SPACE}${units[unit]}/s`;
}

export function duration(seconds) {
  if (seconds === null) return "";
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([size]) => seconds >= size);
  if (first < 0) return `0${SPACE}s`;
  return parts.slice(first, first + 2)
    .map(([size, name], place) => [Math.floor((place ? seconds % parts[first][0] : seconds) / size), name])
    .filter(([number]) => number)
    .map((each) => each.join(SPACE))
    .join(" ");
}

const ONE_LINE = 4; // replicas that are not broken into lines

export const list = (replicas) =>
  (replicas ? `[${replicas.join(replicas.length > ONE_LINE ? ", " : `,${SPACE}`)}]` : "");

export const two = (number) => String(number).padStart(2, "0");

const date = (then) => `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}`;
export const hours = (then) => `${two(then.getHours())}:${two(then.getMinutes())}`;
const isToday = (then) => then.toDateString() === new Date().toDateString();

// Date and time to the second, as they sort, in the time zone of the browser.
export function moment(ms) {
  const then = new Date(ms);
  return `${date(then)} ${hours(then)}:${two(then.getSeconds())}`;
}

// The date is left out today. Times have 24 hours, as those of the commands.
export function time(ms) {
  if (!ms) return "";
  return isToday(new Date(ms)) ? moment(ms).slice(-8) : moment(ms);
}

// Hours and minutes, with the day when that is not today.
export function clock(ms) {
  const then = new Date(ms);
  return isToday(then) ? hours(then) : `${hours(then)} on ${then.toLocaleDateString([], { weekday: "short", day: "numeric", month: "short" })}`;
}

// With a capital letter first, as a sentence; nothing stays nothing.
export const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

// Names may contain invisible characters, such as marks that reverse the text's direction: show their codes.
export const visible = (text) =>
  String(text ?? "").replace(/[\p{C}\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);

const LONG = 64; // characters of a name in a list

// A long name without its middle: lists of a topic's partitions differ at the end.
export const short = (name) => (name.length > LONG ? `${name.slice(0, LONG / 2)}…${name.slice(1 - LONG / 2)}` : name);

// Browsers name a dozen products in their user agent.
export const program = (clientId) => (clientId?.startsWith("Mozilla/") ? "browser" : clientId ?? "");
