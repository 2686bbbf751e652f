// Panels of lines and bars above one x axis, as SVG, drawn anew in a few milliseconds. It takes its colours for text
// and grid from the page, so it is light on a dark page; its legend is text above it, which wraps.

import { walks } from "./walk.js";

export const BLUE = "#0072B2";
export const GREY = "#808080";
const LEFT = 58, RIGHT = 12, TOP = 8, BOTTOM = 40, GAP = 14; // pixels

let made = 0; // numbers the clip paths

export function node(name, attributes = {}, parent) {
  const svg = /^(svg|g|path|text|tspan|rect|circle|clipPath|title)$/.test(name);
  const found = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  parent?.append(found);
  return found;
}

// A button with a text; and a control after the words of its label.
export function button(row, text, action, title = "") {
  const element = node("button", { type: "button", class: "lab-button", title }, row);
  element.textContent = text;
  element.addEventListener("click", action);
  return element;
}

export function labelled(row, text, name, attributes) {
  const label = node("label", {}, row);
  label.append(text, " ");
  return node(name, attributes, label);
}

// Round places for about `most` ticks, with their labels.
export function ticks(low, high, most) {
  const rough = (high - low) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(rough));
  const steps = [1, 2, 5, 10].map((factor) => factor * power), inside = (one) => Math.floor(high / one + 1e-9) - Math.ceil(low / one - 1e-9) + 1;
  let step = steps.find((one) => one >= rough * (1 - 1e-9));
  // an axis with one number has no scale
  for (const smaller of [...steps, power / 2, power / 5].sort((a, b) => b - a)) if (inside(step) < 2 && smaller < step) step = smaller;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++)
    found.push([i * step, (i * step).toFixed(digits).replace(/^-(?=0(\.0*)?$)/, "").replace("-", "−")]);
  return found;
}

