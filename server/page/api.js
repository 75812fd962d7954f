// Requests to /v1 with the token of this browser tab, if it has one.
"use strict";

export class RequestError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

const SHARED = { "cache-control": "max-age=2" }; // All open pages share answers of this age; an action makes them too old.
const KEPT = 20; // answers that are kept for a server that says that they have not changed

const kept = new Map();

export function setToken(token) {
  sessionStorage.setItem("token", token);
  kept.clear();
}

async function request(method, path, body, more = {}) {
  const token = sessionStorage.getItem("token");
  const headers = token ? { ...more, authorization: `Bearer ${token}` } : more;
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  if (answer.status === 304) return { answer };
  const content = await answer.json();
  if (!answer.ok) throw new RequestError(answer.status, content.error);
  return { answer, content };
}

// An answer that has not changed is the same object as before.
export async function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== false);
  const text = new URLSearchParams(given).toString();
  const whole = text ? `${path}?${text}` : path;
  const before = kept.get(whole);
  const { answer, content } = await request("GET", whole, undefined, before ? { ...SHARED, "if-none-match": before.tag } : SHARED);
  if (answer.status === 304) return before.content;
  const tag = answer.headers.get("etag");
  kept.delete(whole);
  if (tag) kept.set(whole, { tag, content });
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return content;
}

const send = async (method, path, body) => (await request(method, path, body)).content;

export const post = (path, body) => send("POST", path, body);
export const remove = (path) => send("DELETE", path);
export const put = (path, body) => send("PUT", path, body);
