// Saves a value as a file.
"use strict";

export function saveBlob(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export const saveJson = (value, name) => saveBlob(new Blob([JSON.stringify(value)], { type: "application/json" }), name);
