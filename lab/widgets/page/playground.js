// A small network learns in the page, with a function that is chosen or drawn; beside it the same network with ReLU.
// state: functions [{name, title, low, high, values}] to choose from, besides those that every page knows; chosen: the name
// of one to begin with, or null; autoplay: whether the race begins by itself.

import { chart, node, short } from "./chart.js";
import { BLUE, GREY } from "./function.js";
import { PLAIN, accuracy, descend, ofSpline, randomLayers, square } from "./network.js";
import { value } from "./spline.js";
import { RATES } from "./rates.js";
import { RACES, rateOf } from "./tasks.js";

const KNOTS = 161, RANGE = 2, PAUSE = 14; // of a drawn function; ms of training between two frames
const drawnFrom = (f) => ({ name: "drawn", low: -RANGE, high: RANGE,
  values: Array.from({ length: KNOTS }, (_, i) => f(-RANGE + (2 * RANGE * i) / (KNOTS - 1))) });

export const PLAIN_SPLINES = { "a sine": drawnFrom((x) => Math.sin(6 * x)), TanH: drawnFrom(Math.tanh), GELU: drawnFrom(PLAIN.gelu.value) };
const FIRST = 250; // steps that the axis has room for in the beginning
const ENOUGH = 99.5, LAST = 4000; // per cent of right answers, steps: a race that began by itself ends there

