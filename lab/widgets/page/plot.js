// What the lab's explorers draw with Plotly, drawn without it: a saved page is small, and as light or dark as its reader's
// system. It knows lines, points, bars, histograms, shades and contours on panels with numbers, powers or names on their
// axes, and notes, shades and lines on them; not what is in space.

import { escaped, node, short, ticks } from "./chart.js";
import { contour, ends, shade } from "./grid.js";
import { walks } from "./walk.js";

const NARROW = 560, NEAR = 24, STEPS = 64; // px: of the plot, from a point to the mouse; shades of a bar
const TYPES = { f8: Float64Array, f4: Float32Array, i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array };
const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#808080"];
const INKS = { "#222222": "currentColor", "#222": "currentColor", "#000000": "currentColor", black: "currentColor" };

// Numbers as Plotly packs them, as an array; rows of it where they are a matrix.
export function unpacked(given) {
  if (!given?.bdata) return given == null ? [] : Array.from(given);
  const bytes = Uint8Array.from(atob(given.bdata), (letter) => letter.charCodeAt(0));
  const numbers = Array.from(new TYPES[given.dtype](bytes.buffer)), [rows, columns] = String(given.shape ?? "").split(",").map(Number);
  return columns ? Array.from({ length: rows }, (_, row) => numbers.slice(row * columns, (row + 1) * columns)) : numbers;
}

// How many of the numbers lie in each of about `most` round bins: [middle, count], and the width of a bin.
export function histogram(numbers, most) {
  const [low, high] = ends([numbers]), power = 10 ** Math.floor(Math.log10((high - low) / most || 1));
  const width = power * [1, 2, 5, 10].find((factor) => (high - low) / (factor * power) <= most), first = Math.floor(low / width);
  const counts = new Array(Math.floor(high / width) - first + 1).fill(0);
  for (const number of numbers) if (Number.isFinite(number)) counts[Math.floor(number / width) - first] += 1;
  return { bins: counts.map((count, i) => [(first + i + 0.5) * width, count]), width };
}

const lines = (text) => String(text ?? "").split(/<br\s*\/?>/).map((line) => line.replaceAll(/<[^>]*>/g, "").replaceAll("&lt;", "<").replaceAll("&amp;", "&"));
const ink = (colour, number = 0) => INKS[colour] ?? colour ?? PALETTE[number % PALETTE.length];
const merged = (template, own) => ({ ...template, ...own, title: { ...template?.title, ...own?.title } });

// Places of an axis between two ends in px: {at (value → px), ticks [[px, words]], low, high}.
export function axisOf(own, values, [from, to], most, bars = false) {
  const names = values.length && values.every((value) => typeof value === "string" || value == null) ? [...new Set(values)] : null;
  const log = own.type === "log", number = (value) => (names ? names.indexOf(value) : log ? Math.log10(value) : Number(value));
  const there = values.map((value) => (value == null ? NaN : number(value))).filter(Number.isFinite);
  let [low, high] = own.range ? unpacked(own.range).map(Number) : names ? [-0.5, names.length - 0.5] : padded(there, own, bars);
  if (!own.range && own.autorange === "reversed") [low, high] = [high, low];
  const place = (value) => from + ((value - low) / (high - low)) * (to - from), [least, last] = [Math.min(low, high), Math.max(low, high)];
  const told = own.tickvals ? unpacked(own.tickvals).map((value, i) => [number(value), own.ticktext ? unpacked(own.ticktext)[i] : short(Number(value))])
    : names ? names.map((name, i) => [i, name])
    : log ? Array.from({ length: Math.floor(last) - Math.ceil(least) + 1 }, (_, i) => [Math.ceil(least) + i, short(10 ** (Math.ceil(least) + i))])
    : ticks(least, last, most);
  return { at: (value) => place(number(value)), ticks: told.filter(([value]) => value >= least - 1e-9 && value <= last + 1e-9).map(([value, words]) => [place(value), words]), low, high };
}

// bars: whether the values are heights of bars, which stand on 0.
function padded(numbers, { rangemode }, bars) {
  const [low, high] = ends([numbers]), room = 0.05 * (high - low) || 0.5, zero = bars || rangemode === "tozero";
  return [zero && low >= 0 ? 0 : low - room, zero && high <= 0 ? 0 : high + room];
}

