// A map of codes: colours, a line drawn around points, the point that is chosen, and its code beside the mean of its like.
// points: [[x, y]]; title; texts: what is said of each point; colourings: [{name, labels, looks: {label: [colour, symbol]}}
// or {name, values}]; colour: the number of one; chosen: of a point; selected, a, b: numbers of points; codes: a row a
// point; kinds: what each point is; colours: of values, from low to high. steps, step: a slider over checkpoints; course:
// {steps, points, codes}, in the place of the points and the codes.

import { chart, escaped, node, short } from "./chart.js";
import { drawing } from "./frames.js";
import { ends, latest, shade } from "./grid.js";
import { closest, inside, meanOf, onward, tally } from "./points.js";

const NAMES = ["points", "title", "texts", "colourings", "colour", "chosen", "selected", "a", "b", "codes", "kinds", "colours", "steps", "step", "course"];
const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }; // y of pixels goes down
const HEIGHT = 400, PAD = 14, NEAR = 14, LISTED = 24; // pixels; labels in the legend
// around the place where the pen stands: with a transform of its own, each point would cost its share of every frame
const SHAPES = {
  circle: "m-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0", square: "m-2.7,-2.7h5.4v5.4h-5.4z", diamond: "m0,-3.9l3.9,3.9l-3.9,3.9l-3.9,-3.9z",
  "triangle-up": "m0,-3.8l3.6,6.4h-7.2z", cross: "m-1.2,-3.6h2.4v2.4h2.4v2.4h-2.4v2.4h-2.4v-2.4h-2.4v-2.4h2.4z",
  x: "m-3,-1.6l1.4,-1.4l1.6,1.6l1.6,-1.6l1.4,1.4l-1.6,1.6l1.6,1.6l-1.4,1.4l-1.6,-1.6l-1.6,1.6l-1.4,-1.4l1.6,-1.6z",
};

