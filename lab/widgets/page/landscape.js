// Two measures over one plane of weight space, the training on it, and the chosen point, which mouse and keys move.
// land: {x, y, values: {name: rows}, trajectory: [[x, y]] or [], steps: of each, axes: [title, title]}; left, right: numbers of measures;
// logarithm: of the shades; px, py: the chosen point; colours: of the shades, from low to high; steps, step: a slider over
// the training, which chooses the nearest point; frame: ends of the axes; ranges: by measure, numbers between whose ends its
// shades are, where another landscape has them, too; else empty.

import { node, short } from "./chart.js";
import { field } from "./field.js";
import { drawing } from "./frames.js";
import { ends, latest, logarithms, nearest } from "./grid.js";

const NAMES = ["land", "left", "right", "logarithm", "px", "py", "colours", "frame", "ranges"];
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };

// All measures at the point of the grid next to a place, by name.
export function reading(land, x, y) {
  const [column, row] = [nearest(land.x, x), nearest(land.y, y)];
  return Object.fromEntries(Object.entries(land.values).map(([name, z]) => [name, z[row][column]]));
}

export function render({ model, el }) {
  const box = node("div", { tabindex: 0, role: "application", "data-lm-suppress-shortcuts": "true",
    "aria-label": "landscape: arrow keys move the chosen point" }, el);
  const sides = node("div", { style: "display: flex; flex-wrap: wrap; gap: 0 12px" }, box);
  const told = node("div", { role: "status", "aria-live": "polite",
    style: "font: 12px/1.4 sans-serif; min-height: 1.4em; padding: 0 12px; font-variant-numeric: tabular-nums" }, box);
  const move = (x, y) => { model.set("px", x); model.set("py", y); model.save_changes(); later(); };
  const fields = ["left", "right"].map((side) => {
    const half = node("div", { style: "flex: 1 1 300px; min-width: 0" }, sides);
    return { side, view: field(half, `the measure on the ${side}`, move) };
  });
  const kept = {}; // the logarithms of what is shown

  function draw() {
    const { land, logarithm, px, py, colours, frame, ranges, ...chosen } = Object.fromEntries(NAMES.map((name) => [name, model.get(name)]));
    const names = Object.keys(land.values);
    for (const { side, view } of fields) {
      const name = names[chosen[side]] ?? names[0];
      if (frame.length) view.box.parentElement.style.display = side === "right" && chosen.left === chosen.right ? "none" : "";
      let z = land.values[name];
      if (logarithm) {
        if (kept[name]?.of !== z) kept[name] = { of: z, z: logarithms(z) };
        ({ z } = kept[name]);
      }
      const range = ranges[name] && ends(logarithm ? logarithms([ranges[name]]) : [ranges[name]]);
      view.draw({ x: land.x, y: land.y, z, colours, levels: 14, bar: true, height: 330, title: logarithm ? `${name} (log₁₀)` : name,
        xTitle: land.axes[0], yTitle: land.axes[1], path: land.trajectory, range, frame: frame.length ? frame : null,
        marks: [{ x: 0, y: 0, kind: "star", name: "the model" }, { x: px, y: py, kind: "ring", name: "chosen" }] });
    }
    const path = land.trajectory.length ? " Orange line: the training." : "";
    const values = Object.entries(reading(land, px, py)).map(([name, value]) => `${name}: ${value === null ? "no number" : short(value)}`);
    told.textContent = `Near the chosen point (${short(px)}, ${short(py)}), the circle: ${values.join(", ")}. Star: the model.${path}`;
  }
  const later = drawing(draw);
  const walk = () => {
    const { trajectory, steps } = model.get("land"), at = trajectory[latest(steps, model.get("steps")[model.get("step")])];
    if (at) move(...at);
  };
  model.on("change:step", walk);

  box.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const land = model.get("land"), at = [nearest(land.x, model.get("px")) + step[0], nearest(land.y, model.get("py")) + step[1]];
    if (land.x[at[0]] !== undefined && land.y[at[1]] !== undefined) move(land.x[at[0]], land.y[at[1]]);
  });
  const changes = NAMES.map((name) => `change:${name}`);
  changes.forEach((change) => model.on(change, later));
  draw();
  return () => { changes.forEach((change) => model.off(change, later)); model.off("change:step", walk); fields.forEach(({ view }) => view.end()); };
}

export default { render };
