// Requests to /v1 with the token of this browser tab, if it has one.
"use strict";

export class RequestError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export const setToken = (token) => sessionStorage.setItem("token", token);

async function request(method, path, body) {
  const token = sessionStorage.getItem("token");
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const content = await answer.json();
  if (!answer.ok) throw new RequestError(answer.status, content.error);
  return content;
}

export function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== false);
  const text = new URLSearchParams(given).toString();
  return request("GET", text ? `${path}?${text}` : path);
}

export const post = (path, body) => request("POST", path, body);
export const remove = (path) => request("DELETE", path);
export const put = (path, body) => request("PUT", path, body);
