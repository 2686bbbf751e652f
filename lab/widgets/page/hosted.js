// A view as a page of its own, without a kernel: the controls that Python gives a view in a notebook, as HTML.
// state: view (its name); controls: [{trait, label, kind: "menu" | "range" | "check", options, min, max, step}]; code:
// Python that shows what was seen; table: {name of a column: numbers or texts}; below: further views, which stay as they
// are: what they show takes a kernel; second: {names, linked, state}, a second model of the same view next to the first, and
// the traits that both share; and what the view's model holds.

import { address, between, isFlag, listOf, placeOf } from "./address.js";
import compatibility from "./compatibility.js";
import drawn from "./drawn.js";
import latent from "./latent.js";
import landscape from "./landscape.js";
import slices from "./slices.js";
import { button, node, short } from "./chart.js";
import { copied } from "./copied.js";
import { picture } from "./picture.js";
import { download, pageWith } from "./saved.js";
import { stepper } from "./stepper.js";

const words = { render({ model, el }) { el.innerHTML = model.get("html"); return () => {}; } };
const VIEWS = { compatibility, drawn, latent, landscape, slices, words };

export function render({ model, el }) {
  const state = structuredClone(model.get("state")), inputs = {}, ends = [], point = placeOf(state.points?.length ?? 0);
  const fits = Object.fromEntries(state.controls.map(({ trait, kind, options, min, max }) =>
    [trait, options ? placeOf(options.length) : kind === "check" ? isFlag : between(min, max)]));
  if (state.chosen !== undefined) Object.assign(fits, { chosen: point, selected: listOf(point), a: listOf(point), b: listOf(point) });
  const link = address(el, fits, () => Object.fromEntries(Object.keys(fits).map((name) => [name, state[name]])));
  for (const name of Object.keys(fits)) if (name in link.given)
    for (const values of [state, ...(state.second?.linked.includes(name) ? [state.second.state] : [])]) values[name] = link.given[name];
  const heldBy = (values, then) => {
    const heard = {};
    return {
      get: (name) => values[name],
      set(name, value) {
        values[name] = value;
        then(name, value);
        (heard[`change:${name}`] ?? []).forEach((act) => act());
      },
      on: (name, act) => (heard[name] ??= []).push(act),
      off() {},
      save_changes() {},
    };
  };
  const share = (with_, name, value) => { if (state.second?.linked.includes(name) && with_.get(name) !== value) with_.set(name, value); };
  const own = heldBy(state, (name, value) => { inputs[name]?.(); link.note(); share(other, name, value); });
  const other = heldBy(state.second?.state ?? {}, (name, value) => share(own, name, value));
  const top = node("div", { class: "lab-row" }, el), place = node("div", { class: "lab-wide" }, el);
  for (const control of state.controls) {
    const { trait, label: words, kind, options } = control, label = node("label", {}, top);
    label.append(words, " ");
    if (kind === "menu") {
      const menu = node("select", { "aria-label": words }, label);
      options.forEach((name, number) => { node("option", { value: number }, menu).textContent = name; });
      menu.addEventListener("change", () => own.set(trait, Number(menu.value)));
      inputs[trait] = () => { menu.value = state[trait]; };
    } else if (kind === "range" && options) {
      label.remove();
      inputs[trait] = () => one.put(state[trait]);
      const one = stepper(top, control, (number) => own.set(trait, number));
      ends.push(one.end);
    } else if (kind === "check") {
      const box = node("input", { type: "checkbox", "aria-label": words }, label);
      box.addEventListener("change", () => own.set(trait, box.checked));
      inputs[trait] = () => { box.checked = state[trait]; };
    } else {
      const { min, max } = control, step = Number.isInteger(control.step) ? control.step : control.step * (1 - 1e-9); // a little less: rounding must not put the end out of reach
      const slider = node("input", { type: "range", min, max, step, "aria-label": words }, label), shown = node("span", {}, label);
      slider.addEventListener("input", () => own.set(trait, Number(slider.value)));
      inputs[trait] = () => { slider.value = state[trait]; shown.textContent = ` ${short(state[trait])}`; };
    }
    inputs[trait]();
  }
  const halves = state.second && node("div", { class: "lab-halves" }, place);
  const half = (name) => { const box = node("div", {}, halves); node("b", {}, box).textContent = name; return node("div", {}, box); };
  const shown = state.second ? [own, other].map((one, i) => ({ model: one, el: half(state.second.names[i]) })) : [{ model: own, el: place }];
  ends.push(...shown.map((one) => VIEWS[state.view].render(one)));
  for (const part of state.below ?? []) // stays as it was saved: what it shows takes a kernel
    ends.push(VIEWS[part.view].render({ model: { get: (name) => part[name], on() {}, off() {} }, el: node("div", { class: "lab-wide" }, el) }));

  const row = node("div", { class: "lab-row" }, el), told = node("span", { role: "status" });
  const name = state.heading.replaceAll(/[^\p{L}\p{N}]+/gu, "-");
  const save = (file, content) => {
    download(file, content);
    told.textContent = `Saved as ${file}.`;
  };
  if (state.code) button(row, "copy code", async () => {
    if (await copied(state.code)) told.textContent = "Copied: Python that opens this explorer.";
    else save(`${name}.py`, state.code);
  }, "Python that opens this explorer as it was saved");
  button(row, "save picture", async () => save(`${name}.png`, (await picture(place)).data), "PNG");
  if (state.table) button(row, "save numbers", () => {
    const columns = Object.keys(state.table), rows = state.table[columns[0]].map((_, i) => columns.map((column) => state.table[column][i] ?? ""));
    save(`${name}.csv`, [columns, ...rows].map((one) => one.map(quoted).join(",")).join("\n"));
  }, "CSV");
  if (el.getRootNode() === document) button(row, "save this page", () => save(`${name}.html`, pageWith(state)), "with everything as it stands");
  row.append(told);
  link.buttons(row, told);
  return () => ends.forEach((one) => one());
}

const quoted = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);

export default { render };