// A chart in `parent`. `draw(spec)` shows
//   {x: [low, high], xTitle, marks: [x], panels: [{y: [low, high], title, share, lines, bars}], height}
// lines: {x, y, colour, width, dash, name, steps, gaps (where y is no number)}; bars: {x, y, width, colour}, heights from 0.
export function chart(parent, label) {
  const box = node("div", { class: "lab-chart", style: "position: relative; width: 100%" }, parent);
  const legend = node("div", { class: "lab-legend", style: "font: 12px/1.5 sans-serif; padding: 0 12px" }, box);
  const svg = node("svg", { width: "100%", style: "display: block; font: 11px sans-serif" }, box);
  const readout = node("div", { class: "lab-readout", "aria-live": "polite",
    style: "font: 12px/1.4 sans-serif; min-height: 1.4em; padding: 0 12px; font-variant-numeric: tabular-nums" }, box);
  const clip = `lab-chart-${++made}`;
  let spec = null, width = 0, scales = null, hovered = null, walked = null, waiting = false;

  function draw(next) {
    spec = next;
    width ||= box.clientWidth || 640; // read once: what is read after a change makes the browser lay out at once
    const height = spec.height ?? 380, inner = [LEFT, width - RIGHT];
    if (svg.getAttribute("height") !== String(height)) svg.setAttribute("height", height);
    const free = height - TOP - BOTTOM - GAP * (spec.panels.length - 1);
    const shares = spec.panels.reduce((sum, panel) => sum + (panel.share ?? 1), 0);
    const across = (x) => inner[0] + ((x - spec.x[0]) / (spec.x[1] - spec.x[0])) * (inner[1] - inner[0]);
    scales = { across, back: (pixel) => spec.x[0] + ((pixel - inner[0]) / (inner[1] - inner[0])) * (spec.x[1] - spec.x[0]) };
    const parts = [];
    let top = TOP;
    spec.panels.forEach((panel, number) => {
      const bottom = top + (free * (panel.share ?? 1)) / shares;
      const up = (y) => bottom - ((y - panel.y[0]) / (panel.y[1] - panel.y[0])) * (bottom - top);
      const id = `${clip}-${number}`, last = number === spec.panels.length - 1;
      parts.push(`<clipPath id="${id}"><rect x="${inner[0]}" y="${top}" width="${Math.max(0, inner[1] - inner[0])}" height="${bottom - top}"/></clipPath>`);
      const grid = []; // a single path: each element costs its share of a frame, and one with an opacity more
      for (const [x, text] of ticks(...spec.x, (inner[1] - inner[0]) / 70)) {
        grid.push(`M${across(x)},${top}V${bottom}`);
        if (last) parts.push(`<text x="${across(x)}" y="${bottom + 16}" text-anchor="middle" fill="currentColor">${text}</text>`);
      }
      for (const [y, text] of ticks(...panel.y, (bottom - top) / 28)) {
        grid.push(`M${inner[0]},${up(y)}H${inner[1]}`);
        parts.push(`<text x="${inner[0] - 6}" y="${up(y) + 4}" text-anchor="end" fill="currentColor">${text}</text>`);
      }
      parts.push(`<path d="${grid.join("")}" stroke="currentColor" stroke-opacity=".13" fill="none"/>`,
        `<path d="M${inner[0]},${top}V${bottom}H${inner[1]}" stroke="currentColor" stroke-opacity=".6" fill="none"/>`,
        `<text transform="translate(13 ${(top + bottom) / 2}) rotate(-90)" text-anchor="middle" font-size="12" fill="currentColor">${escaped(panel.title)}</text>`,
        `<g clip-path="url(#${id})">`);
      for (const x of spec.marks ?? [])
        parts.push(`<path d="M${across(x)},${top}V${bottom}" stroke="currentColor" stroke-opacity=".5" stroke-dasharray="2 3"/>`);
      if (panel.bars) {
        const { x, y, colour } = panel.bars, half = panel.bars.width / 2, d = [];
        for (let i = 0; i < x.length; i++)
          if (y[i] > 0) d.push(`M${across(x[i] - half).toFixed(1)},${bottom}V${up(y[i]).toFixed(1)}H${across(x[i] + half).toFixed(1)}V${bottom}Z`);
        parts.push(`<path d="${d.join("")}" fill="${colour}" fill-opacity=".6"/>`);
      }
      for (const line of panel.lines)
        parts.push(`<path class="lab-line" data-name="${escaped(line.name ?? "")}" d="${course(line, across, up)}" fill="none" stroke="${line.colour}" ` +
          `stroke-width="${line.width ?? 1.5}" stroke-linejoin="round"${line.dash ? ` stroke-dasharray="${line.dash}"` : ""}/>`);
      parts.push("</g>");
      Object.assign(panel, { top, bottom, up });
      top = bottom + GAP;
    });
    parts.push(`<text x="${(inner[0] + inner[1]) / 2}" y="${height - 6}" text-anchor="middle" font-size="12" fill="currentColor">${escaped(spec.xTitle)}</text>`);
    if (hovered !== null) parts.push(`<path d="M${across(hovered)},${TOP}V${height - BOTTOM}" stroke="currentColor" stroke-opacity=".4"/>`);
    if (walked) parts.push(`<circle class="lab-ring" cx="${walked.x}" cy="${walked.y}" r="7" fill="none" stroke="#D55E00" stroke-width="2"/>`);
    svg.innerHTML = parts.join("");
    const names = spec.panels.flatMap(({ lines }) => lines).filter(({ name }) => name);
    const words = names.map(({ name, colour, dash }) =>
      `<span style="display: inline-block; margin-right: 1.2em; overflow-wrap: anywhere"><span style="color: ${colour}; font-weight: bold">${dash ? "┅" : "━"}</span> ${escaped(name)}</span>`).join("");
    if (legend.innerHTML !== words) legend.innerHTML = words;
    if (hovered !== null) tell();
  }

  function tell() {
    const said = spec.panels.flatMap(({ lines }) => lines).filter(({ name, x }) => name && x.length)
      .map(({ name, x, y }) => `${name} ${short(reading(x, y, hovered))}`);
    readout.textContent = said.length ? `x = ${short(hovered)}: ${said.join(" · ")}` : "";
  }

  const places = () => (spec?.panels ?? []).flatMap(({ lines, bars, title, up }, number) =>
    [...lines, ...(bars ? [bars] : [])].flatMap(({ x, y, name = title, dash }, line) => (dash && name === title ? [] // what goes on beyond an end
      : Array.from(x).flatMap((at, i) => (at < spec.x[0] || at > spec.x[1] || !Number.isFinite(y[i]) ? []
        : [{ group: `${number} ${line}`, x: scales.across(at), y: up(y[i]), said: `${name}: ${short(y[i])} at ${short(at)}` }])))));
  walks(svg, label, places, (place) => {
    walked = place;
    if (spec) draw(spec);
    readout.setAttribute("aria-live", "polite");
    readout.textContent = place?.said ?? "";
  });
  svg.addEventListener("pointermove", (event) => {
    if (!spec) return;
    readout.setAttribute("aria-live", "off"); // a mouse passes many
    const x = scales.back(event.clientX - svg.getBoundingClientRect().x);
    hovered = x < spec.x[0] || x > spec.x[1] ? null : x;
    later();
  });
  svg.addEventListener("pointerleave", () => { hovered = null; readout.textContent = ""; later(); });
  function later() {
    if (!waiting) requestAnimationFrame(() => { waiting = false; if (spec) draw(spec); });
    waiting = true;
  }
  const observer = new ResizeObserver(() => {
    if (!box.clientWidth || box.clientWidth === width) return;
    width = box.clientWidth;
    if (spec) draw(spec);
  });
  observer.observe(box);
  return { box, svg, draw, end: () => observer.disconnect() };
}

export const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
export const short = (number) => Number(number.toPrecision(3)).toString().replace("-", "−");

function reading(x, y, at) {
  let i = 1;
  while (i < x.length - 1 && x[i] < at) i++;
  const share = Math.min(1, Math.max(0, (at - x[i - 1]) / (x[i] - x[i - 1] || 1)));
  return x.length > 1 ? y[i - 1] + share * (y[i] - y[i - 1]) : y[0];
}

function course({ x, y, steps, gaps }, across, up) {
  const points = [];
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(y[i])) continue;
    if (steps && points.length) points.push(`H${across(x[i]).toFixed(2)}V${up(y[i]).toFixed(2)}`);
    else points.push(`${points.length && !(gaps && !Number.isFinite(y[i - 1])) ? "L" : "M"}${across(x[i]).toFixed(2)},${up(y[i]).toFixed(2)}`);
  }
  return points.join("");
}
