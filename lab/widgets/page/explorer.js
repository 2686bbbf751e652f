// A function to be explored in a page of its own, without a kernel: look, compare, change, take the result away.
// state: as for function.js, with `base` (what sliders act on), `changes` (what was done, in words) and `tools`.

import { address, between, isFlag, listOf, placeOf } from "./address.js";
import { BLUE, GREY, button, chart, escaped, labelled, node, short } from "./chart.js";
import { copied } from "./copied.js";
import { picture, atStep } from "./function.js";
import { portrait } from "./portrait.js";
import { download, pageWith } from "./saved.js";
import { stepper } from "./stepper.js";
import { chebyshev, mirroredX, mirroredY, polynomial, slopes, smoothed, spectrum, symmetrized } from "./spline.js";

const SLIDERS = {
  smooth: { label: "smooth", most: 40, change: (f, n) => smoothed(f, ((f.high - f.low) * n) / 800),
    say: (f, n) => `smoothed, bandwidth ${short(((f.high - f.low) * n) / 800)}` },
  polynomial: { label: "polynomial degree", most: 18, change: polynomial, say: (_, n) => `the polynomial of degree ${n}` },
  chebyshev: { label: "Chebyshev degree", most: 60, change: chebyshev, say: (_, n) => `the Chebyshev series of degree ${n}` },
};

