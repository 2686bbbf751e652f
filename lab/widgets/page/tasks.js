// Small tasks that a page can train on: rows to learn from, and rows that are kept for the test.

import { generator } from "./network.js";
import { RATES } from "./rates.js";

const shuffled = (items, random) => {
  const found = [...items];
  for (let i = found.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [found[i], found[j]] = [found[j], found[i]];
  }
  return found;
};

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
  const all = Array.from({ length: 2 * count }, () => SETS[name](random));
  return { inputs: 2, outputs: 2, train: rows(all.slice(0, count)), test: rows(all.slice(count)) };
}

// What networks race on: the data of a seed, widths of the hidden layers, the scale of the first weights, after how many
// steps accuracy is measured; the function that differs most from ReLU there, which runs unless another is chosen; and
// what the test is about. The first is seen to differ after some tenths of a second, addition after 14 s.
export const RACES = {
  ...Object.fromEntries(["checkerboard", "spirals", "rings"].map((name) => [name,
    { make: (seed) => plane(name, 200, seed), hidden: [24, 24], scale: 1.5, every: 5, first: "a sine", tested: "test points" }])),
  "a + b modulo 27": { make: (seed) => addition(27, 0.8, seed), hidden: [128], scale: 1, every: 10,
    first: "simplicity/addition-27", tested: "pairs never seen" },
};

// The learning rate of a function on a race: the best of its own, as benchmarks/race.py found it; of a function that was
// not tuned, that of ReLU.
export const rateOf = (race, name) => RATES[race][name] ?? RATES[race].ReLU;

// An eighth of the rows that are learned from, held out: by these, and not by the test, a rate is chosen.
export function validation({ inputs, outputs, train }) {
  const kept = Math.floor(train.labels.length / 8), cut = train.labels.length - kept;
  const part = (from, to) => ({ points: train.points.slice(from * inputs, to * inputs),
    targets: train.targets.slice(from * outputs, to * outputs), labels: train.labels.slice(from, to) });
  return { inputs, outputs, train: part(0, cut), test: part(cut, train.labels.length) };
}
