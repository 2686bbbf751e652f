// A slider over named places, with a button that goes from one to the next.
// options: their names; play: whether there is a button; onStep(number): it was moved.

import { button, labelled, node } from "./chart.js";

const BEAT = 400; // ms

export function stepper(row, { label: words, options, play }, onStep) {
  const slider = labelled(row, words, "input", { type: "range", min: 0, max: options.length - 1, step: 1, "aria-label": words });
  const shown = node("span", { style: "display: inline-block; min-width: 3.5em; font-variant-numeric: tabular-nums" }, slider.parentElement);
  let timer = null;
  const put = (number) => {
    slider.value = number;
    shown.textContent = options[number];
    slider.setAttribute("aria-valuetext", options[number]);
  };
  const go = (number) => { put(number); onStep(number); };
  const end = () => { clearInterval(timer); timer = null; if (runs) runs.textContent = "▶"; };
  slider.addEventListener("input", () => { end(); go(Number(slider.value)); });
  const runs = play && button(row, "▶", () => {
    if (timer) return end();
    runs.textContent = "❚❚";
    if (Number(slider.value) === options.length - 1) go(0);
    timer = setInterval(() => (Number(slider.value) < options.length - 1 ? go(Number(slider.value) + 1) : end()), BEAT);
  }, "from one to the next");
  if (runs) runs.setAttribute("aria-label", `play ${words}`);
  return { put, end };
}