export function render({ model, el }) {
  const state = { ...structuredClone(model.get("state")) };
  const alone = el.getRootNode() === document; // and not in a page of others
  const place = placeOf(state.functions.length), knots = ({ function: one = state.function }) => state.functions[one].values.length;
  const link = address(el, { function: place, compared: listOf(place), zoom: between(1e-6, 1e6), slope: isFlag, random: isFlag, step: placeOf(state.steps?.length ?? 0),
    edited: (values, all) => values === null || listOf(Number.isFinite)(values) && place(all.function ?? state.function) && values.length === knots(all) },
  () => ({ ...Object.fromEntries(["function", "compared", "zoom", "slope", "random", "step"].map((name) => [name, state[name]])),
    edited: state.edited && state.edited.map((y) => Number(y.toPrecision(5))) }));
  const { theme: _, ...given } = link.given;
  if ("function" in given) Object.assign(state, { edited: null, changes: [] });
  Object.assign(state, given, "edited" in given && { changes: given.edited ? ["as the link has it"] : [] });
  const own = () => state.functions[state.function], now = () => ({ ...own(), values: state.edited ?? own().values });
  const drawn = {}, past = [], box = node("div", { class: "lab-page" }, el);
  const rows = ["look", "change", "take"].map(() => node("div", { class: "lab-row" }, box));
  const stage = node("div", { class: "lab-wide" }, box), wave = node("div", { class: "lab-wide" }, box);
  const nets = node("div", { class: "lab-wide" }, box);
  rows.slice(1).forEach((row) => box.append(row));
  const told = node("p", { class: "lab-status", role: "status" }, box);
  const main = chart(stage, "the function over its inputs"), lower = chart(wave, "the spectrum of the function");

  const menu = labelled(rows[0], "function", "select");
  state.functions.forEach(({ name }, number) => { node("option", { value: number }, menu).textContent = name; });
  menu.value = state.function;
  const reach = () => 1.5 * (own().high - own().low) / 2;
  const zoom = labelled(rows[0], "zoom ±", "input", { type: "range", min: 1, max: 120, step: 1 });
  const { steps = [] } = state, when = steps.length > 1
    && stepper(rows[0], { label: state.unit, options: steps.map((step) => step.toLocaleString("en")), play: true }, (step) => {
      Object.assign(state, { step, edited: null, changes: [] });
      state.functions = atStep(state);
      drawn.function = null;
      past.length = 0;
      settle();
      draw();
    });
  const steep = labelled(rows[0], "slope", "input", { type: "checkbox" });
  const random = labelled(rows[0], "random network", "input", { type: "checkbox" });
  const others = node("details", {}, rows[0]);
  node("summary", {}, others).textContent = "compare with";
  const boxes = state.functions.map(({ name }, number) => {
    const label = node("label", { class: "lab-choice" }, others), one = node("input", { type: "checkbox" }, label);
    label.append(` ${name}`);
    one.checked = state.compared.includes(number);
    one.addEventListener("change", () => {
      state.compared = boxes.flatMap((each, i) => (each.checked ? [i] : []));
      draw();
    });
    return one;
  });
  steep.checked = state.slope;
  random.checked = state.random;
  let below = null;

  const sliders = Object.fromEntries(Object.entries(SLIDERS).map(([name, { label, most }]) =>
    [name, labelled(rows[1], label, "input", { type: "range", min: 0, max: most, step: 1, value: state.sliders?.[name] ?? 0 })]));
  const keep = () => { past.push({ edited: state.edited, changes: [...state.changes] }); undo.disabled = false; };
  let active = null; // the slider that is at work, on what there was before it was moved
  const settle = () => {
    active = null;
    state.base = state.edited ?? own().values;
    Object.values(sliders).forEach((slider) => { slider.value = 0; });
  };
  const put = (f, words) => { keep(); state.edited = Array.from(f.values); state.changes.push(words); settle(); draw(); };
  button(rows[1], "mirror x", () => put(mirroredX(now()), "mirrored along x"), "φ(−x)");
  button(rows[1], "mirror y", () => put(mirroredY(now()), "mirrored along y"), "−φ(x)");
  button(rows[1], "symmetrize", () => {
    const found = symmetrized(now()), axis = { x: "along x", y: "along y", both: "along both axes" }[found.mirror];
    put(found, `the average with its image mirrored ${axis} (correlation ${found.correlation.toFixed(2)})`);
  });
  const undo = button(rows[1], "undo", () => {
    Object.assign(state, past.pop());
    undo.disabled = !past.length;
    settle();
    draw();
  });
  undo.disabled = true;
  button(rows[1], "reset", () => { keep(); state.edited = null; state.changes = []; settle(); draw(); });
  for (const [name, slider] of Object.entries(sliders)) {
    slider.addEventListener("input", () => {
      if (active !== name) {
        for (const [other, one] of Object.entries(sliders)) if (other !== name) one.value = 0;
        state.base = state.edited ?? own().values;
        active = name;
        keep();
        state.before = [...state.changes];
      }
      const f = { ...own(), values: state.base }, n = Number(slider.value), { change, say } = SLIDERS[name];
      try {
        state.edited = n ? Array.from(change(f, n).values) : Array.from(state.base);
        state.changes = n ? [...state.before, say(f, n)] : state.before;
        draw();
      } catch (error) {
        told.textContent = error.message;
      }
    });
  }

  menu.addEventListener("change", () => {
    state.function = Number(menu.value);
    Object.assign(state, { edited: null, changes: [], zoom: Math.min(state.zoom, reach()) });
    past.length = 0;
    settle();
    draw();
  });
  zoom.addEventListener("input", () => { state.zoom = (reach() * zoom.value) / 120; draw(); });
  steep.addEventListener("change", () => { state.slope = steep.checked; draw(); });
  random.addEventListener("change", () => { state.random = random.checked; link.note(); weigh(); });

  button(rows[2], "copy code", async () => {
    const f = now(), numbers = Array.from(f.values, (y) => Number(y.toPrecision(8)));
    const text = `import torch\n\nimport lab\n\nphi = lab.Spline(torch.tensor([${numbers.join(", ")}]), low=${f.low}, high=${f.high})\nlab.explore(phi)\n`;
    if (await copied(text)) told.textContent = "Copied: Python that makes this function.";
    else save("function.py", text, "text/x-python");
  }, "Python that makes this function");
  button(rows[2], "save numbers (CSV)", () => {
    const f = now(), x = Array.from(f.values, (_, i) => f.low + (i / (f.values.length - 1)) * (f.high - f.low));
    save(`${fileName()}.csv`, `x,value\n${x.map((one, i) => `${one},${f.values[i]}`).join("\n")}\n`, "text/csv");
  });
  button(rows[2], "save picture (SVG)", () => {
    const copy = main.svg.cloneNode(true);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", main.svg.clientWidth);
    copy.setAttribute("color", "#222");
    save(`${fileName()}.svg`, copy.outerHTML, "image/svg+xml");
  });
  if (alone) button(rows[2], "save this page", () => {
    const { before: _, ...shown } = state;
    save(`${fileName()}.html`, pageWith(shown), "text/html");
  }, "with everything as it stands");
  link.buttons(rows[2]);
  const fileName = () => own().name.replaceAll(/[/ ]/g, "-");
  const save = (name, text, type) => {
    download(name, text, type);
    told.textContent = `Saved as ${name}.`;
  };

  function draw() {
    link.note();
    zoom.value = (120 * state.zoom) / reach();
    zoom.setAttribute("aria-valuetext", `plus or minus ${short(state.zoom)}`);
    main.draw(picture(state, innerWidth < 700 ? 340 : 420));
    if (drawn.function !== state.function || drawn.edited !== state.edited) { describe(); weigh(); }
    Object.assign(drawn, { function: state.function, edited: state.edited });
  }

  // The networks with random weights, with the function as it stands.
  function weigh() {
    below = state.random ? below ?? portrait(nets) : below?.end();
    below?.draw(state.networks, now());
  }

  // What another zoom or comparison leaves as it is: the spectrum, and the words.
  function describe() {
    const f = now(), waves = Array.from(spectrum(f.values)), before = state.edited ? Array.from(spectrum(own().values)) : [];
    const half = 1 / 2 / (f.high - f.low), x = waves.map((_, i) => (i + 1) * half);
    const lines = [{ x, y: waves, name: state.edited ? "edited" : own().name, colour: BLUE, width: 2 }];
    if (state.edited) lines.unshift({ x, y: before, name: "before", colour: GREY });
    const most = Math.max(...waves, ...before, 1e-12), end = Math.max(4 * half, x.at(-1) / 4);
    lower.draw({ x: [0, end], xTitle: "cycles per unit of x", height: 190, panels: [{ title: "amplitude", y: [0, 1.05 * most], lines }] });
    const far = state.edited ? Math.max(...state.edited.map((y, i) => Math.abs(y - own().values[i]))) : 0;
    const steepest = Math.max(...Array.from(slopes(f), Math.abs));
    told.innerHTML = `${f.values.length} knots on [${short(f.low)}, ${short(f.high)}], steepest slope ${short(steepest)}. ` +
      (own().source ? `Inputs: ${escaped(own().source)}. ` : "") +
      (state.changes.length ? `Now: ${escaped(state.changes.join(", then "))}; from the original at most ${short(far)}.` : "");
  }
  state.changes ??= [];
  if (when) { state.functions = atStep(state); when.put(state.step); }
  draw();
  return () => { when?.end?.(); main.end(); lower.end(); below?.end(); };
}

export default { render };
