// Rows of buttons with pictures, of which one may be pressed in each row.

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
