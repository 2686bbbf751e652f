// What models answer on a plane of their inputs, side by side.
// models: [{name, alphas: [text], networks: [network or null], steps}], one network a prefactor, or one; with steps one a
// checkpoint, which steps and step choose; common: whether panels have one scale; points, columns: the
// data and the names of their inputs; point, across, up, output: numbers that choose the plane and the output; a0, a1, …:
// which prefactor, of the models that have several, in their order; given: for each model that the page cannot compute
// {plane: [point, across, up, which], z}, else null; grid, low, high: of the plane; greys: shades from low to high.

import { node } from "./chart.js";
import { field } from "./field.js";
import { drawing } from "./frames.js";
import { ends, latest } from "./grid.js";
import { PLAIN, answers, ofSpline } from "./network.js";

const NAMES = ["models", "points", "columns", "point", "across", "up", "output", "a0", "a1", "a2", "a3", "given", "grid", "low", "high", "steps", "step", "common"];
const COARSE = 20, REST = 120; // points on a side while a control moves, where a plane takes long; ms until it is fine again
const LONG = 4e5; // multiplications

// A network as Python describes it, with its non-linearity as functions.
export function networkOf({ layers, phi, prefactor }) {
  const found = typeof phi === "string" ? PLAIN[phi] : ofSpline(phi);
  const scaled = prefactor === 1 ? found : { value: (x) => found.value(prefactor * x), slope: (x) => prefactor * found.slope(prefactor * x) };
  return { layers, phi: scaled };
}

// Answers where two inputs of a point take all pairs of `size` evenly spaced values: rows of numbers, the lowest first.
export function plane(network, point, across, up, size, low, high, output) {
  const inputs = point.length, rows = new Float64Array(size * size * inputs), outputs = network.layers.at(-1).outputs;
  const at = (k) => low + (k / (size - 1)) * (high - low);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const start = (row * size + column) * inputs;
      for (let i = 0; i < inputs; i++) rows[start + i] = point[i];
      rows[start + across] = at(column);
      rows[start + up] = at(row);
    }
  }
  const found = answers(network, rows), which = Math.min(output, outputs - 1);
  return Array.from({ length: size }, (_, row) => Array.from({ length: size }, (_, column) => found[(row * size + column) * outputs + which]));
}

export function render({ model, el }) {
  const box = node("div", { class: "lab-slices", style: "display: flex; flex-wrap: wrap; gap: 0 12px" }, el);
  const made = new Map(), fields = [];
  let fine = null;
  const weigh = ({ layers }) => layers.reduce((sum, { inputs, outputs }) => sum + inputs * outputs, 0);

  function draw(coarse) {
    const state = Object.fromEntries(NAMES.map((name) => [name, model.get(name)])), { models, points, columns, given } = state;
    const point = points[state.point], axis = (size) => Array.from({ length: size }, (_, k) => state.low + (k / (size - 1)) * (state.high - state.low));
    let family = 0, later = false;
    const drawn = models.map(({ name, alphas, networks, steps }, i) => {
      const which = steps ? latest(steps, state.steps[state.step]) : alphas.length ? state[`a${family++}`] : 0, source = networks[which];
      fields[i] ??= field(node("div", { style: "flex: 1 1 260px; min-width: 0" }, box), `the function of ${name} on a plane of its inputs`);
      let size = state.grid, z = null, shown = [state.point, state.across, state.up, which];
      if (source && state.across !== state.up) {
        if (!made.has(source)) made.set(source, networkOf(source));
        if (coarse && size > COARSE && weigh(source) * size ** 2 > LONG) [size, later] = [COARSE, true];
        z = plane(made.get(source), point, state.across, state.up, size, state.low, state.high, state.output);
      } else if (given[i]) ({ z, plane: shown } = given[i]);
      if (!z) return null;
      const [number, across, up, alpha] = shown, title = steps ? `${name}, step ${steps[alpha].toLocaleString("en")}` : alphas.length ? `${name}, α = ${alphas[alpha]}` : name;
      const old = shown.join() === [state.point, state.across, state.up, which].join() ? "" : ` (point ${number}, as it was)`;
      return { x: axis(z[0].length), y: axis(z.length), z, colours: model.get("greys"), height: 270, title: title + old,
        xTitle: columns[across], yTitle: columns[up], bar: true,
        marks: [{ x: points[number][across], y: points[number][up], kind: "ring", name: "the training point" }] };
    });
    const range = state.common ? ends(drawn.filter(Boolean).flatMap(({ z }) => z)) : null;
    drawn.forEach((spec, i) => { if (spec) fields[i].draw({ ...spec, range }); });
    clearTimeout(fine);
    if (later) fine = setTimeout(() => draw(false), REST);
  }
  const later = drawing(() => draw(true));
  const changes = NAMES.map((name) => `change:${name}`);
  changes.forEach((change) => model.on(change, later));
  draw(false);
  return () => { clearTimeout(fine); changes.forEach((change) => model.off(change, later)); fields.forEach((one) => one.end()); };
}

export default { render };
