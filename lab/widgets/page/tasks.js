// Small tasks that a page can train on: rows to learn from, and rows that are kept for the test.

import { generator, shuffled } from "./network.js";
import { RATES } from "./rates.js";

// a + b modulo n, for all pairs; operands and result are one-hot. share: of the pairs that are learned from.
export function addition(n, share, seed) {
  const pairs = shuffled(Array.from({ length: n * n }, (_, i) => [Math.floor(i / n), i % n]), generator(seed));
  const rows = (some) => {
    const points = new Float64Array(some.length * 2 * n), targets = new Float64Array(some.length * n);
    const labels = some.map(([a, b], row) => {
      points[row * 2 * n + a] = points[row * 2 * n + n + b] = 1;
      targets[row * n + ((a + b) % n)] = 1;
      return (a + b) % n;
    });
    return { points, targets, labels };
  };
  const count = Math.round(share * pairs.length);
  return { inputs: 2 * n, outputs: n, train: rows(pairs.slice(0, count)), test: rows(pairs.slice(count)) };
}

// Two classes of points of the square [−1, 1]².
const SETS = {
  spirals: (random) => {
    const which = Number(random() < 0.5), along = Math.sqrt(random()), turn = 3.5 * along + Math.PI * which;
    return [along * Math.cos(turn * 1.4), along * Math.sin(turn * 1.4), which];
  },
  rings: (random) => {
    const which = Math.floor(3 * random()), away = (which + 0.5 + 0.4 * (random() - 0.5)) / 3, angle = 2 * Math.PI * random();
    return [away * Math.cos(angle), away * Math.sin(angle), which % 2];
  },
  checkerboard: (random) => {
    const [x, y] = [2 * random() - 1, 2 * random() - 1];
    return [x, y, (Math.floor(2 * (x + 1)) + Math.floor(2 * (y + 1))) % 2];
  },
};

export function plane(name, count, seed) {
  const random = generator(seed);
  const rows = (some) => ({
    points: Float64Array.from(some.flatMap(([x, y]) => [x, y])),
    targets: Float64Array.from(some.flatMap(([, , which]) => (which ? [0, 1] : [1, 0]))),
    labels: some.map(([, , which]) => which),
  });
  return split({ inputs: 2, outputs: 2 }, rows(Array.from({ length: 2 * count }, () => SETS[name](random))), count);
}

// Numbers on the square [−1, 1]²: targets with the spread of the classes' ones and zeros, so that rates are alike.
export function numbers(points, values) {
  const mean = values.reduce((sum, y) => sum + y, 0) / values.length;
  const spread = Math.sqrt(values.reduce((sum, y) => sum + (y - mean) ** 2, 0) / values.length) || 1;
  return { points: Float64Array.from(points.flat()), targets: Float64Array.from(values, (y) => 0.5 + (y - mean) / (2 * spread)), labels: null };
}

function waves(count, seed) {
  const random = generator(seed), points = Array.from({ length: 2 * count }, () => [2 * random() - 1, 2 * random() - 1]);
  return split({ inputs: 2, outputs: 1 }, numbers(points, points.map(([x, y]) => Math.sin(4 * x) * Math.cos(3 * y))), count);
}

// The first `count` rows to learn from, the others for the test.
function split(sizes, { points, targets, labels }, count) {
  const part = (from, to) => ({ points: points.slice(from * sizes.inputs, to && to * sizes.inputs),
    targets: targets.slice(from * sizes.outputs, to && to * sizes.outputs), labels: labels && labels.slice(from, to) });
  return { ...sizes, train: part(0, count), test: part(count) };
}

// One's own rows, as csv.js reads them: scaled to [−1, 1]², a quarter of them for the test.
export function ownRace(table, asNumbers) {
  const ends = [0, 1].map((side) => table.points.reduce(([low, high], point) => [Math.min(low, point[side]), Math.max(high, point[side])], [Infinity, -Infinity]));
  const scaled = table.points.map((point) => point.map((one, side) => (2 * (one - ends[side][0])) / (ends[side][1] - ends[side][0]) - 1));
  const classes = [...new Set(table.labels)].sort();
  const make = (seed) => {
    const order = shuffled(scaled.keys(), generator(seed)), points = order.map((i) => scaled[i]), count = Math.round(0.75 * order.length);
    if (asNumbers) return split({ inputs: 2, outputs: 1 }, numbers(points, order.map((i) => table.numbers[i])), count);
    const labels = order.map((i) => classes.indexOf(table.labels[i]));
    const targets = Float64Array.from(labels.flatMap((label) => classes.map((_, one) => Number(one === label))));
    return split({ inputs: 2, outputs: classes.length }, { points: Float64Array.from(points.flat()), targets, labels }, count);
  };
  return { ...ON_PLANE, make, tested: "rows held out", classes: asNumbers ? null : classes, like: asNumbers ? "waves" : "spirals" };
}

// What networks race on: the data of a seed, widths of the hidden layers, the scale of the first weights, after how many
// steps accuracy is measured; the function that differs most from ReLU there, which runs unless another is chosen; and
// what the test is about; of one's own data, whose learning rates are taken. The first is seen to differ after some tenths of a second, addition after 14 s.
const ON_PLANE = { hidden: [24, 24], scale: 1.5, every: 5, first: "a sine" };
export const RACES = {
  ...Object.fromEntries(["checkerboard", "spirals", "rings"].map((name) => [name,
    { ...ON_PLANE, make: (seed) => plane(name, 200, seed), tested: "test points" }])),
  waves: { ...ON_PLANE, make: (seed) => waves(200, seed), tested: "test points" },
  "a + b modulo 27": { make: (seed) => addition(27, 0.8, seed), hidden: [128], scale: 1, every: 10,
    first: "simplicity/addition-27", tested: "pairs never seen" },
};

// The learning rate of a function on a race: the best of its own, as benchmarks/race.py found it; of a function that was
// not tuned, that of ReLU. Of two functions in one network, which were not tuned together, half of the smaller.
export const rateOf = (race, ...names) => Math.min(...names.map((name) => RATES[race][name] ?? RATES[race].ReLU)) / names.length;

// An eighth of the rows that are learned from, held out: by these, and not by the test, a rate is chosen.
export function validation({ inputs, outputs, train }) {
  const count = train.points.length / inputs;
  return split({ inputs, outputs }, train, count - Math.floor(count / 8));
}
