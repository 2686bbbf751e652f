"""Choice: rows of buttons with pictures, of which one may be pressed in each row."""

from __future__ import annotations

from collections.abc import Sequence

import anywidget
import traitlets


class Choice(anywidget.AnyWidget):
    """One picture of several for each row; with mouse or keyboard (Tab to a row, arrows in it, Space to press).

    rows: their names. pictures: SVG, the same in every row. value: for each row the number of what is pressed, or None.

    >>> choice = Choice(rows=["A", "B"], pictures=["<svg></svg>"] * 3, value=[None, None])
    >>> choice.ask(["A"], ["<svg></svg>"] * 8)
    >>> choice.value
    [None]
    """

    rows = traitlets.List(traitlets.Unicode()).tag(sync=True)
    pictures = traitlets.List(traitlets.Unicode()).tag(sync=True)
    value = traitlets.List(traitlets.Int(allow_none=True)).tag(sync=True)

    def ask(self, rows: Sequence[str], pictures: Sequence[str]) -> None:
        """Other rows and pictures, with nothing pressed."""
        with self.hold_sync():
            self.rows, self.pictures, self.value = list(rows), list(pictures), [None] * len(rows)

    _css = """
    .lab-choice [role=radiogroup] { display: flex; flex-wrap: wrap; align-items: center; gap: 1px; margin: 2px 0; }
    .lab-choice [role=radiogroup] > span { min-width: 1.2em; font-weight: bold; }
    .lab-choice button { background: transparent; color: inherit; border: 1px solid #999; border-radius: 4px;
      padding: 1px; cursor: pointer; }
    .lab-choice button svg { display: block; }
    .lab-choice button[aria-checked=true] { outline: 3px solid #D55E00; outline-offset: -2px;
      background: light-dark(#FFF3E8, #4a2c12); }
    """

    _esm = """
    const STEP = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    export default {
      render({ model, el }) {
        el.classList.add("lab-choice");
        el.dataset.lmSuppressShortcuts = "true";  // JupyterLab would move between cells
        const press = (row, index) => {
          const value = [...model.get("value")];
          value[row] = index;
          model.set("value", value);
          model.save_changes();
        };
        const mark = () => el.querySelectorAll("[role=radiogroup]").forEach((group, row) => {
          const pressed = model.get("value")[row] ?? null;
          group.querySelectorAll("button").forEach((button, index) => {
            button.setAttribute("aria-checked", index === pressed);
            button.tabIndex = index === (pressed ?? 0) ? 0 : -1;
          });
        });
        const draw = () => {
          el.replaceChildren(...model.get("rows").map((name, row) => {
            const group = document.createElement("div");
            group.setAttribute("role", "radiogroup");
            group.setAttribute("aria-label", name);
            const label = document.createElement("span");
            label.textContent = name;
            group.append(label, ...model.get("pictures").map((picture, index) => {
              const button = document.createElement("button");
              button.type = "button";
              button.setAttribute("role", "radio");
              button.setAttribute("aria-label", `${name} ${index}`);
              button.innerHTML = picture;
              button.addEventListener("click", () => press(row, index));
              return button;
            }));
            group.addEventListener("keydown", event => {
              const buttons = [...group.querySelectorAll("button")];
              const step = STEP[event.key];
              if (!step) return;
              event.preventDefault();
              buttons[(buttons.indexOf(event.target) + step + buttons.length) % buttons.length].focus();
            });
            return group;
          }));
          mark();
        };
        const listeners = [["change:rows", draw], ["change:pictures", draw], ["change:value", mark]];
        listeners.forEach(([event, act]) => model.on(event, act));
        draw();
        return () => listeners.forEach(([event, act]) => model.off(event, act));
      }
    }
    """
