// An SVG in which a curve is pulled or drawn. Python holds the numbers; this side draws them and sends them back.

import { node, ticks } from "./chart.js";
import { drawing } from "./frames.js";
import { chebyshev, polynomial, smoothed } from "./spline.js";

const HEIGHT = 370, LEFT = 58, RIGHT = 12, TOP = 30, BOTTOM = 46; // pixels
const ROOM = 0.22; // free part of the curve's height, above and below, to pull into
const NEAR = 6; // pixels between two knots from which on each has its dot
const FAR = 4; // brush widths beyond which a pull is not felt

const LATE = 500; // ms after a slider was moved within which the kernel's answers are to earlier moves

// What each slider makes of a function, given its number; sliders stand at 0 where they are off.
const SLIDERS = {
  smooth: (f, number, model) => smoothed(f, model.get("bandwidths")[number - 1]),
  polynomial: (f, degree) => polynomial(f, degree),
  chebyshev: (f, degree) => chebyshev(f, degree),
};

let made = 0; // numbers the clip paths: several editors may be on one page

function doubles(view) {
  // sliced: a Float64Array must begin at a multiple of 8
  const bytes = new Uint8Array(view.buffer ?? view, view.byteOffset ?? 0, view.byteLength);
  return new Float64Array(bytes.slice().buffer);
}