// A plot in `parent`; `draw(figure)` shows a figure of Plotly, as JSON has it.
export function plot(parent, label) {
  const box = node("div", { class: "lab-plot", style: "position: relative; width: 100%" }, parent);
  const legend = node("div", { class: "lab-legend", style: "font: 12px/1.6 sans-serif; padding: 0 12px" }, box);
  const wide = node("div", { class: "lab-sideways" }, box);
  const svg = node("svg", { style: "display: block; font: 11px sans-serif; overflow: visible" }, wide);
  const readout = node("div", { class: "lab-readout", "aria-live": "polite", style: "font: 12px/1.4 sans-serif; min-height: 1.4em; padding: 0 12px" }, box);
  let figure = null, width = 0, spots = [], cells = [];

  function draw(next) {
    figure = next;
    width = Math.max(NARROW, box.clientWidth || 640);
    spots = [];
    cells = [];
    const { data, layout } = figure, template = layout.template?.layout ?? {}, margin = { l: 62, r: 14, t: 30, b: 48, ...layout.margin };
    const seen = data.filter(({ visible }) => visible !== false && visible !== "legendonly"), named = seen.filter(({ name, showlegend }) => name && showlegend !== false);
    const told = layout.showlegend !== false && (named.length > 1 || named.some(({ showlegend }) => showlegend)) ? named : [];
    // the legend stands above the plot here, so that its room in the margin is free
    const head = Math.max(18, ...(layout.annotations ?? []).filter((note) => note.yref === "paper" && note.y >= 0.99 && note.yanchor !== "top").map((note) => 16 * lines(note.text).length + (note.yshift ?? 0) + 4));
    const top = layout.title?.text ? margin.t : Math.min(margin.t, head), height = (layout.height ?? 450) - (margin.t - top);
    const inner = { x: margin.l, y: top, wide: width - margin.l - margin.r, high: height - top - margin.b };
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    const paperX = (share) => inner.x + share * inner.wide, paperY = (share) => inner.y + (1 - share) * inner.high;
    const axes = {}, parts = [], over = [];
    const axis = (id) => {
      if (axes[id]) return axes[id];
      const side = id[0], key = `${side}axis${id.slice(1)}`, own = merged(template[`${side}axis`], layout[key]);
      const [from, to] = unpacked(own.domain ?? [0, 1]), values = seen.filter((trace) => (trace[`${side}axis`] ?? side) === id).flatMap((trace) => reach(trace, side));
      const pixels = side === "x" ? [paperX(from), paperX(to)] : [paperY(from), paperY(to)];
      axes[id] = { own, pixels, ...axisOf(own, values, pixels, Math.abs(pixels[1] - pixels[0]) / (side === "x" ? 70 : 32),
        seen.some((trace) => (trace[`${side}axis`] ?? side) === id && (trace.type === "histogram" ? side === "y" : trace.type === "bar" && (trace.orientation === "h") === (side === "x")))) };
      return axes[id];
    };
    const panels = new Map(seen.map((trace) => [`${trace.xaxis ?? "x"} ${trace.yaxis ?? "y"}`, [trace.xaxis ?? "x", trace.yaxis ?? "y"]]));
    if (!panels.size) panels.set("x y", ["x", "y"]);
    const id = `lab-plot-${Math.random().toString(36).slice(2)}`;
    [...panels.values()].forEach((pair, number) => {
      const [x, y] = pair.map(axis), [[left, right], [bottom, ceiling]] = [x.pixels, y.pixels];
      parts.push(`<clipPath id="${id}-${number}"><rect x="${left - 1}" y="${ceiling - 1}" width="${right - left + 2}" height="${bottom - ceiling + 2}"/></clipPath>`, frame(x, y, inner));
      const own = seen.filter((trace) => (trace.xaxis ?? "x") === pair[0] && (trace.yaxis ?? "y") === pair[1]);
      const drawn = own.map((trace) => shape(trace, seen.indexOf(trace), x, y, figure, over)).join("");
      parts.push(`<g clip-path="url(#${id}-${number})">${drawn}</g>`);
    });
    const spot = (ref, value, side) => {
      if (!ref || ref === "paper") return side === "x" ? paperX(value) : paperY(value);
      const [name, domain] = ref.split(" "), one = axis(name);
      return domain ? one.pixels[0] + value * (one.pixels[1] - one.pixels[0]) : one.at(value);
    };
    for (const one of layout.shapes ?? []) {
      const [x0, x1] = [one.x0, one.x1].map((value) => spot(one.xref ?? "x", value, "x")), [y0, y1] = [one.y0, one.y1].map((value) => spot(one.yref ?? "y", value, "y"));
      const look = `stroke="${ink(one.line?.color, 7)}" stroke-width="${one.line?.width ?? 1}"${one.line?.dash ? ' stroke-dasharray="4 4"' : ""} opacity="${one.opacity ?? 1}"`;
      parts.push(one.type === "line" ? `<path d="M${x0},${y0}L${x1},${y1}" ${look}/>`
        : `<rect x="${Math.min(x0, x1)}" y="${Math.min(y0, y1)}" width="${Math.abs(x1 - x0)}" height="${Math.abs(y1 - y0)}" fill="${ink(one.fillcolor ?? "none")}" ${look}/>`);
    }
    parts.push(...over);
    for (const note of layout.annotations ?? []) if (note.text) parts.push(words(note, spot(note.xref, note.x, "x"), spot(note.yref, note.y, "y")));
    if (layout.title?.text) parts.push(words({ text: layout.title.text, xanchor: "left", yanchor: "top", font: layout.title.font }, 12, 4));
    svg.innerHTML = parts.join("");
    legend.innerHTML = told.map((trace) => `<span style="display: inline-block; margin-right: 1.2em; overflow-wrap: anywhere"><span style="color: ${
      ink(trace.line?.color ?? (typeof trace.marker?.color === "string" ? trace.marker.color : undefined), seen.indexOf(trace))}; font-weight: bold">${
      (trace.mode ?? "lines").includes("lines") && trace.type !== "bar" ? (trace.line?.dash ? "┅" : "━") : trace.type === "bar" ? "■" : "●"}</span> ${escaped(lines(trace.name).join(" "))}</span>`).join("");
  }

  function frame(x, y, inner) {
    const [[left, right], [bottom, top]] = [x.pixels, y.pixels], parts = [], grid = [];
    for (const [at, text] of x.ticks) {
      if (x.own.showgrid !== false) grid.push(`M${at},${top}V${bottom}`);
      if (x.own.showticklabels !== false) parts.push(`<text text-anchor="middle" fill="currentColor">${
        lines(text).map((line, i) => `<tspan x="${at}" y="${bottom + 15 + 13 * i}">${escaped(line)}</tspan>`).join("")}</text>`);
    }
    for (const [at, text] of y.ticks) {
      if (y.own.showgrid !== false) grid.push(`M${left},${at}H${right}`);
      if (y.own.showticklabels !== false) parts.push(`<text x="${left - 6}" y="${at + 4}" text-anchor="end" fill="currentColor">${escaped(lines(text).join(" "))}</text>`);
    }
    parts.push(`<path d="${grid.join("")}" stroke="currentColor" stroke-opacity=".13" fill="none"/>`,
      `<path d="M${left},${top}V${bottom}H${right}" stroke="currentColor" stroke-opacity=".6" fill="none"/>`);
    if (x.own.title?.text) parts.push(`<text x="${(left + right) / 2}" y="${bottom + (x.own.showticklabels === false ? 20 : 21 + 13 * Math.max(1, ...x.ticks.map(([, text]) => lines(text).length)))}" text-anchor="middle" font-size="12" fill="currentColor">${escaped(lines(x.own.title.text).join(" "))}</text>`);
    if (y.own.title?.text) parts.push(`<text transform="translate(${Math.max(12, left - inner.x + 14)} ${(top + bottom) / 2}) rotate(-90)" text-anchor="middle" font-size="12" fill="currentColor">${
      lines(y.own.title.text).map((line, i) => `<tspan x="0" dy="${i ? 14 : 0}">${escaped(line)}</tspan>`).join("")}</text>`);
    return parts.join("");
  }

  function words({ text, xanchor, yanchor, xshift = 0, yshift = 0, font, textangle }, x, y) {
    const rows = lines(text), down = { top: 12, bottom: -4 - 14 * (rows.length - 1) }[yanchor] ?? 4 - 7 * (rows.length - 1);
    const weight = /^<b>/.test(text) ? ' font-weight="bold"' : "", turn = textangle ? ` transform="rotate(${textangle} ${x + xshift} ${y - yshift})"` : "";
    return `<text font-size="${font?.size ?? 12}" fill="${ink(font?.color ?? "#222222")}" text-anchor="${{ left: "start", right: "end" }[xanchor] ?? "middle"}"${weight}${turn}>${
      rows.map((row, i) => `<tspan x="${x + xshift}" y="${y - yshift + down + 14 * i}">${escaped(row)}</tspan>`).join("")}</text>`;
  }

  function shape(trace, number, x, y, { data, layout }, over) {
    const colour = ink(trace.line?.color ?? (typeof trace.marker?.color === "string" ? trace.marker.color : undefined), number), name = lines(trace.name).join(" ");
    const bar = (...given) => rectangle(number, ...given);
    if (trace.type === "heatmap" || trace.type === "contour") return shades(trace, x, y, coloursOf(trace, data, layout), over);
    if (trace.type === "histogram") {
      const { bins, width: wide } = binned(trace);
      return bins.filter(([, count]) => count).map(([middle, count]) => bar(x.at(middle - wide / 2), x.at(middle + wide / 2), y.at(0), y.at(count), colour, `${short(middle)}: ${count}`)).join("");
    }
    const xs = unpacked(trace.x), ys = unpacked(trace.y), across = xs.length ? xs : ys.map((_, i) => i);
    if (trace.type === "bar") {
      const sideways = trace.orientation === "h", [along, up] = sideways ? [y, x] : [x, y], base = up.at(Math.max(0, Math.min(up.low, up.high)));
      const places = (sideways ? ys : across).map((value) => along.at(value)), gaps = places.slice(1).map((at, i) => Math.abs(at - places[i])).filter((gap) => gap > 0);
      const half = ((gaps.length ? Math.min(...gaps) : Math.abs(along.pixels[1] - along.pixels[0])) * (1 - (layout.bargap ?? 0.2))) / 2;
      const drawn = places.map((at, i) => {
        const value = (sideways ? across : ys)[i], end = up.at(value);
        if (!Number.isFinite(end)) return "";
        const said = `${name ? `${name}, ` : ""}${sideways ? ys[i] : typeof across[i] === "number" ? short(across[i]) : across[i]}: ${short(value)}`;
        return sideways ? bar(base, end, at - half, at + half, ink(unpackedColour(trace.marker?.color, i) ?? colour), said) : bar(at - half, at + half, base, end, ink(unpackedColour(trace.marker?.color, i) ?? colour), said);
      });
      return drawn.join("") + whiskers(trace, x, y, across, ys, "currentColor");
    }
    const points = across.map((value, i) => [value == null ? NaN : x.at(value), ys[i] == null ? NaN : y.at(ys[i])]), mode = trace.mode ?? "lines", parts = [];
    const hold = (i) => spots.push({ group: number, at: points[i], said: `${name ? `${name}: ` : ""}${typeof across[i] === "number" ? short(across[i]) : across[i]}, ${typeof ys[i] === "number" ? short(ys[i]) : ys[i]}` });
    if (trace.fill === "toself") parts.push(`<path d="${path(points)}Z" fill="${ink(trace.fillcolor, number)}"/>`);
    if (mode.includes("lines")) {
      const dash = { dash: "6 4", dot: "2 3", dashdot: "6 3 2 3" }[trace.line?.dash];
      parts.push(`<path class="lab-line" data-name="${escaped(name)}" d="${path(points, trace.line?.shape)}" fill="none" stroke="${colour}" stroke-width="${trace.line?.width ?? 2}" stroke-linejoin="round"${dash ? ` stroke-dasharray="${dash}"` : ""} opacity="${trace.opacity ?? 1}"/>`);
      if (trace.hoverinfo !== "skip") points.forEach((_, i) => hold(i));
    }
    parts.push(whiskers(trace, x, y, across, ys, ink(trace.error_y?.color ?? trace.error_x?.color ?? colour)));
    if (mode.includes("markers")) points.forEach(([a, b], i) => {
      if (!Number.isFinite(a + b)) return;
      parts.push(mark(a, b, unpackedColour(trace.marker?.symbol, i) ?? "circle", unpackedColour(trace.marker?.size, i) ?? 6, ink(markerColour(trace, i, layout) ?? colour, number), trace.marker?.line));
      if (!mode.includes("lines")) hold(i);
    });
    if (mode.includes("text")) points.forEach(([a, b], i) => {
      const text = Array.isArray(trace.text) ? trace.text[i] : trace.text;
      if (text && Number.isFinite(a + b)) parts.push(words({ text, font: { ...trace.textfont, color: unpackedColour(trace.textfont?.color, i) }, ...besides(trace.textposition) }, a, b));
    });
    return parts.join("");
  }

  function rectangle(group, x0, x1, y0, y1, colour, said) {
    spots.push({ group, box: [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)], said });
    return `<rect class="lab-bar" x="${Math.min(x0, x1) + 0.5}" y="${Math.min(y0, y1)}" width="${Math.max(0.5, Math.abs(x1 - x0) - 1)}" height="${Math.abs(y1 - y0)}" fill="${colour}"/>`;
  }

  function shades(trace, x, y, { low, high, scale, title, shown }, over) {
    const z = unpacked(trace.z).map((row) => Array.from(row, (value) => (value == null ? NaN : value))), xs = unpacked(trace.x), ys = unpacked(trace.y);
    const across = xs.length ? xs : z[0].map((_, i) => i), up = ys.length ? ys : z.map((_, i) => i);
    const edges = (values, axis) => values.map((value, i) => {
      const at = axis.at(value), [before, after] = [values[i - 1], values[i + 1]].map((one) => (one === undefined ? null : axis.at(one)));
      const gap = after ?? before ?? (axis.pixels[0] === at ? axis.pixels[1] : 2 * axis.pixels[0] - at);
      return [before === null ? at - (gap - at) / 2 : (at + before) / 2, after === null ? at + (at - (before ?? 2 * at - gap)) / 2 : (at + after) / 2];
    });
    const [columns, rows] = [edges(across, x), edges(up, y)], parts = [];
    z.forEach((row, j) => row.forEach((value, i) => {
      if (!Number.isFinite(value)) return;
      const [[x0, x1], [y0, y1]] = [columns[i], rows[j]];
      cells.push({ group: `${x.pixels} ${y0}`, box: [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)], said: `${trace.name ? `${lines(trace.name).join(" ")}, ` : ""}${[across[i], up[j]].map((one) => (typeof one === "number" ? short(one) : one)).join(", ")}: ${short(value)}` });
    }));
    // one image: thousands of rectangles would be slow
    const canvas = node("canvas"), pen = canvas.getContext("2d");
    [canvas.width, canvas.height] = [across.length, up.length];
    const image = pen.createImageData(canvas.width, canvas.height), [flipX, flipY] = [columns.at(-1)[0] < columns[0][0], rows.at(-1)[0] > rows[0][0]];
    z.forEach((row, j) => row.forEach((value, i) => {
      if (Number.isFinite(value)) image.data.set([...scale((value - low) / (high - low || 1)), 255], 4 * ((flipY ? j : up.length - 1 - j) * across.length + (flipX ? across.length - 1 - i : i)));
    }));
    pen.putImageData(image, 0, 0);
    const [left, right, top, bottom] = [Math.min(...columns.flat()), Math.max(...columns.flat()), Math.min(...rows.flat()), Math.max(...rows.flat())];
    parts.push(`<image href="${canvas.toDataURL()}" x="${left}" y="${top}" width="${right - left}" height="${bottom - top}" preserveAspectRatio="none"${trace.type === "heatmap" ? ' style="image-rendering: pixelated"' : ""}/>`);
    if (trace.type === "contour") for (const [level] of ticks(low, high, trace.ncontours ?? 12)) {
      const d = contour(across, up, z, level).map(([a, b, c, e]) => `M${x.at(a).toFixed(1)},${y.at(b).toFixed(1)}L${x.at(c).toFixed(1)},${y.at(e).toFixed(1)}`);
      parts.push(`<path d="${d.join("")}" stroke="#fff" stroke-opacity=".55" stroke-width=".6" fill="none"/>`);
    }
    if (shown) { // what the shades mean, below the panel
      const [from, to] = x.pixels, at = y.pixels[0] + 44, wide = (to - from) / STEPS;
      for (let i = 0; i < STEPS; i++) over.push(`<rect x="${from + i * wide}" y="${at}" width="${wide + 0.5}" height="8" fill="rgb(${scale(i / (STEPS - 1)).map(Math.round).join(",")})"/>`);
      for (const [value, text] of ticks(low, high, (to - from) / 80)) over.push(`<text x="${from + ((value - low) / (high - low || 1)) * (to - from)}" y="${at + 20}" text-anchor="middle" fill="currentColor">${text}</text>`);
      if (title) over.push(`<text x="${(from + to) / 2}" y="${at + 36}" text-anchor="middle" fill="currentColor">${escaped(title)}</text>`);
    }
    return parts.join("");
  }

  const places = () => [...spots, ...cells.toSorted((a, b) => a.box[1] - b.box[1])].map(({ group, at, box, said }) => {
    const [x, y] = at ?? [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
    return { group, x, y, said };
  }).filter(({ x, y }) => Number.isFinite(x + y));
  walks(svg, label, places, (place) => {
    svg.querySelector(".lab-ring")?.remove();
    if (place) node("circle", { class: "lab-ring", cx: place.x, cy: place.y, r: 7, fill: "none", stroke: "#D55E00", "stroke-width": 2 }, svg);
    readout.setAttribute("aria-live", "polite");
    readout.textContent = place?.said ?? "";
  });
  svg.addEventListener("pointermove", (event) => {
    readout.setAttribute("aria-live", "off"); // a mouse passes many
    const bounds = svg.getBoundingClientRect(), [x, y] = [event.clientX - bounds.x, event.clientY - bounds.y];
    const inside = ({ box: [left, top, right, bottom] }) => x >= left && x <= right && y >= top && y <= bottom;
    const away = ({ at, box }) => (box ? (inside({ box }) ? 0 : Infinity) : Math.hypot(at[0] - x, at[1] - y));
    const best = spots.reduce((one, other) => (away(other) < away(one) ? other : one), { at: [Infinity, Infinity] });
    readout.textContent = (away(best) < NEAR ? best : cells.find(inside))?.said ?? "";
  });
  svg.addEventListener("pointerleave", () => { readout.textContent = ""; });
  const observer = new ResizeObserver(() => { if (figure && Math.max(NARROW, box.clientWidth) !== width) draw(figure); });
  observer.observe(box);
  return { box, svg, draw, end: () => observer.disconnect() };
}

