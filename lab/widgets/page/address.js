// What a page of the lab's own shows, in its address: page.html#zoom=2&function=3 has, as JSON, what is not as the page
// begins. A link that is opened shows the same; a damaged one shows what the page begins with. A page in a frame tells
// who frames it how high it is. A module in somebody else's page leaves the address alone.

import { button } from "./chart.js";
import { copied } from "./copied.js";

const QUIET = 200; // ms: browsers refuse addresses that change faster
const THEMES = ["light", "dark"];

// el: of the page. fits: by name of what is kept, whether a value can be shown, given all values of the link. read: these
// values as they are now. Gives {given: what a link asks for, note: to be called when something changed, buttons: puts
// two into a row, with a line for what they say, by default a new one}.
export function address(el, fits, read) {
  const own = el.id === "lab-root", start = read(), root = document.documentElement;
  const given = own ? asked({ ...fits, theme: (one) => THEMES.includes(one) }) : {};
  let timer = null;
  const wear = (theme) => { root.style.colorScheme = given.theme = theme; };
  if (given.theme) wear(given.theme);
  const write = () => {
    const now = { ...read(), ...(given.theme && { theme: given.theme }) };
    const changed = Object.entries(now).map(([name, value]) => [name, JSON.stringify(value)]).filter(([name, text]) => text !== JSON.stringify(start[name]));
    // what is left of the address without state is "#", which leads to the top
    try { history.replaceState(null, "", changed.length || location.hash ? `#${new URLSearchParams(changed)}` : location.href); } catch { /* a page without an address */ }
  };
  if (own) addEventListener("hashchange", () => { if (location.hash.includes("=")) location.reload(); });
  if (own && parent !== window) {
    root.classList.add("lab-framed");
    new ResizeObserver(() => parent.postMessage({ labHeight: root.offsetHeight + 32 }, "*")).observe(document.body);
  }
  return {
    given,
    note() { if (own) { clearTimeout(timer); timer = setTimeout(write, QUIET); } },
    buttons(row, line) {
      if (!own) return;
      const told = line ?? document.createElement("span");
      told.setAttribute("role", "status");
      button(row, "copy link", async () => {
        write();
        told.textContent = await copied(location.href) ? "Copied: a link to this page as it stands." : "The link is in the address bar.";
      }, "to this page as it stands");
      button(row, "light or dark", () => {
        wear(THEMES[Number((given.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "light")]);
        write();
      }, "how this page looks");
      row.append(told);
    },
  };
}

// What the address asks for; nothing where any of it does not fit.
function asked(fits) {
  try {
    const given = Object.fromEntries([...new URLSearchParams(location.hash.slice(1))].map(([name, text]) => [name, JSON.parse(text)]));
    return Object.entries(given).every(([name, value]) => Object.hasOwn(fits, name) && fits[name](value, given)) ? given : {};
  } catch { return {}; }
}

// Whether a value is one of so many places; or a list of them.
export const placeOf = (count) => (value) => Number.isInteger(value) && value >= 0 && value < count;
export const listOf = (fits) => (value) => Array.isArray(value) && value.every(fits);
export const between = (low, high) => (value) => Number.isFinite(value) && value >= low && value <= high;
export const isFlag = (value) => typeof value === "boolean";
