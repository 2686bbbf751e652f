// Plotly's own widget, loaded once for all figures of a page, and only when a figure is shown.
//
// Loading takes a second, and more on a busy machine. anywidget gives a widget two seconds to set itself up; whatever
// is sent to one that took longer is lost for good. So setting up does no more than keep what is sent until Plotly is
// there to read it, and rendering waits as long as it must.
const load = (source) =>
  (globalThis.labPlotly ??= import(URL.createObjectURL(new Blob([source], { type: "text/javascript" }))));

const MESSAGES = ["addTraces", "deleteTraces", "moveTraces", "restyle", "relayout", "update", "animate",
                  "removeLayoutProps", "removeTraceProps"].map((name) => `_py2js_${name}`);

// The page keeps but one event of a figure for a busy kernel, the last. No explorer follows the mouse in Python, so what
// the mouse passes on its way is not told, or it would take the place of a click or of a line drawn around points.
const PASSING = ["plotly_hover", "plotly_unhover"];

const withoutPassing = (model) => new Proxy(model, {
  get(target, name) {
    const value = Reflect.get(target, name);
    if (typeof value !== "function") return value;
    if (name !== "set") return value.bind(target);
    return (key, event) => PASSING.includes(event?.event_type) || target.set(key, event);
  },
});

export default () => {
  const kept = [];
  const listeners = MESSAGES.map((name) => [name, (_, message) => message && kept.push([name, message])]);
  let made;

  const make = async (model) => {
    const widget = (await load(model.get("_plotly"))).default;
    const own = typeof widget === "function" ? await widget() : widget;
    await own.initialize?.({ model: withoutPassing(model) });
    for (const [name, listener] of listeners) model.off(`change:${name}`, listener);
    for (const [name, message] of kept.splice(0)) {
      model.set(name, message);
      model.set(name, null);
    }
    return own;
  };

  return {
    initialize({ model }) {
      for (const [name, listener] of listeners) model.on(`change:${name}`, listener);
    },
    async render(context) {
      made ??= make(context.model);
      return (await made).render(context);
    },
  };
};
