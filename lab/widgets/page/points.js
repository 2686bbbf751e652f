// Arithmetic of points on a map: [[x, y], …]. Nothing here draws.

// Numbers of the points inside a closed line [[x, y], …].
export function inside(points, line) {
  return points.flatMap(([x, y], number) => {
    let odd = false;
    for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
      const [[a, b], [c, d]] = [line[i], line[j]];
      if (b > y !== d > y && x < a + ((y - b) / (d - b)) * (c - a)) odd = !odd;
    }
    return odd ? [number] : [];
  });
}

// The number of the point that is nearest to a place, and how far away it is.
export function closest(points, x, y) {
  let best = -1, least = Infinity;
  points.forEach(([a, b], number) => {
    const away = Math.hypot(a - x, b - y);
    if (away < least) [best, least] = [number, away];
  });
  return [best, least];
}

// The next point from one in a direction [dx, dy]: of those within 60° of it the nearest, as far as it is along the
// direction and twice as far as it is beside it. The same point where there is none.
export function onward(points, from, [dx, dy]) {
  let best = from, least = Infinity;
  points.forEach(([x, y], number) => {
    const [a, b] = [x - points[from][0], y - points[from][1]], along = a * dx + b * dy, beside = Math.abs(a * dy - b * dx);
    if (number === from || along <= 0 || beside > Math.sqrt(3) * along) return;
    if (along + 2 * beside < least) [best, least] = [number, along + 2 * beside];
  });
  return best;
}

// The mean of some rows of numbers, by column.
export const meanOf = (rows) => rows[0].map((_, i) => rows.reduce((sum, row) => sum + row[i], 0) / rows.length);

// How many of `which` have each label: [[label, count]], the most frequent first.
export function tally(labels, which) {
  const counts = new Map();
  for (const i of which) counts.set(labels[i], (counts.get(labels[i]) ?? 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1] || String(one[0]).localeCompare(String(other[0])));
}
