// What the pages share that act when the user asks: the token, and errors in one line.
"use strict";

import { RequestError, setToken } from "./api.js";
import { element, setHidden, setText } from "./dom.js";

export function trouble(error) {
  setText(element("trouble"), error?.message);
  setHidden(element("trouble"), !error);
  setHidden(element("login"), !(error instanceof RequestError && error.status === 401));
}

// Runs an action of the user, and shows why it failed.
export const attempt = (action) => async (event) => {
  event?.preventDefault();
  trouble(null);
  try {
    await action(event);
  } catch (error) {
    trouble(error);
  }
};

// Calls `load` now, and again with each token that the user enters.
export function begin(load) {
  const loading = attempt(load);
  element("login").addEventListener("submit", (event) => {
    event.preventDefault();
    setToken(element("token").value);
    loading();
  });
  loading();
}
