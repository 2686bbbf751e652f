// An explorer on somebody else's page: behind a shadow root, so that no style gets in or out, and light or dark as the
// ground is that it stands on. data: state, what the view's model gives; style, CSS; above, HTML; title.

import { node } from "./chart.js";

const DARK = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

// Whether what is behind an element is dark: the nearest ground that covers it, else what the page says it is.
function dark(element) {
  for (let one = element; one; one = one.parentElement ?? one.getRootNode().host) {
    element.style.color = `color-mix(in srgb, ${getComputedStyle(one).backgroundColor} 100%, transparent)`; // numbers, whatever the notation
    const [red, green, blue, cover = 1] = getComputedStyle(element).color.match(/[\d.e-]+(?=[ )])/g).map(Number);
    if (cover > 0.5) return 0.3 * red + 0.6 * green + 0.1 * blue < 0.5;
  }
  const scheme = getComputedStyle(document.documentElement).colorScheme;
  return scheme.includes("dark") && (!scheme.includes("light") || DARK.matches);
}

export function embedded(view, { state, style, above, title }) {
  function render({ el }) { // the model of a host has nothing that is needed here, and may be a stub
    const host = node("div", { role: "group", "aria-label": title, "data-lm-suppress-shortcuts": "true" }, el);
    host.style.cssText = "all: initial; display: block";
    const root = host.attachShadow({ mode: "open" }), sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    root.adoptedStyleSheets = [sheet];
    const box = node("div", { class: "lab-embedded" }, root);
    box.innerHTML = above;
    const own = structuredClone(state), model = { get: () => own, set() {}, on() {}, off() {}, save_changes() {} };
    const look = () => { if (host.isConnected) host.style.colorScheme = dark(host) ? "dark" : "light"; };
    const watcher = new MutationObserver(look), sized = new ResizeObserver(look); // it may come onto the page later
    for (const one of [document.documentElement, document.body]) watcher.observe(one, { attributes: true });
    sized.observe(host);
    DARK.addEventListener("change", look);
    document.addEventListener("transitionend", look);
    look();
    const end = view.render({ model, el: node("div", {}, box) });
    return () => {
      end?.();
      watcher.disconnect();
      sized.disconnect();
      DARK.removeEventListener("change", look);
      document.removeEventListener("transitionend", look);
      host.remove();
    };
  }
  return { render };
}

class LabExplorer extends (globalThis.HTMLElement ?? Object) {
  async connectedCallback() {
    try {
      const { default: { render } } = await import(new URL(this.getAttribute("src") ?? "", document.baseURI));
      if (this.isConnected) this.end ??= render({ el: this });
    } catch (error) {
      this.textContent = `No explorer in src="${this.getAttribute("src") ?? ""}": ${error.message}`;
    }
  }
  disconnectedCallback() {
    this.end?.();
    this.end = null;
  }
}
if (globalThis.customElements && !customElements.get("lab-explorer")) customElements.define("lab-explorer", LabExplorer);
