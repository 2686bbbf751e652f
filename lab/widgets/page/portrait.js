// What networks with random weights make of a function: their answers on the square [−1, 1]², and how far these go up
// and down. Python sends the weights, so that the numbers are those of lab.probes.profile.
// networks: {seeds: [layers as in network.js], paths: [[x, y, x, y]], samples, greys}.

import { node, short } from "./chart.js";
import { field } from "./field.js";
import { PLAIN, along, ofSpline, square } from "./network.js";
import { variation } from "./spline.js";

const COARSE = 20, FINE = 60, REST = 150; // points on a side while a hand moves, and at rest; ms until it is at rest
const AT_ONCE = 5; // paths, before the page is given the word again

// A network with this function: GELU and ReLU by their formulas, others by their knots. Weights come as nine digits; the
// numbers of single precision that these stand for are what PyTorch has.
export const withFunction = (layers, f) => ({
  layers: layers.map((layer) => ({ ...layer, weight: layer.weight.map(Math.fround), bias: layer.bias.map(Math.fround) })),
  phi: PLAIN[f.constant === false ? f.name?.toLowerCase() : ""] ?? ofSpline(f),
});

// The total variation of a network on each path.
export const variations = (network, paths, samples) =>
  paths.map(([a, b, c, d]) => variation(along(network, [a, b], [c, d], samples)));

export const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

// In `parent`: draw(networks, f) shows one of the networks with the function f.
export function portrait(parent) {
  const box = node("div", { class: "lab-portrait", style: "font: 12px/1.5 sans-serif; padding: 0 12px" }, parent);
  const label = node("label", {}, box), place = node("div", { style: "max-width: 380px" }, box);
  label.append("random weights ");
  const menu = node("select", { "aria-label": "random weights" }, label), told = node("div", { role: "status", "aria-live": "off", style: "min-height: 3em" }, box);
  const shade = field(place, "answers of an untrained network on a square of its two inputs");
  let now = null, asked = 0, rest = null;

  function paint(size) {
    const { networks, network } = now, axis = Array.from({ length: size }, (_, k) => -1 + (2 * k) / (size - 1));
    const found = square(network, size), z = axis.map((_, row) => Array.from(found.subarray(row * size, (row + 1) * size)));
    shade.draw({ x: axis, y: axis, z, colours: networks.greys, height: 300, title: "a network with random weights",
      xTitle: "input 1", yTitle: "input 2", bar: true });
  }

  function measure(number, done) {
    const { networks, network } = now, { paths, samples } = networks;
    done.push(...variations(network, paths.slice(done.length, done.length + AT_ONCE), samples));
    if (done.length < paths.length) setTimeout(() => { if (number === asked) measure(number, done); });
    else told.textContent = `Its total variation with this function is ${short(mean(done))}, a mean over ${paths.length} straight paths. No weight is trained.`;
  }

  function draw(networks, f) {
    if (menu.options.length !== networks.seeds.length)
      menu.replaceChildren(...networks.seeds.map((_, number) => node("option", { value: number })).map((one, i) => { one.textContent = i + 1; return one; }));
    const number = ++asked;
    now = { networks, f, network: withFunction(networks.seeds[menu.value || 0], f) };
    paint(COARSE);
    clearTimeout(rest);
    rest = setTimeout(() => { paint(FINE); measure(number, []); }, REST);
  }
  menu.addEventListener("change", () => draw(now.networks, now.f));
  return { box, draw, end: () => { asked += 1; clearTimeout(rest); shade.end(); box.remove(); } };
}
