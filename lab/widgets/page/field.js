// A picture of numbers on a grid: shades and contour lines, with axes, marks and a path on them. Shades and lines are
// drawn when the numbers are others, marks whenever they move.

import { escaped, node, ticks } from "./chart.js";
import { contour, ends, shade } from "./grid.js";

const SHADES = 512; // so many at most
const LEFT = 46, RIGHT = 8, TOP = 24, BOTTOM = 38; // pixels

// In `parent`. draw({x, y, z, colours, levels, title, xTitle, yTitle, path, marks, height, bar}):
//   path [[x, y]]; marks [{x, y, kind: "star" | "ring", name}]; levels: how many contour lines, about; bar: whether a
//   bar tells what the shades mean; range: [low, high] of the shades, if it is not that of z; frame: [x, y], the ends of the
//   axes, if these are not those of the numbers.
// onPoint(x, y): a place was clicked or dragged to.
export function field(parent, label, onPoint) {
  const box = node("div", { style: "position: relative; min-width: 0", class: "lab-field" }, parent);
  const canvas = node("canvas", { "aria-hidden": "true", style: "display: none" }, box);
  const svg = node("svg", { width: "100%", role: "img", "aria-label": label,
    style: "display: block; font: 11px sans-serif; touch-action: none" }, box);
  // what moves has an element of its own: the shades and lines below it are not laid out and painted again
  const over = node("svg", { width: "100%", "aria-hidden": "true", style: "position: absolute; inset: 0; pointer-events: none" }, box);
  const kept = new WeakMap(); // what was drawn, by numbers: they often come back
  let shown = {}, spec = null, width = 0, scales = null;

  function paint({ x, y, z, colours }, [low, high]) {
    canvas.width = x.length;
    canvas.height = y.length;
    const pen = canvas.getContext("2d"), image = pen.createImageData(x.length, y.length), span = high - low || 1;
    const inks = new Uint8ClampedArray(4 * SHADES);
    for (let k = 0; k < SHADES; k++) inks.set([...shade(colours, k / (SHADES - 1)), 255], 4 * k);
    z.forEach((row, j) => {
      for (let i = 0, at = 4 * (y.length - 1 - j) * x.length; i < row.length; i++, at += 4) {
        if (!Number.isFinite(row[i])) continue;
        const ink = 4 * Math.round(((row[i] - low) / span) * (SHADES - 1));
        for (let k = 0; k < 4; k++) image.data[at + k] = inks[ink + k];
      }
    });
    pen.putImageData(image, 0, 0);
    return canvas.toDataURL();
  }

  function draw(next) {
    spec = next;
    width ||= box.clientWidth || 420; // read once: what is read after a change makes the browser lay out at once
    const { x, y, z } = spec, height = spec.height ?? 300, below = spec.bar ? 40 : 0;
    const [right, bottom] = [width - RIGHT, height - BOTTOM];
    const [[first, last], [least, most]] = spec.frame ?? [[x[0], x.at(-1)], [y[0], y.at(-1)]];
    const across = (at) => LEFT + ((at - first) / (last - first)) * (right - LEFT);
    const up = (at) => bottom - ((at - least) / (most - least)) * (bottom - TOP);
    scales = {
      x: (pixel) => first + ((pixel - LEFT) / (right - LEFT)) * (last - first),
      y: (pixel) => least + ((bottom - pixel) / (bottom - TOP)) * (most - least),
    };
    const words = [width, height, spec.title, spec.xTitle, spec.yTitle, spec.levels, spec.bar, spec.range, first, last, least, most].join("|");
    if (shown.z !== z || shown.words !== words) {
      for (const one of [svg, over]) one.setAttribute("height", height + below);
      const old = kept.get(z), range = spec.range ?? old?.ends ?? ends(z), same = old?.range.join() === range.join();
      const href = same ? old.href : paint(spec, range);
      const found = old?.words === words ? old : { words, range, ends: spec.range ? null : range, href, drawn: frame(range, href, across, up, right, bottom, height) };
      kept.set(z, found);
      svg.innerHTML = found.drawn;
      shown = { z, words };
    }
    const parts = [];
    if (spec.path?.length) {
      const way = spec.path.map(([a, b]) => `${across(a).toFixed(1)},${up(b).toFixed(1)}`);
      parts.push(`<path d="M${way.join("L")}" fill="none" stroke="#D55E00" stroke-width="1.5"/>`,
        ...way.map((at) => `<circle cx="${at.split(",")[0]}" cy="${at.split(",")[1]}" r="2.2" fill="#D55E00"/>`));
    }
    for (const { x: a, y: b, kind, name } of spec.marks ?? []) {
      const at = [across(a), up(b)];
      parts.push(kind === "star"
        ? `<path class="lab-mark" data-name="${escaped(name)}" d="${star(...at)}" fill="#fff" stroke="#000"/>`
        : `<circle class="lab-mark" data-name="${escaped(name)}" cx="${at[0]}" cy="${at[1]}" r="8" fill="none" stroke="#D55E00" stroke-width="3"/>`);
    }
    over.innerHTML = parts.join("");
  }

  function frame([low, high], href, across, up, right, bottom, height) {
    const { x, y, z } = spec, [[first, last], [least, most]] = spec.frame ?? [[x[0], x.at(-1)], [y[0], y.at(-1)]];
    const [west, east, south, north] = [across(x[0]), across(x.at(-1)), up(y[0]), up(y.at(-1))];
    const half = [(east - west) / (x.length - 1) / 2, (south - north) / (y.length - 1) / 2];
    const id = `lab-field-${label.length}-${Math.random().toString(36).slice(2)}`;
    // the middle of a pixel of the image stands on its point of the grid
    const parts = [`<clipPath id="${id}"><rect x="${LEFT}" y="${TOP}" width="${right - LEFT}" height="${bottom - TOP}"/></clipPath>`,
      `<g clip-path="url(#${id})"><image href="${href}" x="${west - half[0]}" y="${north - half[1]}" width="${east - west + 2 * half[0]}"`
      + ` height="${south - north + 2 * half[1]}" preserveAspectRatio="none"/>`];
    for (const [level] of spec.levels ? ticks(low, high, spec.levels) : []) {
      const d = contour(x, y, z, level).map(([a, b, c, e]) =>
        `M${across(a).toFixed(1)},${up(b).toFixed(1)}L${across(c).toFixed(1)},${up(e).toFixed(1)}`);
      parts.push(`<path d="${d.join("")}" stroke="#fff" stroke-opacity=".55" stroke-width=".6" fill="none"/>`);
    }
    parts.push("</g>", `<rect x="${LEFT}" y="${TOP}" width="${right - LEFT}" height="${bottom - TOP}" fill="none" stroke="currentColor" stroke-opacity=".5"/>`);
    for (const [at, text] of ticks(first, last, (right - LEFT) / 70))
      parts.push(`<text x="${across(at)}" y="${bottom + 15}" text-anchor="middle" fill="currentColor">${text}</text>`);
    for (const [at, text] of ticks(least, most, (bottom - TOP) / 40))
      parts.push(`<text x="${LEFT - 5}" y="${up(at) + 4}" text-anchor="end" fill="currentColor">${text}</text>`);
    parts.push(`<text x="${(LEFT + right) / 2}" y="14" text-anchor="middle" font-size="13" fill="currentColor">${escaped(spec.title ?? "")}</text>`,
      `<text x="${(LEFT + right) / 2}" y="${bottom + 31}" text-anchor="middle" font-size="12" fill="currentColor">${escaped(spec.xTitle ?? "")}</text>`,
      `<text transform="translate(11 ${(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle" font-size="12" fill="currentColor">${escaped(spec.yTitle ?? "")}</text>`);
    if (spec.bar) {
      const steps = 32, wide = (right - LEFT) / steps, colour = (i) => shade(spec.colours, i / (steps - 1)).map(Math.round).join(",");
      for (let i = 0; i < steps; i++)
        parts.push(`<rect x="${LEFT + i * wide}" y="${height + 2}" width="${wide + 0.5}" height="10" fill="rgb(${colour(i)})"/>`);
      for (const [value, text] of ticks(low, high, (right - LEFT) / 80))
        parts.push(`<text x="${LEFT + ((value - low) / (high - low || 1)) * (right - LEFT)}" y="${height + 26}" text-anchor="middle" fill="currentColor">${text}</text>`);
    }
    return parts.join("");
  }

  const place = (event) => {
    const bounds = svg.getBoundingClientRect();
    return [scales.x(event.clientX - bounds.x), scales.y(event.clientY - bounds.y)];
  };
  const inside = ([x, y]) => x >= spec.x[0] && x <= spec.x.at(-1) && y >= spec.y[0] && y <= spec.y.at(-1);
  if (onPoint) {
    let held = false;
    const point = (event) => { const at = place(event); if (inside(at)) onPoint(...at); };
    svg.style.cursor = "crosshair";
    svg.addEventListener("pointerdown", (event) => { held = true; svg.setPointerCapture(event.pointerId); point(event); });
    svg.addEventListener("pointermove", (event) => { if (held) point(event); });
    for (const kind of ["pointerup", "pointercancel"]) svg.addEventListener(kind, () => { held = false; });
  }
  const observer = new ResizeObserver(() => {
    if (!box.clientWidth || box.clientWidth === width) return;
    width = box.clientWidth;
    if (spec) draw(spec);
  });
  observer.observe(box);
  return { box, svg, draw, end: () => observer.disconnect() };
}

function star(x, y) {
  const points = Array.from({ length: 10 }, (_, i) => {
    const away = i % 2 ? 3.4 : 8, turn = (Math.PI * i) / 5 - Math.PI / 2;
    return `${(x + away * Math.cos(turn)).toFixed(1)},${(y + away * Math.sin(turn)).toFixed(1)}`;
  });
  return `M${points.join("L")}Z`;
}
