// A small network learns in the page, with functions that are chosen or drawn, one a layer or one for both; beside it the
// same network with ReLU. It learns a task that every page knows, or a table of one's own, which stays in the page.
// state: functions [{name, title, low, high, values}] to choose from, besides those that every page knows; chosen: the name
// of one to begin with, or null; autoplay: whether the race begins by itself.

import { address, listOf, placeOf } from "./address.js";
import { BLUE, GREY, button, chart, escaped, labelled, node, short } from "./chart.js";
import { table } from "./csv.js";
import { PLAIN, accuracy, descend, explained, ofSpline, randomLayers, square } from "./network.js";
import { value } from "./spline.js";
import { RATES } from "./rates.js";
import { RACES, ownRace, rateOf } from "./tasks.js";

const OWN = "your own data", LARGEST = 2e7; // bytes of a file
// of classes; of numbers the first two, from low to high
const COLOURS = [[0, 114, 178], [230, 159, 0], [0, 158, 115], [213, 94, 0], [204, 121, 167], [86, 180, 233], [120, 120, 120], [240, 228, 66], [90, 60, 160], [150, 90, 40]];
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
  const choice = (parent, text, names) => {
    const menu = labelled(parent, text, "select");
    names.forEach((name, i) => { node("option", { value: i }, menu).textContent = name; });
    return menu;
  };
  const races = row();
  races.append("learn");
  const tasks = Object.keys(RACES).map((name) => button(races, name, () => {
    [race, taken] = [name, null];
    begin();
    turn(true);
  }));
  const ownTask = button(races, `${OWN} …`, () => file.click(),
    "a CSV with two columns of numbers and a label, a word or a number: chosen, or dropped here; it stays in this page");
  const file = node("input", { type: "file", accept: ".csv,.tsv,.txt", hidden: "", "aria-label": "a CSV file" }, races);
  const kind = choice(races, "label is", ["a class", "a number"]);
  kind.parentElement.hidden = true;
  const problem = node("p", { role: "alert", style: "margin: 0; color: light-dark(#b34e00, #f08a3c)" }, box);
  const top = row(), play = button(top, "play", () => turn(!running));
  button(top, "start again", () => begin());
  play.classList.add("lab-first");
  const menu = choice(top, "non-linearity", [...functions.map(({ name, title }) => title ?? name), "drawn"]);
  const second = choice(top, "second layer", ["the same", ...functions.map(({ name, title }) => title ?? name), "drawn"]);
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
  const classes = node("p", { style: "margin: 0 12px; font-size: 13px" }, box);
  const told = node("p", { class: "lab-status", role: "status" }, box);

  let taken = null, deep = -1; // a table of one's own; of the second layer's function: the same
  let drawn = drawnFrom((x) => value(functions[0], x)), running = false, alone = false, rates = [], data = null, step = 0, networks = [], past = [], setting = null;
  let race = Object.keys(RACES)[0], chosen = functions.findIndex(({ name }) => name === model.get("chosen")); // −1: what a race has first
  const current = () => functions[menu.value] ?? drawn, isDeep = () => setting.hidden.length > 1 && deep >= 0;
  const phis = () => [current(), ...(isDeep() ? [functions[deep] ?? drawn] : [])], tuned = () => setting.like ?? race;
  const link = address(el, { task: (one) => Object.hasOwn(RACES, one), function: placeOf(functions.length + 1), second: placeOf(functions.length + 1),
    seed: placeOf(2 ** 31), drawn: (values) => listOf(Number.isFinite)(values) && values.length === KNOTS }, () => ({
    task: taken ? Object.keys(RACES)[0] : race, function: chosen, second: deep, seed: Number(seed.value),
    drawn: chosen === functions.length || deep === functions.length ? drawn.values.map((y) => Number(y.toFixed(3))) : null }));
  race = link.given.task ?? race;
  chosen = link.given.function ?? chosen;
  deep = link.given.second ?? deep;
  seed.value = link.given.seed ?? seed.value;
  if (link.given.drawn) drawn = { name: "drawn", low: -RANGE, high: RANGE, values: link.given.drawn };

  function begin() {
    setting = race === OWN ? ownRace(taken, kind.value === "1") : RACES[race];
    if (chosen < 0) menu.value = Math.max(0, functions.findIndex(({ name }) => name === setting.first));
    else menu.value = chosen;
    second.value = deep + 1;
    second.parentElement.hidden = setting.hidden.length < 2;
    kind.parentElement.hidden = race !== OWN || !taken.isChoice;
    [...tasks, ownTask].forEach((one) => one.setAttribute("aria-pressed", one === ownTask ? race === OWN : one.textContent === race));
    classes.innerHTML = (setting.classes ?? []).map((name, i) => `<span style="margin-right: 1em"><span aria-hidden="true" style="color: rgb(${COLOURS[i]})">■</span> ${escaped(name)}</span>`).join("");
    data = setting.make(Number(seed.value));
    step = 0;
    // both begin with the same weights
    networks = [active(), PLAIN.relu].map((phi) =>
      ({ phi, layers: randomLayers([data.inputs, ...setting.hidden, data.outputs], Number(seed.value) + 1, setting.scale) }));
    rates = [rateOf(tuned(), ...phis().map(({ name }) => name)), rateOf(tuned(), "ReLU")];
    link.note();
    past = [];
    measure();
    show();
  }

  // The function of all layers, or of each.
  const active = () => (isDeep() ? phis().map(ofSpline) : ofSpline(current()));

  function measure() {
    past.push([step, ...networks.flatMap((network) => [data.test, data.train].map(({ points, labels, targets }) =>
      100 * (labels ? accuracy(network, points, labels) : explained(network, points, targets))))]);
  }

  function show() {
    const x = past.map(([at]) => at), name = phis().map((one) => (functions.includes(one) ? one.title ?? one.name : "your function")).join(", then ");
    const rows = setting.tested, counted = data.train.labels ? "right answers" : "variance explained";
    const looks = [[`${name}, ${rows}`, BLUE], [`${name}, training`, BLUE, "3 4"], [`ReLU, ${rows}`, GREY], ["ReLU, training", GREY, "3 4"]];
    const lines = looks.map(([words, colour, dash], i) => ({ x, y: past.map((one) => one[i + 1]), colour, dash, width: dash ? 1.5 : 2.5, name: words }));
    let end = FIRST; // an axis that stays, and doubles
    while (end < step) end *= 2;
    curves.draw({ x: [0, end], xTitle: "training step", height: 300, panels: [{ title: `${counted} (%)`, y: [0, 104], lines }] });
    const [mine, , relu] = past.at(-1).slice(1);
    [[own, mine], [other, relu]].forEach(([{ number }, share]) => {
      number.textContent = Number.isFinite(share) ? `${share.toFixed(share < 9.95 ? 1 : 0)} %` : "diverged";
    });
    own.words.textContent = `with ${name}`;
    other.words.textContent = "with ReLU";
    const known = phis().every(({ name }) => RATES[tuned()][name] !== undefined);
    told.textContent = `Step ${step}: ${counted} on ${rows}. Same first weights, same examples; learning rates ${short(rates[0])} and ${short(rates[1])}, ` +
      (setting.like ? `those for ${setting.like}: yours are not tuned. ${taken.said}` : !known ? "the best for ReLU: this function has none of its own."
        : isDeep() ? "half of the smaller that is best for one function alone." : "each the best for its function on rows held out.");
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
    const { outputs, train: { labels, points, targets } } = data, [low, high] = labels ? [] : [Math.min(...targets), Math.max(...targets)];
    const mixed = (shares) => [0, 1, 2].map((part) => shares.reduce((sum, share, one) => sum + share * COLOURS[one][part], 0));
    const between = (y) => { const share = Math.min(1, Math.max(0, (y - low) / (high - low))); return mixed([1 - share, share]); };
    for (let i = 0; i < size * size; i++) {
      const said = answers.subarray(outputs * i, outputs * (i + 1)), most = Math.max(...said), odds = Array.from(said, (y) => Math.exp(4 * (y - most)));
      const all = odds.reduce((sum, one) => sum + one), at = 4 * ((size - 1 - Math.floor(i / size)) * size + (i % size));
      image.data.set([...(labels ? mixed(odds.map((one) => one / all)) : between(said[0])), 150], at);
    }
    pen.putImageData(image, 0, 0);
    for (let i = 0; i < points.length / 2; i++) {
      const [x, y] = points.subarray(2 * i, 2 * i + 2);
      pen.fillStyle = `rgb(${(labels ? COLOURS[labels[i]] : between(targets[i])).map((part) => Math.round(part / 2))})`;
      pen.fillRect(((x + 1) / 2) * (size - 1), ((1 - y) / 2) * (size - 1), 1, 1);
    }
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
  async function take(given) {
    if (!given) return;
    try {
      if (given.size > LARGEST) throw new Error(`The file has ${Math.round(given.size / 1e6)} MB; give a table of some thousand rows.`);
      const found = table(await given.text());
      taken = { ...found, said: `${found.points.length} rows of ${given.name}, ${found.names[0]} across and ${found.names[1]} up` + (found.left ? `; ${found.left} more, picked at random, are left out.` : ".") };
      kind.value = Number(found.isNumeric);
      [race, problem.textContent] = [OWN, ""];
      begin();
      turn(true);
    } catch (error) { problem.textContent = `${given.name}: ${error.message}`; }
  }
  file.addEventListener("change", () => { take(file.files[0]); file.value = ""; });
  kind.addEventListener("change", begin);
  for (const event of ["dragover", "drop"]) box.addEventListener(event, (drop) => {
    drop.preventDefault();
    drop.stopPropagation(); // JupyterLab would take the file
    if (event === "drop") take(drop.dataTransfer.files[0]);
  });
  menu.addEventListener("change", () => { chosen = Number(menu.value); begin(); });
  second.addEventListener("change", () => { deep = Number(second.value) - 1; begin(); });
  seed.addEventListener("change", () => { seed.value = Math.min(99, Math.max(0, Math.round(seed.value))); begin(); });

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
    networks[0].phi = active(); // the network that learns goes on with it
    show();
  };
  pad.addEventListener("pointerdown", (event) => {
    if (menu.value < functions.length) drawn = drawnFrom((x) => value(current(), x));
    pad.setPointerCapture(event.pointerId);
    trace(event);
  });
  pad.addEventListener("pointermove", (event) => { if (pen) trace(event); });
  ["pointerup", "pointercancel"].forEach((kind) => pad.addEventListener(kind, () => { if (pen) begin(); pen = null; }));

  link.buttons(top);
  begin();
  if (model.get("autoplay") && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    turn(true);
    alone = true;
  }
  return () => { running = false; curves.end(); };
}

export default { render };
