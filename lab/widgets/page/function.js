// The picture of a function: its course with its constant ends, its slope, its inputs, other functions behind it.
//
// state: functions [{name, low, high, values, constant, inputs}], of which `function` (a number) is shown and those of
// `compared` (numbers) are drawn behind it; inputs: the share that each knot receives, or null; zoom: half the width of
// what is shown; slope: whether it is. random: whether networks with random weights are shown below, `networks` of
// portrait.js. `edited`: other values in the place of the function's own, or null. steps, step: a slider over checkpoints;
// course: {name: {steps, values}}, of functions that are shown as they were then.

import { BLUE, GREY, chart } from "./chart.js";
import { drawing } from "./frames.js";
import { latest } from "./grid.js";
import { portrait } from "./portrait.js";
import { heights, positions, slopes } from "./spline.js";

const COLOURS = ["#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8A6FDF"];
const colourOf = (name, number) => (name === "GELU" ? GREY : COLOURS[number % COLOURS.length]);

// A function with its constant ends, as far as `low` and `high`.
function reaching(f, low, high) {
  const x = Array.from(positions(f)), y = Array.from(f.values);
  return f.constant ? { x: [Math.min(low, x[0]), ...x, Math.max(high, x.at(-1))], y: [y[0], ...y, y.at(-1)] } : { x, y };
}

// Functions as they were at the checkpoint. (A module that exports `then` could not be imported by `await import`.)
export const atStep = ({ functions, course, steps, step }) => functions.map((f) => {
  const own = course?.[f.name];
  return own ? { ...f, values: own.values[latest(own.steps, steps[step])] } : f;
});

export function picture(state, height = 440) {
  const own = state.functions[state.function], now = state.edited ? { ...own, values: state.edited } : own;
  const middle = (own.low + own.high) / 2, window = [middle - state.zoom, middle + state.zoom];
  const others = state.compared.filter((number) => number !== state.function || state.edited);
  const shown = [now, ...others.map((number) => state.functions[number])];
  const ever = (f) => [f, ...(state.course?.[f.name]?.values ?? []).map((values) => ({ ...f, values }))]; // one axis for all steps
  const ranges = shown.flatMap(ever).map((f) => heights(f, ...window));
  const least = Math.min(...ranges.map(([low]) => low)), most = Math.max(...ranges.map(([, high]) => high));
  const pad = 0.08 * (most - least) || 0.5, x = Array.from(positions(now));
  const lines = others.map((number) => ({
    ...reaching(state.functions[number], ...window), name: state.functions[number].name, width: 1.5,
    colour: colourOf(state.functions[number].name, number),
  }));
  if (now.constant) {
    lines.push({ x: [window[0], now.low], y: [now.values[0], now.values[0]], colour: BLUE, width: 2.5, dash: "2 4" });
    lines.push({ x: [now.high, window[1]], y: [now.values.at(-1), now.values.at(-1)], colour: BLUE, width: 2.5, dash: "2 4" });
  }
  lines.push({ x, y: now.values, name: state.edited ? `${own.name}, edited` : own.name, colour: BLUE, width: 2.5 });
  const panels = [{ title: "φ(x)", y: [least - pad, most + pad], lines }];
  if (state.slope) {
    const steep = Array.from(slopes(now)), seen = steep.filter((_, i) => x[i + 1] >= window[0] && x[i] <= window[1]);
    const [low, high] = seen.length ? [Math.min(...seen), Math.max(...seen)] : [-1, 1], room = 0.08 * (high - low) || 0.5;
    const line = { x, y: [...steep, 0], colour: BLUE, width: 1.5, steps: true };
    panels.push({ title: "slope φ′(x)", share: 0.6, y: [low - room, high + room], lines: [line] });
  }
  if (own.inputs) {
    const y = own.inputs.map((share) => 100 * share), width = x[1] - x[0];
    const most = Math.max(...y.filter((_, i) => x[i] >= window[0] && x[i] <= window[1]), 1e-9);
    panels.push({ title: "inputs (%)", share: 0.45, y: [0, 1.05 * most], lines: [], bars: { x, y, width, colour: GREY } });
  }
  const marks = now.constant ? [now.low, now.high] : [];
  return { x: window, xTitle: "x, the input of the non-linearity", marks, panels, height };
}

const NAMES = ["functions", "inputs", "first", "function", "compared", "zoom", "slope", "random", "networks", "steps", "step", "course"];

export function render({ model, el }) {
  const shown = chart(el, "the function over its inputs");
  let below = null, seen = null;
  const draw = () => {
    const state = Object.fromEntries(NAMES.map((name) => [name, model.get(name)]));
    const functions = atStep(state).map((f) => ({ ...f, inputs: state.inputs[f.name] ?? f.inputs }));
    const number = state.first + state.function;
    shown.draw(picture({ ...state, functions, function: number }));
    below = state.random && state.networks.seeds ? below ?? portrait(el) : below?.end();
    if (!below) seen = null;
    else if (seen !== functions[number].values) below.draw(state.networks, { ...functions[number], values: seen = functions[number].values });
  };
  const later = drawing(draw);
  const changes = NAMES.map((name) => `change:${name}`);
  changes.forEach((change) => model.on(change, later));
  draw();
  return () => { changes.forEach((change) => model.off(change, later)); shown.end(); below?.end(); };
}

export default { render };