// Where the text of a point stands: above it, below it, or on it.
const besides = (position = "") => (position.startsWith("top") ? { yanchor: "bottom", yshift: 4 } : position.startsWith("bottom") ? { yanchor: "top", yshift: -4 } : {});

// The scale of a trace's shades: its own, or the one that it shares with others, whose bar is drawn once.
export function coloursOf(trace, data, layout) {
  const shared = trace.coloraxis && layout[trace.coloraxis], those = shared ? data.filter(({ coloraxis, visible }) => coloraxis === trace.coloraxis && visible !== false) : [trace];
  const limits = ends(those.flatMap(({ z }) => unpacked(z).map((row) => Array.from(row, (value) => value ?? NaN))));
  const [low, high] = shared ? [shared.cmin ?? limits[0], shared.cmax ?? limits[1]] : [trace.zmin ?? limits[0], trace.zmax ?? limits[1]];
  const shown = (shared || trace).showscale !== false && those[0] === trace;
  return { low, high, scale: scaleOf((shared || trace).colorscale), title: lines(shared?.colorbar?.title?.text).join(" "), shown };
}

const unpackedColour = (given, i) => (given && typeof given === "object" ? unpacked(given)[i] : given);
function markerColour(trace, i, layout) {
  const colour = unpackedColour(trace.marker?.color, i);
  if (typeof colour !== "number") return colour;
  const all = unpacked(trace.marker.color), of = layout[trace.marker.coloraxis] ?? trace.marker;
  const [low, high] = [of.cmin ?? Math.min(...all), of.cmax ?? Math.max(...all)];
  return `rgb(${scaleOf(of.colorscale)((colour - low) / (high - low || 1)).map(Math.round).join(",")})`;
}