// Black would not be seen on a dark page.
const seen = ([colour, symbol]) => [/^#0{3,6}$/.test(colour) ? "currentColor" : colour, symbol];

export function render({ model, el }) {
  const box = node("div", { style: "display: flex; flex-wrap: wrap; gap: 4px 18px; font: 12px/1.4 sans-serif", class: "lab-latent" }, el);
  const left = node("div", { style: "flex: 1 1 420px; min-width: 0" }, box), right = node("div", { style: "flex: 1 1 300px; min-width: 0" }, box);
  const head = node("div", { style: "white-space: pre-line; padding: 0 4px" }, left), legend = node("div", { style: "padding: 0 4px" }, left);
  const ground = node("div", { class: "lab-map", style: "position: relative" }, left);
  const map = node("svg", { width: "100%", height: HEIGHT, tabindex: 0, role: "application", "data-lm-suppress-shortcuts": "true",
    "aria-label": "map of codes: arrow keys move from point to point", style: "display: block; touch-action: none; cursor: crosshair" }, ground);
  // what moves has an element of its own: the points below it are not laid out and painted again
  const over = node("svg", { width: "100%", height: HEIGHT, "aria-hidden": "true", style: "position: absolute; inset: 0; pointer-events: none" }, ground);
  const dots = node("g", {}, map);
  const told = node("div", { role: "status", "aria-live": "polite", style: "white-space: pre-line; min-height: 4.2em; padding: 0 4px" }, left);
  const title = node("div", { style: "font-weight: bold; padding: 0 12px" }, right);
  const heads = chart(right, "the code of the chosen point, by head, and the mean of its like");
  let shown = {}, places = [], line = null, width = 0, hovered = null;
  const get = (name) => {
    const { steps, ...course } = model.get("course") ?? {};
    return course[name]?.[latest(steps, model.get("steps")[model.get("step")])] ?? model.get(name);
  };
  const put = (values) => {
    for (const [name, value] of Object.entries(values)) model.set(name, value);
    model.save_changes();
    later();
  };

  function spread(points) {
    const ever = model.get("course")?.points?.flat() ?? points; // one frame for all steps: points move in it
    const xs = ever.map(([x]) => x), ys = ever.map(([, y]) => y), [[left, right], [low, high]] = [ends([xs]), ends([ys])];
    const across = (x) => PAD + ((x - left) / (right - left || 1)) * (width - 2 * PAD);
    return points.map(([x, y]) => [across(x), HEIGHT - PAD - ((y - low) / (high - low || 1)) * (HEIGHT - 2 * PAD)]);
  }

  function paint(colouring, colours) {
    const { labels, looks, values } = colouring, [low, high] = values ? ends([values]) : [];
    const look = labels ? (i) => seen(looks[labels[i]]) : (i) => [`rgb(${shade(colours, (values[i] - low) / (high - low || 1)).map(Math.round)})`, "circle"];
    dots.innerHTML = `<rect x=".5" y=".5" width="${width - 1}" height="${HEIGHT - 1}" fill="none" stroke="currentColor" stroke-opacity=".4"/>` +
      places.map(([x, y], i) => `<path d="M${x.toFixed(1)},${y.toFixed(1)}${SHAPES[look(i)[1]]}" fill="${look(i)[0]}" fill-opacity=".8"/>`).join("");
    const named = labels ? Object.entries(looks) : [];
    legend.innerHTML = values ? `${escaped(colouring.name)}: ${short(low)} ${bar(colours)} ${short(high)}`
      : named.length > LISTED ? `${named.length} labels; point at a point for its own` : named.map(([name, one]) => [name, seen(one)]).map(([name, [colour, symbol]]) =>
        `<span style="display: inline-block; margin-right: 1em"><svg width="10" height="10" viewBox="-5 -5 10 10" aria-hidden="true"><path d="${SHAPES[symbol]}" fill="${colour}"/></svg> ${escaped(name)}</span>`).join("");
  }
  const bar = (colours) => `<span style="display: inline-block; width: 120px; height: 9px; background: linear-gradient(to right, ${colours.join(", ")})"></span>`;

  function marks() {
    const parts = [], ring = (numbers, d, colour, name) => numbers.forEach((i) => places[i] &&
      parts.push(`<path class="lab-${name}" d="M${places[i]}${d}" fill="none" stroke="${colour}" stroke-width="1.3"/>`));
    ring(get("a"), "m-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0", "currentColor", "a");
    ring(get("b"), "m-4.6,-4.6h9.2v9.2h-9.2z", "#D55E00", "b");
    const at = places[get("chosen")];
    if (at) parts.push(`<circle class="lab-chosen" cx="${at[0]}" cy="${at[1]}" r="9" fill="none" stroke="#D55E00" stroke-width="3"/>`);
    const drawn = line ?? (get("selected").length ? shown.line : null);
    if (drawn) parts.push(`<path d="M${drawn.map((one) => one.join(",")).join("L")}Z" fill="#56B4E9" fill-opacity=".15" stroke="#56B4E9" stroke-width="1.5"/>`);
    over.innerHTML = parts.join("");
  }

  function tell() {
    const selected = get("selected"), texts = get("texts"), colouring = get("colourings")[get("colour")];
    const which = hovered ?? get("chosen");
    const words = [texts[which] ?? ""];
    if (selected.length) {
      const { labels, values } = colouring, counts = labels ? tally(labels, selected).slice(0, 6) : [];
      words.push(`${selected.length} selected; ${colouring.name}: ` + (labels
        ? counts.map(([label, count]) => `${label} ${count}`).join(", ")
        : `mean ${short(meanOf(selected.map((i) => [values[i]]))[0])}`));
    }
    const text = words.join("\n");
    if (told.textContent !== text) told.textContent = text;
  }

  function code() {
    const codes = get("codes"), kinds = get("kinds"), i = get("chosen");
    if (!codes.length) return;
    const mean = meanOf(codes.filter((_, j) => kinds[j] === kinds[i])), x = codes[i].map((_, head) => head + 1);
    const low = Math.min(0, ...codes[i], ...mean), high = Math.max(0, ...codes[i], ...mean), room = 0.06 * (high - low) || 1;
    title.textContent = `Problem ${i}: its code, head by head`;
    const steps = (y) => ({ x: x.flatMap((one) => [one - 0.35, one + 0.35, one + 0.35]), y: y.flatMap((one) => [one, one, NaN]) });
    heads.draw({ x: [0.4, x.length + 0.6], xTitle: "head", height: 230, panels: [{ title: "attention score", y: [low - room, high + room],
      lines: [{ ...steps(codes[i]), gaps: true, colour: "#0072B2", width: 5, name: `problem ${i}` },
        { ...steps(mean), gaps: true, colour: "#D55E00", width: 2, name: `mean of all with ${kinds[i]}` }] }] });
  }

  function draw() {
    width ||= map.clientWidth || 420;
    const [points, colour, colourings, colours] = ["points", "colour", "colourings", "colours"].map(get);
    if (shown.points !== points || shown.width !== width) places = spread(points);
    if (shown.points !== points || shown.width !== width || shown.colour !== colour || shown.colourings !== colourings)
      paint(colourings[colour], colours);
    if (shown.code !== get("chosen") || shown.codes !== get("codes")) code();
    Object.assign(shown, { points, width, colour, colourings, code: get("chosen"), codes: get("codes") });
    if (head.textContent !== get("title")) head.textContent = get("title");
    marks();
    tell();
  }
  const later = drawing(draw);

  const place = (event) => {
    const bounds = map.getBoundingClientRect();
    return [event.clientX - bounds.x, event.clientY - bounds.y];
  };
  map.addEventListener("pointerdown", (event) => { line = [place(event)]; map.setPointerCapture(event.pointerId); });
  map.addEventListener("pointermove", (event) => {
    if (line) line.push(place(event));
    const [number, away] = closest(places, ...place(event));
    hovered = !line && away <= NEAR ? number : null;
    later();
  });
  map.addEventListener("pointerleave", () => { hovered = null; later(); });
  map.addEventListener("pointercancel", () => { line = null; later(); });
  map.addEventListener("pointerup", (event) => {
    const drawn = line, at = place(event);
    line = null;
    if (!drawn) return;
    const far = Math.max(...drawn.map(([x, y]) => Math.hypot(x - drawn[0][0], y - drawn[0][1])));
    if (far > 6) {
      shown.line = drawn;
      put({ selected: inside(places, drawn) });
    } else {
      const [number, away] = closest(places, ...at);
      put(away <= NEAR ? { chosen: number, selected: [] } : { selected: [] });
    }
  });
  map.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return put({ selected: [] });
    const direction = DIRECTIONS[event.key];
    if (!direction) return;
    event.preventDefault();
    put({ chosen: onward(places, get("chosen"), direction) });
  });
  const observer = new ResizeObserver(() => {
    if (!map.clientWidth || map.clientWidth === width) return;
    width = map.clientWidth;
    later();
  });
  observer.observe(map);
  const changes = NAMES.map((name) => `change:${name}`);
  changes.forEach((change) => model.on(change, later));
  draw();
  return () => { changes.forEach((change) => model.off(change, later)); observer.disconnect(); heads.end(); };
}

export default { render };
