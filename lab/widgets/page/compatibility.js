// A matrix of differences, and the curves of the cell that is chosen.
// parts: [{name, cells: rows of {value, text, ink, shade, best, words}, curves: rows of {x, runs: [[…]]}, colour,
//   baselines: one {x, runs} a column}]; rows, columns: titles; steps: where each column is read; part, row, column:
// numbers of what is chosen. runs: one course a seed, null where it has no number.

import { chart, escaped, node, short } from "./chart.js";
import { drawing } from "./frames.js";

const NAMES = ["parts", "rows", "columns", "steps", "part", "row", "column"];
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
const GREY = "#808080";

// The mean of several courses, of those that have a number there; NaN where none has.
export function mean(runs) {
  return runs.length === 0 ? [] : runs[0].map((_, i) => {
    const there = runs.map((run) => run[i]).filter((one) => one !== null && Number.isFinite(one));
    return there.length ? there.reduce((sum, one) => sum + one, 0) / there.length : NaN;
  });
}

export function render({ model, el }) {
  const box = node("div", { class: "lab-compatibility", "data-lm-suppress-shortcuts": "true",
    style: "display: flex; flex-wrap: wrap; gap: 8px 18px; font: 12px/1.35 sans-serif" }, el);
  const left = node("div", { class: "lab-sideways", style: "flex: 1 1 500px; min-width: 0" }, box);
  const right = node("div", { style: "flex: 1 1 400px; min-width: 0" }, box);
  const title = node("div", { style: "font-weight: bold; padding: 0 12px" }, right);
  const curves = chart(right, "accuracy by training step, of the chosen cell and of the baseline");
  const told = node("p", { role: "status", "aria-live": "polite", style: "margin: 2px 12px" }, right);
  let table = null, shown = null;
  const get = () => Object.fromEntries(NAMES.map((name) => [name, model.get(name)]));
  const choose = (row, column) => { model.set("row", row); model.set("column", column); model.save_changes(); later(); };

  function fill({ parts, rows, columns, part }) {
    left.replaceChildren();
    table = node("table", { role: "grid", "aria-label": "rows: optimized for; columns: trained on",
      style: "border-collapse: collapse; width: 100%; table-layout: fixed" }, left);
    const head = node("tr", {}, table), cell = "padding: 3px 2px; text-align: center; font-weight: normal; overflow-wrap: anywhere";
    node("th", { style: `${cell}; width: 7.2em; text-align: left` }, head).innerHTML = "optimized for ↓<br>trained on →";
    // a long name may be broken before a capital
    for (const name of columns) node("th", { scope: "col", style: `${cell}; padding: 3px 0; font-size: 10px` }, head).textContent = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "\u200b");
    rows.forEach((name, i) => {
      const line = node("tr", {}, table);
      node("th", { scope: "row", style: `${cell}; text-align: left` }, line).textContent = name;
      parts[part].cells[i].forEach(({ text, ink, shade, best, words }, j) => {
        const one = node("td", { role: "gridcell", tabindex: -1, "aria-label": words, "data-row": i, "data-column": j,
          style: `${cell}; height: 2.9em; cursor: pointer; color: ${ink}; background: ${shade}; border: ${best ? "2px solid #000" : "1px solid #fff"}` }, line);
        one.innerHTML = escaped(text).replaceAll("\n", "<br>");
        one.addEventListener("click", () => choose(i, j));
      });
    });
    table.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (!step) return;
      event.preventDefault();
      const [row, column] = [model.get("row") + step[0], model.get("column") + step[1]];
      if (rows[row] === undefined || columns[column] === undefined) return;
      choose(row, column);
      table.querySelector(`[data-row="${row}"][data-column="${column}"]`).focus();
    });
  }

  function draw() {
    const state = get(), { parts, rows, columns, steps, part, row, column } = state;
    if (shown?.parts !== parts || shown.part !== part) fill(state);
    shown = { parts, part };
    for (const one of table.querySelectorAll("td")) {
      const chosen = Number(one.dataset.row) === row && Number(one.dataset.column) === column;
      one.style.outline = chosen ? "4px solid #D55E00" : "none";
      one.style.outlineOffset = "-3px";
      one.tabIndex = chosen ? 0 : -1;
      one.setAttribute("aria-selected", chosen);
    }
    const { cells, curves: ours, baselines, colour } = parts[part], lines = [];
    for (const [found, ink, name] of [[baselines[column], GREY, "baseline"], [ours[row][column], colour, `optimized for ${rows[row]}`]]) {
      if (!found) continue;
      const faint = `${ink}80`;
      for (const y of found.runs) lines.push({ x: found.x, y: y.map((one) => one ?? NaN), colour: faint, width: 1 });
      lines.push({ x: found.x, y: mean(found.runs), colour: ink, width: 2.8, name });
    }
    title.textContent = `Trained on ${columns[column]}`;
    const last = Math.max(1, steps[column], ...lines.map(({ x }) => x.at(-1) ?? 0));
    curves.draw({ x: [0, 1.02 * last], xTitle: "training step", height: 340, marks: [steps[column]],
      panels: [{ title: "accuracy (%)", y: [0, 104], lines }] });
    told.textContent = `${cells[row][column].words}. Dashed: the matrix is read there, at step ${steps[column]}.`;
  }
  const later = drawing(draw);
  const changes = NAMES.map((name) => `change:${name}`);
  changes.forEach((change) => model.on(change, later));
  draw();
  return () => { changes.forEach((change) => model.off(change, later)); curves.end(); };
}

export default { render };