const binned = (trace) => histogram(unpacked(trace.x), trace.nbinsx ?? 40);

// The values that a trace puts on its x or y axis.
function reach(trace, side) {
  if (trace.type === "histogram") {
    const { bins, width } = binned(trace);
    return side === "x" ? bins.flatMap(([middle]) => [middle - width / 2, middle + width / 2]) : [0, ...bins.map(([, count]) => count)];
  }
  const own = unpacked(trace[side]), spread = trace[`error_${side}`], more = unpacked(spread?.array), less = spread?.arrayminus ? unpacked(spread.arrayminus) : more;
  if (trace.type === "heatmap" || trace.type === "contour") {
    const z = unpacked(trace.z), values = own.length ? own : (side === "x" ? z[0] ?? [] : z).map((_, i) => i);
    return typeof values[0] === "number" && trace.type === "heatmap" && values.length > 1 ? [values[0] - (values[1] - values[0]) / 2, ...values, values.at(-1) + (values[1] - values[0]) / 2] : values;
  }
  const values = own.length ? own : side === "x" ? unpacked(trace.y).map((_, i) => i) : own;
  const bars = trace.type === "bar" && (trace.orientation === "h") === (side === "x") ? [0] : [];
  return [...values, ...bars, ...values.flatMap((value, i) => (typeof value === "number" && more.length ? [value + (more[i] ?? 0), value - (less[i] ?? 0)] : []))];
}

