// Requests to /v1 with the token of this browser tab, if it has one.
"use strict";

export class RequestError extends Error {
  constructor(status, text, faults = []) {
    super(text);
    Object.assign(this, { status, faults }); // `faults` are lines about the entries of a plan, if several are wrong
  }
}

// There is no answer, or none of reassignd.
export class UnreachableError extends Error {
  constructor() {
    super("reassignd does not answer.");
  }
}

const SHARED = { "cache-control": "max-age=2" }; // All open pages share answers of this age; an action makes them too old.
const KEPT = 20; // answers that are kept for a server that says that they have not changed

const kept = new Map();

export function setToken(token) {
  sessionStorage.setItem("token", token);
  kept.clear();
}

export function forgetToken() {
  sessionStorage.removeItem("token");
  kept.clear();
}

export const currentToken = () => sessionStorage.getItem("token");

export const hasToken = () => currentToken() !== null;

// Raises an error without an answer, or for an answer that refuses.
async function answered(method, path, { headers = {}, ...more } = {}) {
  const token = currentToken();
  const all = token ? { ...headers, authorization: `Bearer ${token}` } : headers;
  const answer = await received(fetch(path, { method, headers: all, ...more }));
  if (answer.ok || answer.status === 304) return answer;
  const { error, faults } = await received(answer.json());
  throw new RequestError(answer.status, error, faults);
}

async function received(awaited) {
  try {
    return await awaited;
  } catch (error) {
    throw error.name === "AbortError" ? error : new UnreachableError();
  }
}

// The path with the parameters that have a value.
export function withQuery(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false);
  const text = new URLSearchParams(given).toString();
  return text ? `${path}?${text}` : path;
}

// An answer that has not changed is the same object as before.
export async function get(path, query = {}, signal = undefined) {
  const whole = withQuery(path, query);
  const before = kept.get(whole);
  const headers = before ? { ...SHARED, "if-none-match": before.tag } : SHARED;
  const answer = await answered("GET", whole, { headers, signal });
  if (answer.status === 304) return before.content;
  const content = await received(answer.json());
  const tag = answer.headers.get("etag");
  kept.delete(whole);
  if (tag) kept.set(whole, { tag, content });
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return content;
}

// The answer of this moment: those that other pages share may be two seconds old.
export const getNow = async (path) => received((await answered("GET", path)).json());

// The content at the path, to be saved as a file.
export const download = async (path) => received((await answered("GET", path)).blob());

const send = async (method, path, body, signal) => received((await answered(method, path, { body, signal })).json());

export const post = (path, body) => send("POST", path, body && JSON.stringify(body));
export const postText = (path, text, signal) => send("POST", path, text, signal);
export const remove = (path) => send("DELETE", path);
export const put = (path, body) => send("PUT", path, JSON.stringify(body));
