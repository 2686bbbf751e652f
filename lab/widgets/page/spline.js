// Arithmetic of functions that are values at evenly spaced knots of [low, high], linear between them, constant outside.
// The same as lab.nonlinearity and lab.probes compute in Python; nothing here draws.
//
// A function is {low, high, values}, values an array of numbers.

const NODES = 1 << 14; // at which the integrals of a Chebyshev series are taken, as in Python

export const spacing = ({ low, high, values }) => (high - low) / (values.length - 1);

export const positions = ({ low, high, values }) =>
  Float64Array.from(values, (_, i) => low + (i / (values.length - 1)) * (high - low));

// φ(x); NaN in gives NaN out, ±∞ the end values.
export function value({ low, high, values }, x) {
  if (Number.isNaN(x)) return NaN;
  const last = values.length - 1, place = ((x - low) / (high - low)) * last;
  if (place <= 0) return values[0];
  if (place >= last) return values[last];
  const knot = Math.floor(place), share = place - knot;
  return values[knot] + share * (values[knot + 1] - values[knot]);
}

// Between each knot and the next, one fewer than knots.
export const slopes = (f) => Float64Array.from({ length: f.values.length - 1 },
  (_, i) => (f.values[i + 1] - f.values[i]) / spacing(f));

// Smallest and largest value on [first, last].
export function heights(f, first, last) {
  let least = Math.min(value(f, first), value(f, last)), most = Math.max(value(f, first), value(f, last));
  positions(f).forEach((x, i) => {
    if (x >= first && x <= last) [least, most] = [Math.min(least, f.values[i]), Math.max(most, f.values[i])];
  });
  return [least, most];
}

// What is left of a course when the straight line between its ends is subtracted.
export function deviation(course) {
  const last = course.length - 1;
  return Float64Array.from(course, (y, i) => y - course[0] - (i / last) * (course[last] - course[0]));
}

// Amplitudes of ½, 1, 1½, … cycles in a course, its straight line subtracted: the discrete sine transform, two fewer
// numbers than the course has.
export function spectrum(course) {
  const left = deviation(course), waves = course.length - 1;
  const sine = Float64Array.from({ length: 2 * waves }, (_, i) => Math.sin((Math.PI * i) / waves));
  return Float64Array.from({ length: waves - 1 }, (_, k) => {
    let sum = 0;
    for (let i = 1, at = 0; i < waves; i++) {
      at = (at + k + 1) % (2 * waves);
      sum += left[i] * sine[at];
    }
    return (2 * Math.abs(sum)) / waves;
  });
}

// How far a course goes up and down, its straight line subtracted.
export function variation(course) {
  const left = deviation(course);
  let sum = 0;
  for (let i = 1; i < left.length; i++) sum += Math.abs(left[i] - left[i - 1]);
  return sum;
}

export const mirroredX = (f) => ({ ...f, values: Float64Array.from(f.values).reverse() });
export const mirroredY = (f) => ({ ...f, values: Float64Array.from(f.values, (y) => -y) });

// Averaged with Gaussian weights of this standard deviation, in units of x; the ends go on as constants.
export function smoothed(f, bandwidth) {
  const sigma = bandwidth / spacing(f), last = f.values.length - 1;
  if (sigma < 1 / 8) return { ...f, values: Float64Array.from(f.values) };
  const radius = Math.floor(4 * sigma + 0.5), weights = [];
  for (let k = -radius; k <= radius; k++) weights.push(Math.exp(-0.5 * (k / sigma) ** 2));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const near = (i) => f.values[Math.min(last, Math.max(0, i))];
  return { ...f, values: Float64Array.from(f.values, (_, i) =>
    weights.reduce((sum, weight, k) => sum + weight * near(i + k - radius), 0) / total) };
}