// A share of a scale as red, green and blue; scale: Plotly's, [[place, colour]].
function scaleOf(scale) {
  const stops = (scale ?? [[0, "#000000"], [1, "#ffffff"]]).map(([place, colour]) => [place, hex(colour)]);
  return (share) => {
    const at = Math.min(1, Math.max(0, share)), i = Math.max(0, stops.findLastIndex(([place]) => place <= at)), [from, colour] = stops[i], [to, next] = stops[i + 1] ?? stops[i];
    return shade([colour, next], to > from ? (at - from) / (to - from) : 0);
  };
}
const hex = (colour) => (colour[0] === "#" ? colour : `#${colour.match(/[\d.]+/g).slice(0, 3).map((one) => Math.round(one).toString(16).padStart(2, "0")).join("")}`);

function path(points, shape) {
  const found = [];
  points.forEach(([x, y], i) => {
    if (!Number.isFinite(x + y)) return;
    const joined = i && Number.isFinite(points[i - 1][0] + points[i - 1][1]);
    found.push(!joined ? `M${x.toFixed(2)},${y.toFixed(2)}` : shape === "hv" ? `H${x.toFixed(2)}V${y.toFixed(2)}` : `L${x.toFixed(2)},${y.toFixed(2)}`);
  });
  return found.join("");
}