function render({ model, el }) {
  const colours = model.get("colours");
  let values = doubles(model.get("value")), before = values, height = [-1, 1], width = 600;
  let stroke = null; // what the hand is doing: where it began, and the values then
  let chosen = Math.floor(values.length / 2), hovering = false;

  const svg = node("svg", {
    class: "lab-editor", width: "100%", height: HEIGHT, tabindex: 0, role: "slider",
    "aria-label": "value of the function at the chosen knot: left and right choose, up and down change",
    "data-lm-suppress-shortcuts": "true", // JupyterLab would move between cells
    style: `display: block; touch-action: none; user-select: none; font: 11px ${colours.font}`,
  });
  const clip = `lab-editor-${++made}`;
  const frame = node("rect", { x: LEFT, y: TOP }, node("clipPath", { id: clip }, svg));
  const grid = node("g", {}, svg);
  const inside = node("g", { "clip-path": `url(#${clip})` }, svg);
  const density = node("path", { fill: colours.inputs, "fill-opacity": 0.3 }, inside);
  const reach = node("path", { fill: colours.curve, "fill-opacity": 0.12 }, inside);
  const line = { fill: "none", "stroke-linejoin": "round" };
  const old = node("path", { ...line, class: "lab-before", stroke: colours.before, "stroke-width": 1.5 }, inside);
  const ends = node("path", { ...line, stroke: colours.curve, "stroke-width": 2.5, "stroke-dasharray": "2 4" }, inside);
  const curve = node("path", { ...line, class: "lab-curve", stroke: colours.curve, "stroke-width": 2.5 }, inside);
  const dots = node("path", { fill: colours.curve }, inside);
  const handle = node("circle", { r: 6, fill: "none", stroke: colours.curve, "stroke-width": 2.5 }, inside);
  const legend = node("text", { x: LEFT, y: 16, fill: colours.ink }, svg);
  const named = (text, colour) => {
    node("tspan", { fill: colour, "font-weight": "bold" }, legend).textContent = "━ ";
    node("tspan", {}, legend).textContent = text + "\u2003";
  };
  named("edited", colours.curve);
  named("before", colours.before);
  named("inputs in the network", colours.faint);
  const readout = node("text", { y: 16, "text-anchor": "end", fill: colours.ink, class: "lab-readout" }, svg);
  el.append(svg);

  const low = () => model.get("low"), high = () => model.get("high");
  const spacing = () => (high() - low()) / (values.length - 1);
  const at = i => low() + i * spacing();
  const across = x => {
    const [first, last] = model.get("window");
    return LEFT + ((x - first) / (last - first)) * (width - LEFT - RIGHT);
  };
  const back = pixel => {
    const [first, last] = model.get("window");
    return first + ((pixel - LEFT) / (width - LEFT - RIGHT)) * (last - first);
  };
  const down = y => TOP + ((height[1] - y) / (height[1] - height[0])) * (HEIGHT - TOP - BOTTOM);
  const up = pixel => height[1] - ((pixel - TOP) / (HEIGHT - TOP - BOTTOM)) * (height[1] - height[0]);
  const nearest = x => Math.min(values.length - 1, Math.max(0, Math.round((x - low()) / spacing())));

  function seen() {
    // the knots inside the window, and one more on either side
    const [first, last] = model.get("window");
    return [Math.max(0, nearest(first) - 1), Math.min(values.length - 1, nearest(last) + 1)];
  }

  function fit() {
    const [first, last] = seen();
    let least = Infinity, most = -Infinity;
    for (const numbers of [values, before])
      for (let i = first; i <= last; i++) {
        least = Math.min(least, numbers[i]);
        most = Math.max(most, numbers[i]);
      }
    const room = ROOM * (most - least) || 0.5;
    height = [least - room, most + room];
  }

  function course(numbers) {
    const [first, last] = seen(), points = [];
    for (let i = first; i <= last; i++) points.push(`${across(at(i)).toFixed(2)},${down(numbers[i]).toFixed(2)}`);
    return "M" + points.join("L");
  }

  function weight(distance) {
    const brush = model.get("brush");
    return brush > 0 ? Math.exp(-0.5 * (distance / brush) ** 2) : Number(Math.abs(distance) < spacing() / 2);
  }

  function draw() {
    const [first, last] = model.get("window"), bottom = HEIGHT - BOTTOM, right = width - RIGHT;
    frame.setAttribute("width", Math.max(0, right - LEFT));
    frame.setAttribute("height", bottom - TOP);

    grid.replaceChildren();
    const text = (words, attributes) => {
      node("text", { fill: colours.ink, "text-anchor": "middle", ...attributes }, grid).textContent = words;
    };
    for (const [x, label] of ticks(first, last, Math.max(2, (right - LEFT) / 70))) {
      node("path", { d: `M${across(x)},${TOP}V${bottom}`, stroke: colours.ink, "stroke-opacity": 0.13 }, grid);
      text(label, { x: across(x), y: bottom + 16 });
    }
    for (const [y, label] of ticks(height[0], height[1], 6)) {
      node("path", { d: `M${LEFT},${down(y)}H${right}`, stroke: colours.ink, "stroke-opacity": 0.13 }, grid);
      text(label, { x: LEFT - 7, y: down(y) + 4, "text-anchor": "end" });
    }
    node("path", { d: `M${LEFT},${TOP}V${bottom}H${right}`, stroke: colours.before, fill: "none" }, grid);
    text("x, the input of the non-linearity", { x: (LEFT + right) / 2, y: HEIGHT - 10, "font-size": 12 });
    text("φ(x)", { transform: `translate(14 ${(TOP + bottom) / 2}) rotate(-90)`, "font-size": 12 });

    const shares = doubles(model.get("density")), most = shares.reduce((a, b) => Math.max(a, b), 0);
    const bars = [];
    if (most > 0)
      for (let [i, end] = seen(); i <= end; i++) {
        const rise = (shares[i] / most) * 0.45 * (bottom - TOP);
        bars.push(`M${across(at(i - 0.5))},${bottom}V${bottom - rise}H${across(at(i + 0.5))}V${bottom}Z`);
      }
    density.setAttribute("d", bars.join(""));

    old.setAttribute("d", course(before));
    curve.setAttribute("d", course(values));
    const [left, far] = [values[0], values[values.length - 1]].map(down);
    ends.setAttribute("d", `M${LEFT},${left}H${across(low())}M${across(high())},${far}H${right}`);
    ends.setAttribute("visibility", first < low() || last > high() ? "visible" : "hidden");
    const spots = [];
    if (across(at(1)) - across(at(0)) >= NEAR)
      for (let [i, end] = seen(); i <= end; i++)
        spots.push(`M${across(at(i)) - 2.2},${down(values[i])}a2.2,2.2 0 1,0 4.4,0a2.2,2.2 0 1,0 -4.4,0`);
    dots.setAttribute("d", spots.join(""));

    const shown = hovering || stroke || document.activeElement === svg, y = down(values[chosen]);
    handle.setAttribute("visibility", shown ? "visible" : "hidden");
    handle.setAttribute("cx", across(at(chosen)));
    handle.setAttribute("cy", y);
    const pulls = shown && model.get("tool") === "pull" && model.get("brush") > 0;
    reach.setAttribute("visibility", pulls ? "visible" : "hidden");
    if (pulls) {
      const bell = [], side = FAR * model.get("brush");
      for (let k = -24; k <= 24; k++) {
        const away = (k / 24) * side;
        bell.push(`${across(at(chosen) + away)},${bottom - weight(away) * 0.3 * (bottom - TOP)}`);
      }
      reach.setAttribute("d", "M" + bell.join("L") + "Z");
    }
    const words = `φ(${at(chosen).toFixed(2)}) = ${values[chosen].toPrecision(3)}`.replaceAll("-", "−");
    readout.textContent = shown && width > 420 ? words : "";
    readout.setAttribute("x", right);
    svg.style.cursor = model.get("tool") === "draw" ? "crosshair" : stroke ? "grabbing" : "grab";
    svg.setAttribute("aria-valuetext", words);
    svg.setAttribute("aria-valuenow", values[chosen]);
    svg.setAttribute("aria-valuemin", height[0]);
    svg.setAttribute("aria-valuemax", height[1]);
  }

  const redraw = drawing(draw);

  function send() {
    model.set("value", new DataView(values.slice().buffer));
    model.save_changes(); // one message is under way at a time, the newest values wait for it
    redraw();
  }

  function begin(knot, y) {
    stroke = { knot, y, values: values.slice() };
    chosen = knot;
  }

  function pull(y) {
    for (let i = 0; i < values.length; i++)
      values[i] = stroke.values[i] + (y - stroke.y) * weight((i - stroke.knot) * spacing());
    send();
  }

  function paint(knot, y) {
    // every knot between the last place of the hand and this one, on the straight line between them
    const step = Math.sign(knot - stroke.knot) || 1, length = Math.abs(knot - stroke.knot);
    for (let k = 0; k <= length; k++)
      values[stroke.knot + k * step] = length ? stroke.y + (k / length) * (y - stroke.y) : y;
    stroke.knot = chosen = knot;
    stroke.y = y;
    send();
  }

  function end() {
    if (!stroke) return;
    stroke = null;
    fit();
    model.set("strokes", model.get("strokes") + 1);
    model.save_changes();
    redraw();
  }

  function place(event) {
    const box = svg.getBoundingClientRect();
    return [nearest(back(event.clientX - box.x)), up(event.clientY - box.y)];
  }

  svg.addEventListener("pointerdown", event => {
    if (event.button !== 0 || stroke) return;
    svg.focus({ preventScroll: true });
    svg.setPointerCapture(event.pointerId);
    const [knot, y] = place(event);
    begin(knot, y);
    if (model.get("tool") === "draw") paint(knot, y);
    redraw();
  });
  svg.addEventListener("pointermove", event => {
    hovering = true;
    if (stroke && !stroke.key) {
      if (model.get("tool") === "draw") for (const one of event.getCoalescedEvents?.() ?? [event]) paint(...place(one));
      else pull(place(event)[1]);
    } else if (!stroke) [chosen] = place(event);
    redraw();
  });
  svg.addEventListener("pointerleave", () => { hovering = false; redraw(); });
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);

  svg.addEventListener("keydown", event => {
    const command = event.ctrlKey || event.metaKey, key = event.key.toLowerCase(), far = event.shiftKey ? 10 : 1;
    if (command && (key === "z" || key === "y")) model.send({ kind: key === "y" || event.shiftKey ? "redo" : "undo" });
    else if (key === "escape" && stroke) {
      values = stroke.values;
      send();
      end();
    } else if (key === "arrowleft" || key === "arrowright") {
      end();
      chosen = Math.min(values.length - 1, Math.max(0, chosen + (key === "arrowleft" ? -far : far)));
      redraw();
    } else if (key === "arrowup" || key === "arrowdown") {
      if (!stroke) begin(chosen, 0);
      stroke.key = true; // a key held down is one stroke
      stroke.moved = (stroke.moved ?? 0) + (key === "arrowup" ? far : -far) * 0.01 * (height[1] - height[0]);
      pull(stroke.moved);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  svg.addEventListener("keyup", event => { if (stroke?.key && event.key.startsWith("Arrow")) end(); });
  svg.addEventListener("focus", redraw);
  svg.addEventListener("blur", () => { if (stroke?.key) end(); redraw(); });

  // A slider shows here at once what the kernel will answer: the same arithmetic, on the function from before it moved.
  let sliding = { name: null, base: null, until: 0, timer: 0 };
  function slide(name) {
    const number = model.get(name);
    if (!number || stroke) { // off, or put back to 0 because something else was done: only the kernel knows which
      sliding = { ...sliding, name: null, until: 0 };
      return;
    }
    if (sliding.name !== name) sliding = { name, base: values.slice(), until: 0, timer: sliding.timer };
    try {
      values = SLIDERS[name]({ low: low(), high: high(), values: sliding.base }, number, model).values;
    } catch {
      return; // too few knots for this degree: the kernel says so in words
    }
    sliding.until = performance.now() + LATE;
    fit();
    redraw();
  }
  const slides = Object.keys(SLIDERS).map((name) => [`change:${name}`, () => slide(name)]);
  slides.forEach(([change, act]) => model.on(change, act));

  function follow() {
    if (stroke) return; // these are our own numbers on their way back
    const early = sliding.until - performance.now();
    if (early > 0) { // an answer to an earlier move: the last one stays
      clearTimeout(sliding.timer);
      sliding.timer = setTimeout(follow, early);
      return;
    }
    values = doubles(model.get("value"));
    before = doubles(model.get("before"));
    chosen = Math.min(chosen, values.length - 1);
    fit();
    redraw();
  }
  const looks = "change:window change:brush change:tool change:density";
  model.on("change:value change:before", follow);
  model.on(looks, look);
  function look() {
    if (!stroke) fit();
    redraw();
  }
  const observer = new ResizeObserver(() => {
    if (el.clientWidth) width = el.clientWidth;
    redraw();
  });
  observer.observe(el);
  follow();
  return () => {
    observer.disconnect();
    clearTimeout(sliding.timer);
    slides.forEach(([change, act]) => model.off(change, act));
    model.off("change:value change:before", follow);
    model.off(looks, look);
  };
}

export default { render };