// The average of the function and its most similar mirror image: {values, mirror, shift in knots, correlation}.
export function symmetrized(f) {
  const y = Float64Array.from(f.values), knots = y.length, energy = dot(y, y), TIE = 1e-12;
  if (energy === 0) return { ...f, values: y, mirror: "x", shift: 0, correlation: 1 };
  const images = { x: mirroredX(f).values, y: mirroredY(f).values, both: mirroredY(mirroredX(f)).values };
  const found = Object.entries(images).map(([mirror, image]) => {
    const correlations = [];
    for (let shift = 1 - knots; shift < knots; shift++) {
      let sum = 0;
      for (let i = Math.max(0, shift); i < Math.min(knots, knots + shift); i++) sum += y[i] * image[i - shift];
      correlations.push([shift, sum / energy]);
    }
    const top = Math.max(...correlations.map(([, correlation]) => correlation));
    const [shift, correlation] = least(correlations.filter(([, c]) => c >= top - TIE), ([s]) => Math.abs(s));
    return { mirror, image, shift, correlation };
  });
  const top = Math.max(...found.map(({ correlation }) => correlation));
  const { mirror, image, shift, correlation } =
    least(found.filter((one) => one.correlation >= top - TIE), (one) => Math.abs(one.shift));
  const moved = (i) => image[Math.min(knots - 1, Math.max(0, i - shift))];
  return { ...f, values: y.map((v, i) => (v + moved(i)) / 2), mirror, shift, correlation: Math.min(correlation, 1) };
}

// The knots between which the function is not zero, with one zero knot at each end where there is one: [first, last].
export function support({ values }) {
  const busy = [...values.keys()].filter((i) => values[i] !== 0);
  return busy.length ? [Math.max(busy[0] - 1, 0), Math.min(busy.at(-1) + 1, values.length - 1)] : [0, values.length - 1];
}

// The polynomial with the least squared error at the knots of the support, constant beyond it, at all knots.
export function polynomial(f, degree) {
  const [first, last] = support(f), x = positions(f).slice(first, last + 1), y = f.values.slice(first, last + 1);
  if (degree >= x.length) throw new RangeError(`degree ${degree}: the function has ${x.length} knots; give one below`);
  // polynomials that are orthogonal on these knots, made from each other by Stieltjes' recurrence: stable at any degree
  const middle = (x[0] + x.at(-1)) / 2, half = (x.at(-1) - x[0]) / 2, u = x.map((one) => (one - middle) / half);
  const fit = new Float64Array(x.length);
  let before = new Float64Array(x.length), now = new Float64Array(x.length).fill(1), normBefore = 1;
  for (let k = 0; k <= degree; k++) {
    const norm = dot(now, now), weight = dot(now, y) / norm;
    now.forEach((p, i) => { fit[i] += weight * p; });
    const a = dot(now.map((p, i) => p * u[i]), now) / norm, b = k ? norm / normBefore : 0;
    [before, now, normBefore] = [now, now.map((p, i) => (u[i] - a) * p - b * before[i]), norm];
  }
  return spread(f, first, last, fit);
}

// The Chebyshev series of the function on its support, cut off at a degree, constant beyond it, at all knots.
export function chebyshev(f, degree) {
  const [first, last] = support(f), x = positions(f), low = x[first], high = x[last];
  const coefficients = new Float64Array(degree + 1);
  for (let n = 0; n < NODES; n++) {
    const u = Math.cos((Math.PI * (n + 0.5)) / NODES), y = value(f, (low + high) / 2 + ((high - low) / 2) * u);
    let [one, two] = [1, u]; // T_k(u) and T_{k+1}(u)
    for (let k = 0; k <= degree; k++) {
      coefficients[k] += (k ? 2 : 1) * y * one / NODES;
      [one, two] = [two, 2 * u * two - one];
    }
  }
  const fit = x.slice(first, last + 1).map((point) => {
    const u = (2 * point - low - high) / (high - low);
    let [one, two] = [0, 0];
    for (let k = degree; k > 0; k--) [one, two] = [coefficients[k] + 2 * u * one - two, one];
    return u * one - two + coefficients[0];
  });
  return spread(f, first, last, fit);
}

function spread(f, first, last, fit) {
  const inside = (i) => fit[Math.min(last, Math.max(first, i)) - first];
  return { ...f, values: Float64Array.from(f.values, (_, i) => inside(i)) };
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

function least(items, cost) {
  return items.reduce((best, item) => (cost(item) < cost(best) ? item : best));
}