export function render({ model, el }) {
  const functions = [...model.get("functions"), ...Object.entries(PLAIN_SPLINES).map(([name, f]) => ({ ...f, name }))];
  const box = node("div", { class: "lab-race" }, el);
  // a notebook has no style sheet for rows
  const row = () => node("div", { class: "lab-row", style: "display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: center" }, box);
  const labelled = (parent, text, name, attributes = {}) => {
    const label = node("label", {}, parent);
    label.append(text, " ");
    return node(name, attributes, label);
  };
  const choice = (parent, text, names) => {
    const menu = labelled(parent, text, "select");
    names.forEach((name, i) => { node("option", { value: i }, menu).textContent = name; });
    return menu;
  };
  const races = row(), press = (parent, text) => {
    const made = node("button", { type: "button", class: "lab-button" }, parent);
    made.textContent = text;
    return made;
  };
  races.append("learn");
  const tasks = Object.keys(RACES).map((name) => press(races, name));
  const top = row(), play = press(top, "play"), again = press(top, "start again");
  play.classList.add("lab-first");
  const menu = choice(top, "non-linearity", [...functions.map(({ name, title }) => title ?? name), "drawn"]);
  const seed = labelled(top, "seed", "input", { type: "number", min: 0, max: 99, value: 1, style: "width: 4em" });
  const scores = node("div", { style: "display: flex; flex-wrap: wrap; gap: 0 2.2rem; margin: .5rem 12px 0", "aria-hidden": "true" }, box);
  const [own, other] = [BLUE, GREY].map((colour) => {
    const one = node("div", { style: "line-height: 1.15" }, scores);
    const number = node("div", { class: "lab-score", style: `font-size: 2.1rem; font-weight: 700; color: ${colour}; font-variant-numeric: tabular-nums; min-width: 4.4em` }, one);
    return { number, words: node("div", { style: "font-size: 13px" }, one) };
  });
  const stage = node("div", { style: "display: flex; flex-wrap: wrap; gap: .5rem 1.2rem; align-items: flex-start" }, box);
  const curves = chart(node("div", { style: "flex: 1 1 420px; min-width: 0" }, stage), "accuracy of the two networks by step");
  const lower = node("div", { style: "display: flex; flex-wrap: wrap; gap: .5rem 1rem; flex: 0 1 auto; max-width: 380px" }, stage);
  const sheet = node("figure", { style: "margin: 0" }, lower);
  const pad = node("svg", { width: 260, height: 180, viewBox: "0 0 260 180", tabindex: 0, role: "img",
    "aria-label": "φ(x): draw another function here", class: "lab-pad",
    style: "border: 1px solid currentColor; display: block; touch-action: none; cursor: crosshair" }, sheet);
  const line = node("path", { fill: "none", stroke: BLUE, "stroke-width": 2.5 }, pad);
  node("figcaption", { style: "font-size: 12px" }, sheet).textContent = "φ(x), x from −2 to 2: draw another one";
  const views = [0, 1].map(() => {
    const figure = node("figure", { style: "margin: 0" }, lower), canvas = node("canvas", { width: 60, height: 60,
      role: "img", style: "width: 180px; height: 180px; image-rendering: auto" }, figure);
    return { figure, canvas, words: node("figcaption", { style: "font-size: 12px; max-width: 180px" }, figure) };
  });
  const told = node("p", { class: "lab-status", role: "status" }, box);

  let drawn = functions[0], running = false, alone = false, rates = [], data = null, step = 0, networks = [], past = [], setting = null;
  let race = Object.keys(RACES)[0], chosen = functions.findIndex(({ name }) => name === model.get("chosen")); // −1: what a race has first
  const current = () => functions[menu.value] ?? drawn;

  function begin() {
    setting = RACES[race];
    if (chosen < 0) menu.value = Math.max(0, functions.findIndex(({ name }) => name === setting.first));
    else menu.value = chosen;
    tasks.forEach((button) => button.setAttribute("aria-pressed", button.textContent === race));
    data = setting.make(Number(seed.value));
    step = 0;
    // both begin with the same weights
    networks = [ofSpline(current()), PLAIN.relu].map((phi) =>
      ({ phi, layers: randomLayers([data.inputs, ...setting.hidden, data.outputs], Number(seed.value) + 1, setting.scale) }));
    rates = [rateOf(race, current().name), rateOf(race, "ReLU")];
    past = [];
    measure();
    show();
  }

  function measure() {
    past.push([step, ...networks.flatMap((network) => [data.test, data.train].map((rows) =>
      100 * accuracy(network, rows.points, rows.labels)))]);
  }

  function show() {
    const x = past.map(([at]) => at), name = menu.value < functions.length ? current().title ?? current().name : "your function";
    const rows = setting.tested;
    const looks = [[`${name}, ${rows}`, BLUE], [`${name}, training`, BLUE, "3 4"], [`ReLU, ${rows}`, GREY], ["ReLU, training", GREY, "3 4"]];
    const lines = looks.map(([words, colour, dash], i) => ({ x, y: past.map((one) => one[i + 1]), colour, dash, width: dash ? 1.5 : 2.5, name: words }));
    let end = FIRST; // an axis that stays, and doubles
    while (end < step) end *= 2;
    curves.draw({ x: [0, end], xTitle: "training step", height: 300, panels: [{ title: "right answers (%)", y: [0, 104], lines }] });
    const [mine, , relu] = past.at(-1).slice(1);
    own.number.textContent = `${mine.toFixed(mine < 9.95 ? 1 : 0)} %`;
    other.number.textContent = `${relu.toFixed(relu < 9.95 ? 1 : 0)} %`;
    own.words.textContent = `with ${name}`;
    other.words.textContent = "with ReLU";
    const tuned = RATES[race][current().name] !== undefined;
    told.textContent = `Step ${step}: right answers on ${rows}. Same first weights, same examples; learning rates ${short(rates[0])} and ${short(rates[1])}, ` +
      (tuned ? "each the best for its function on rows held out." : "the best for ReLU: this function has none of its own.");
    const flat = data.inputs === 2;
    views.forEach(({ figure, canvas, words }, i) => {
      figure.hidden = !flat;
      words.textContent = `what the network with ${i ? "ReLU" : name} answers`;
      canvas.setAttribute("aria-label", words.textContent);
      if (flat) paint(canvas, networks[i]);
    });
    const f = current(), at = (i) => -RANGE + (2 * RANGE * i) / 260;
    const ys = Array.from({ length: 261 }, (_, i) => value(f, at(i))), most = Math.max(1, ...ys.map(Math.abs));
    line.setAttribute("d", "M" + ys.map((y, i) => `${i},${(90 - (80 * y) / most).toFixed(1)}`).join("L"));
    play.textContent = running ? "pause" : "play";
    play.setAttribute("aria-pressed", running);
  }

  function paint(canvas, network) {
    const size = canvas.width, answers = square(network, size), pen = canvas.getContext("2d"), image = pen.createImageData(size, size);
    for (let i = 0; i < size * size; i++) {
      const share = 1 / (1 + Math.exp(-4 * (answers[2 * i + 1] - answers[2 * i])));
      const at = 4 * ((size - 1 - Math.floor(i / size)) * size + (i % size));
      image.data.set([0 + 230 * share, 114 + 45 * share, 178 - 178 * share, 150], at);
    }
    pen.putImageData(image, 0, 0);
    data.train.labels.forEach((label, i) => {
      const [x, y] = data.train.points.subarray(2 * i, 2 * i + 2);
      pen.fillStyle = label ? "#7a4f00" : "#00304d";
      pen.fillRect(((x + 1) / 2) * (size - 1), ((1 - y) / 2) * (size - 1), 1, 1);
    });
  }

  function frame() {
    if (!running || !box.isConnected) return; // a cell that is run again takes the box off its page
    const clock = performance.now();
    do {
      networks.forEach((network, i) => descend(network, data.train.points, data.train.targets, rates[i]));
      step += 1;
      if (step % setting.every === 0) measure();
    } while (performance.now() - clock < PAUSE);
    if (alone && (step >= LAST || (past.at(-1)[1] >= ENOUGH && past.at(-1)[3] >= ENOUGH))) running = false;
    show();
    if (running) requestAnimationFrame(frame);
  }

  const turn = (on) => {
    const before = running;
    alone = false;
    running = on;
    show();
    if (on && !before) requestAnimationFrame(frame);
  };
  play.addEventListener("click", () => turn(!running));
  again.addEventListener("click", begin);
  tasks.forEach((button) => button.addEventListener("click", () => {
    race = button.textContent;
    begin();
    turn(true);
  }));
  menu.addEventListener("change", () => { chosen = Number(menu.value); begin(); });
  seed.addEventListener("change", begin);

  let pen = null;
  const place = (event) => {
    const bounds = pad.getBoundingClientRect();
    return [Math.round(((event.clientX - bounds.x) / bounds.width) * (KNOTS - 1)), 1.125 - (2.25 * (event.clientY - bounds.y)) / bounds.height];
  };
  const trace = (event) => {
    const [knot, y] = place(event), [from, height] = pen ?? [knot, y], length = Math.abs(knot - from), values = [...drawn.values];
    for (let k = 0; k <= length; k++) {
      const at = from + k * Math.sign(knot - from);
      if (at >= 0 && at < KNOTS) values[at] = length ? height + (k / length) * (y - height) : y;
    }
    drawn = { name: "drawn", low: -RANGE, high: RANGE, values };
    pen = [knot, y];
    chosen = menu.value = functions.length;
    networks[0].phi = ofSpline(drawn); // the network that learns goes on with it
    show();
  };
  pad.addEventListener("pointerdown", (event) => {
    if (menu.value < functions.length) drawn = drawnFrom((x) => value(current(), x));
    pad.setPointerCapture(event.pointerId);
    trace(event);
  });
  pad.addEventListener("pointermove", (event) => { if (pen) trace(event); });
  ["pointerup", "pointercancel"].forEach((kind) => pad.addEventListener(kind, () => { if (pen) begin(); pen = null; }));

  begin();
  if (model.get("autoplay") && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    turn(true);
    alone = true;
  }
  return () => { running = false; curves.end(); };
}

export default { render };