function mark(x, y, symbol, size, colour, edge) {
  const r = size / 2, [kind] = symbol.split("-open"), open = symbol.includes("open"), look = open ? `fill="none" stroke="${colour}" stroke-width="1.5"` : `fill="${colour}"${edge?.width && typeof edge.color === "string" ? ` stroke="${ink(edge.color)}" stroke-width="${edge.width}"` : ""}`;
  const d = { diamond: `M${x - r},${y}L${x},${y - r}L${x + r},${y}L${x},${y + r}Z`, square: `M${x - r},${y - r}H${x + r}V${y + r}H${x - r}Z`,
    "triangle-up": `M${x - r},${y + r}L${x},${y - r}L${x + r},${y + r}Z`, "line-ew": `M${x - r},${y}H${x + r}`, "line-ns": `M${x},${y - r}V${y + r}`,
    cross: `M${x - r},${y}H${x + r}M${x},${y - r}V${y + r}`, x: `M${x - r},${y - r}L${x + r},${y + r}M${x - r},${y + r}L${x + r},${y - r}` }[kind];
  if (!d) return `<circle class="lab-dot" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${r}" ${look}/>`;
  return `<path class="lab-dot" d="${d}" ${/^(line|cross|x$)/.test(kind) ? `fill="none" stroke="${colour}" stroke-width="2"` : look}/>`;
}

function whiskers(trace, x, y, xs, ys, colour) {
  const parts = [];
  for (const [spread, sideways] of [[trace.error_x, true], [trace.error_y, false]]) {
    const more = unpacked(spread?.array), less = spread?.arrayminus ? unpacked(spread.arrayminus) : more;
    more.forEach((up, i) => {
      if (!Number.isFinite(up) || xs[i] == null || ys[i] == null) return;
      const [a, b] = sideways ? [x.at(xs[i] - less[i]), x.at(xs[i] + up)] : [y.at(ys[i] - less[i]), y.at(ys[i] + up)], cap = (spread.width ?? 6) / 2;
      const at = sideways ? y.at(ys[i]) : x.at(xs[i]);
      parts.push(sideways ? `M${a},${at}H${b}M${a},${at - cap}v${2 * cap}M${b},${at - cap}v${2 * cap}` : `M${at},${a}V${b}M${at - cap},${a}h${2 * cap}M${at - cap},${b}h${2 * cap}`);
    });
  }
  return parts.length ? `<path d="${parts.join("")}" stroke="${colour}" stroke-width="1.3" fill="none"/>` : "";
}
