// Files that a page gives its reader. Nothing is sent anywhere: the browser puts them where downloads go.

import { node } from "./chart.js";

// content: text, or an address that has it, as "data:…".
export function download(name, content, type = "") {
  const href = content.startsWith("data:") ? content : URL.createObjectURL(new Blob([content], { type }));
  node("a", { download: name, href }).click();
}

// This page as text, with another state: what its scripts have drawn is left out, and the frame that it stands in.
export function pageWith(state) {
  const copy = document.documentElement.cloneNode(true);
  copy.classList.remove("lab-framed");
  copy.querySelector("#lab-state").textContent = JSON.stringify({ state }).replaceAll("<", "\\u003c");
  copy.querySelector("#lab-root").replaceChildren();
  return `<!DOCTYPE html>\n${copy.outerHTML}`;
}
