// Arithmetic of numbers on a grid: rows of z go along y from its lowest, columns along x. Nothing here draws.

// Base-10 logarithms; NaN where a number is not above 0.
export const logarithms = (z) => z.map((row) => Array.from(row, (value) => (value > 0 ? Math.log10(value) : NaN)));

// Least and most of the finite numbers; [0, 1] where there is none.
export function ends(z) {
  let low = Infinity, high = -Infinity;
  for (const row of z) for (const value of row) if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return low > high ? [0, 1] : [low, high];
}

// The number of the last of `steps` that is not after one; before the first, the first.
export const latest = (steps, step) => steps.reduce((best, one, i) => (one <= step ? i : best), 0);

// The place of the number of `axis` that is nearest; of two that are equally near, the first.
export const nearest = (axis, value) =>
  axis.reduce((best, one, i) => (Math.abs(one - value) < Math.abs(axis[best] - value) ? i : best), 0);

// The line on which z, linear along the edges of each cell, has this height: pieces [x1, y1, x2, y2].
export function contour(xs, ys, z, level) {
  const pieces = [];
  for (let row = 0; row < ys.length - 1; row++) {
    for (let column = 0; column < xs.length - 1; column++) {
      const corners = [[column, row], [column + 1, row], [column + 1, row + 1], [column, row + 1]];
      const heights = corners.map(([i, j]) => z[j][i]);
      if (!heights.every(Number.isFinite)) continue;
      const crossed = [];
      for (let k = 0; k < 4; k++) {
        const [a, b] = [heights[k], heights[(k + 1) % 4]];
        if (a < level === b < level) continue;
        const share = (level - a) / (b - a), [i, j] = corners[k], [m, n] = corners[(k + 1) % 4];
        crossed.push([xs[i] + share * (xs[m] - xs[i]), ys[j] + share * (ys[n] - ys[j])]);
      }
      // a saddle has four crossings: its middle says which belong together
      const turn = crossed.length === 4 && heights.reduce((sum, one) => sum + one, 0) / 4 < level === heights[0] < level ? 1 : 0;
      for (let k = 0; k + 1 < crossed.length; k += 2)
        pieces.push([...crossed[(k + turn) % crossed.length], ...crossed[(k + turn + 1) % crossed.length]]);
    }
  }
  return pieces;
}

// Red, green and blue, 0 to 255, of a share of a scale: colours ["#rrggbb", …], evenly spaced.
export function shade(colours, share) {
  const place = Math.min(1, Math.max(0, share)) * (colours.length - 1), i = Math.min(colours.length - 2, Math.floor(place));
  const [from, to] = [parts(colours[i]), parts(colours[i + 1])];
  return from.map((one, k) => one + (place - i) * (to[k] - one));
}

const known = {};
const parts = (colour) => (known[colour] ??= [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)));
