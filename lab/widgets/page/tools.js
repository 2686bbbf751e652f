// The last line of an explorer in a notebook: take away what is seen. Whenever the width of the explorer changes, all
// figures fit themselves to theirs; and some while after anything changed, the kernel is given a picture of it all, so
// that a notebook that is opened without a kernel has something to show.

import { button, node } from "./chart.js";
import { copied } from "./copied.js";
import { picture } from "./picture.js";
import { download } from "./saved.js";

const QUIET = 1500; // ms without a change, after which the picture is made
const KINDS = { code: "copy code", page: "save page", picture: "save picture", numbers: "save numbers" };
const TITLES = { code: "Python that shows what is seen", page: "one HTML file that works without the lab", picture: "PNG", numbers: "CSV" };

export function render({ model, el }) {
  const explorer = () => el.closest(".lab-explorer");
  const row = node("div", { class: "lab-tools", style: "display: flex; flex-wrap: wrap; gap: 4px; align-items: center; margin-top: 4px" }, el);
  for (const [kind, words] of Object.entries(KINDS)) {
    button(row, words, async () => {
      if (kind !== "picture") return model.send({ kind });
      const found = explorer() && await picture(explorer());
      if (found) save("png", found.data);
    }, TITLES[kind]);
  }
  const told = node("span", { role: "status", style: "font: 12px sans-serif" }, row);
  const save = (ending, content) => {
    const file = `${model.get("name")}.${ending}`;
    download(file, content);
    told.textContent = `Saved as ${file}.`;
  };
  const hear = async ({ kind, text }) => {
    if (kind === "page") return save("html", text);
    if (kind === "numbers") return save("csv", text);
    if (kind !== "code") return;
    if (await copied(text)) told.textContent = "Copied: Python that shows what is seen.";
    else save("py", text);
  };
  model.on("msg:custom", hear);

  let timer = null, last = null;
  const give = async () => {
    const found = explorer() ? await picture(explorer(), null) : null;
    if (!found || found.data === last) return;
    last = found.data;
    model.send({ kind: "picture", width: found.width, data: last.slice(last.indexOf(",") + 1) });
  };
  // ipywidgets gives the handle of a slider no name
  const name = () => explorer()?.querySelectorAll(".noUi-handle:not([aria-label])").forEach((handle) =>
    handle.setAttribute("aria-label", handle.closest(".widget-slider, .widget-hslider")?.querySelector(".widget-label")?.textContent || "slider"));
  const idle = globalThis.requestIdleCallback ?? setTimeout;
  const later = () => { clearTimeout(timer); timer = setTimeout(() => idle(give), QUIET); };
  const watcher = new MutationObserver((changes) => {
    if (changes.some(({ target }) => !row.contains(target) && !target.closest?.(".hoverlayer, .modebar, .lab-readout"))) {
      name();
      later();
    }
  });
  let begun = false;
  const begin = () => { // once it is on the page
    if (begun || !explorer()) return;
    begun = true;
    if (explorer().parentElement?.closest(".lab-explorer")) row.style.display = "none"; // the outer one has its own
    else {
      watcher.observe(explorer(), { childList: true, subtree: true });
      later();
    }
    name();
  };
  const observer = new ResizeObserver(() => { begin(); window.dispatchEvent(new Event("resize")); });
  observer.observe(el);
  return () => { observer.disconnect(); watcher.disconnect(); clearTimeout(timer); model.off("msg:custom", hear); };
}

export default { render };
