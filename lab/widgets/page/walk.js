// Curves and points of a picture for who has no mouse: left and right go along a curve, up and down to the next one,
// Home and End to its ends, Page Up and Page Down ten points on. Each point is said.

const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
const CURVES = { ArrowUp: -1, ArrowDown: 1 };

// The place after a key: places [{group, x, y, said}], x and y in px, the points of a curve in a row, `at` one of their
// numbers; null for another key.
export function step(places, at, key) {
  const curve = (group) => places.flatMap((place, i) => (place.group === group ? [i] : [])), here = curve(places[at].group);
  if (key in STEPS) return here[Math.min(here.length - 1, Math.max(0, here.indexOf(at) + STEPS[key]))];
  if (!(key in CURVES)) return null;
  const groups = [...new Set(places.map(({ group }) => group))], next = groups[groups.indexOf(places[at].group) + CURVES[key]];
  const away = (i) => Math.abs(places[i].x - places[at].x);
  return next === undefined ? at : curve(next).reduce((best, i) => (away(i) < away(best) ? i : best));
}

// Makes an element one that is walked through. read: its places now. show(place): marks it and says it; null: none.
export function walks(el, label, read, show) {
  let at = null;
  for (const [name, value] of Object.entries({ tabindex: 0, role: "application", "aria-label": `${label}: arrow keys go from point to point`, "data-lm-suppress-shortcuts": "true" })) el.setAttribute(name, value);
  el.classList.add("lab-walked");
  el.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in STEPS || event.key in CURVES)) return;
    const places = read();
    if (!places.length) return;
    event.preventDefault();
    at = at === null || at >= places.length ? 0 : step(places, at, event.key);
    show(places[at]);
  });
  el.addEventListener("blur", () => { if (at !== null) show(null); at = null; });
}
