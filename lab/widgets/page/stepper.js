// A slider over named places, with a button that goes from one to the next.
// options: their names; play: whether there is a button; onStep(number): it was moved.

import { node } from "./chart.js";

const BEAT = 400; // ms

export function stepper(row, { label: words, options, play }, onStep) {
  const label = node("label", {}, row);
  label.append(words, " ");
  const slider = node("input", { type: "range", min: 0, max: options.length - 1, step: 1, "aria-label": words }, label);
  const shown = node("span", { style: "display: inline-block; min-width: 3.5em; font-variant-numeric: tabular-nums" }, label);
  let timer = null;
  const put = (number) => {
    slider.value = number;
    shown.textContent = options[number];
    slider.setAttribute("aria-valuetext", options[number]);
  };
  const go = (number) => { put(number); onStep(number); };
  const end = () => { clearInterval(timer); timer = null; if (button) button.textContent = "▶"; };
  slider.addEventListener("input", () => { end(); go(Number(slider.value)); });
  const button = play && node("button", { type: "button", class: "lab-button", "aria-label": `play ${words}`, title: "from one to the next" }, row);
  end();
  button?.addEventListener("click", () => {
    if (timer) return end();
    button.textContent = "❚❚";
    if (Number(slider.value) === options.length - 1) go(0);
    timer = setInterval(() => (Number(slider.value) < options.length - 1 ? go(Number(slider.value) + 1) : end()), BEAT);
  });
  return { put, end };
}
