// Perceptrons in the page: what they answer, and gradient descent. The same arithmetic as PyTorch's, in double precision.
//
// A network is {layers, phi}: layers [{inputs, outputs, weight, bias}], weight (inputs × outputs) row by row; phi a
// non-linearity {value, slope} of all hidden layers, or a list of one for each. Points are (count × inputs), row by row.

import { spacing, value } from "./spline.js";

const error = (x) => { // Gauss's error function, by its series and its continued fraction
  const z = Math.abs(x);
  if (z < 2.5) {
    let term = z, sum = z;
    for (let n = 1; n < 60; n++) sum += (term *= -z * z / n) / (2 * n + 1);
    return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
  }
  let fraction = 0;
  for (let n = 60; n > 0; n--) fraction = n / 2 / (z + fraction);
  return Math.sign(x) * (1 - Math.exp(-z * z) / ((z + fraction) * Math.sqrt(Math.PI)));
};
const normal = (x) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);

export const PLAIN = {
  relu: { value: (x) => (x > 0 ? x : 0), slope: (x) => (x > 0 ? 1 : 0) },
  tanh: { value: Math.tanh, slope: (x) => 1 - Math.tanh(x) ** 2 },
  gelu: {
    value: (x) => (x * (1 + error(x / Math.SQRT2))) / 2,
    slope: (x) => (1 + error(x / Math.SQRT2)) / 2 + x * normal(x),
  },
  identity: { value: (x) => x, slope: () => 1 },
};

// A function through knots as a non-linearity: outside its range its slope is 0, on a knot it is that to its right.
export function ofSpline(f) {
  const last = f.values.length - 1, gap = spacing(f);
  return {
    value: (x) => value(f, x),
    slope: (x) => {
      const place = ((x - f.low) / (f.high - f.low)) * last, knot = Math.floor(place);
      return place < 0 || place >= last ? 0 : (f.values[knot + 1] - f.values[knot]) / gap;
    },
  };
}

// x · weight + bias, (count × outputs); zeros of x cost nothing, so that one-hot inputs are cheap.
function affine({ inputs, outputs, weight, bias }, x) {
  const count = x.length / inputs, y = new Float64Array(count * outputs);
  for (let row = 0; row < count; row++) {
    const at = row * outputs;
    for (let o = 0; o < outputs; o++) y[at + o] = bias[o];
    for (let i = 0; i < inputs; i++) {
      const factor = x[row * inputs + i];
      if (factor !== 0) for (let o = 0, w = i * outputs; o < outputs; o++) y[at + o] += factor * weight[w + o];
    }
  }
  return y;
}

const after = ({ phi }, layer) => (Array.isArray(phi) ? phi[layer] : phi);

// What each layer receives, and what each gives.
function pass(network, points) {
  const { layers } = network, received = [], given = [];
  let x = points;
  layers.forEach((layer, number) => {
    received.push(x);
    given.push(affine(layer, x));
    x = number < layers.length - 1 ? given[number].map(after(network, number).value) : given[number];
  });
  return { received, given, answer: x };
}

export const answers = (network, points) => pass(network, points).answer;

// Answers on the way from one point to another, at evenly spaced places, both ends included.
export function along(network, from, to, samples) {
  const points = new Float64Array(samples * from.length);
  for (let k = 0; k < samples; k++)
    from.forEach((x, i) => { points[k * from.length + i] = x + (k / (samples - 1)) * (to[i] - x); });
  return answers(network, points);
}

// Answers of a network of two inputs on a square grid of [low, high]², row by row from the lowest second input.
export function square(network, grid, low = -1, high = 1) {
  const points = new Float64Array(2 * grid * grid), at = (k) => low + (k / (grid - 1)) * (high - low);
  for (let row = 0; row < grid; row++)
    for (let column = 0; column < grid; column++) points.set([at(column), at(row)], 2 * (row * grid + column));
  return answers(network, points);
}

// One step of gradient descent on the squared error, a mean over rows and outputs; the loss before it. The network's
// weights are changed in place.
export function descend(network, points, targets, rate) {
  const { layers } = network, { received, given, answer } = pass(network, points);
  let loss = 0;
  let gradient = answer.map((y, i) => {
    loss += (y - targets[i]) ** 2 / answer.length;
    return (2 * (y - targets[i])) / answer.length;
  });
  for (let number = layers.length - 1; number >= 0; number--) {
    const { inputs, outputs, weight, bias } = layers[number], x = received[number];
    const count = x.length / inputs, back = number ? new Float64Array(x.length) : null, phi = number && after(network, number - 1);
    const change = new Float64Array(weight.length), shift = new Float64Array(outputs);
    for (let row = 0; row < count; row++) {
      const at = row * outputs;
      for (let o = 0; o < outputs; o++) shift[o] += gradient[at + o];
      for (let i = 0; i < inputs; i++) {
        const factor = x[row * inputs + i], w = i * outputs;
        if (factor !== 0) for (let o = 0; o < outputs; o++) change[w + o] += factor * gradient[at + o];
        if (back) {
          let sum = 0;
          for (let o = 0; o < outputs; o++) sum += weight[w + o] * gradient[at + o];
          back[row * inputs + i] = sum * phi.slope(given[number - 1][row * inputs + i]);
        }
      }
    }
    for (let k = 0; k < weight.length; k++) weight[k] -= rate * change[k];
    for (let o = 0; o < outputs; o++) bias[o] -= rate * shift[o];
    gradient = back;
  }
  return loss;
}

// Share of rows whose largest output is the right one.
export function accuracy(network, points, labels) {
  const answer = answers(network, points), outputs = network.layers.at(-1).outputs;
  return labels.reduce((right, label, row) => {
    const said = answer.subarray(row * outputs, (row + 1) * outputs);
    return right + (said.indexOf(Math.max(...said)) === label);
  }, 0) / labels.length;
}

// Share of the variance of targets, one a row, that the answers explain; 0 where the mean would be as close.
export function explained(network, points, targets) {
  const answer = answers(network, points), mean = targets.reduce((sum, y) => sum + y, 0) / targets.length;
  const squares = (of) => targets.reduce((sum, y, i) => sum + (y - of(i)) ** 2, 0), all = squares(() => mean);
  return all ? Math.max(0, 1 - squares((i) => answer[i]) / all) : 0;
}

// Random numbers from a seed, evenly distributed in [0, 1): the generator "mulberry32".
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(state ^ (state >>> 15), 1 | state);
    z = (z + Math.imul(z ^ (z >>> 7), 61 | z)) ^ z;
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function shuffled(items, random) {
  const mixed = [...items];
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
  }
  return mixed;
}

// Weights as PyTorch draws them for a linear layer: evenly distributed in ±1 / √inputs.
export function randomLayers(sizes, seed, scale = 1) {
  const random = generator(seed);
  return sizes.slice(1).map((outputs, number) => {
    const inputs = sizes[number], reach = scale / Math.sqrt(inputs), draw = () => (2 * random() - 1) * reach;
    return {
      inputs, outputs,
      weight: Float64Array.from({ length: inputs * outputs }, draw),
      bias: Float64Array.from({ length: outputs }, draw),
    };
  });
}
