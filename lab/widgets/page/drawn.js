// Figures and words as they were when a page was saved, one set of them for each option of a menu.
// frames: [[{figure} | {html}]]; frame: the number of the one that is shown.

import { node } from "./chart.js";
import { plot } from "./plot.js";

export function render({ model, el }) {
  const box = node("div", { class: "lab-wide" }, el);
  let made = [];
  const end = () => made.forEach((one) => one.end());
  const draw = () => {
    end();
    made = [];
    box.replaceChildren();
    for (const { figure, html } of model.get("frames")[model.get("frame")]) {
      const place = node("div", { class: "lab-wide" }, box);
      if (html !== undefined) place.innerHTML = html;
      else {
        const one = plot(place, model.get("heading"));
        one.draw(figure);
        made.push(one);
      }
    }
  };
  model.on("change:frame", draw);
  draw();
  return () => { model.off("change:frame", draw); end(); };
}

export default { render };
