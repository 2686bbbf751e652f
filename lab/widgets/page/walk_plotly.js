// The plots of a page that Plotly has drawn are walked through, too (walk.js, which stands before this in the page).

import { walks } from "./walk.js";

// The plots of a page that Plotly has drawn, each with a line below it that says where one is.
function walkPlotly() {
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    const ring = document.createElement("div"), told = document.createElement("p");
    ring.style.cssText = "position: absolute; width: 16px; height: 16px; margin: -10px; border: 2px solid #D55E00; border-radius: 50%; pointer-events: none; display: none; z-index: 2";
    told.setAttribute("aria-live", "polite");
    told.style.margin = 0; // no room as long as nobody walks
    plot.style.position = "relative";
    plot.append(ring);
    plot.after(told);
    walks(plot, plot.getAttribute("aria-label") || document.title, () => placesOf(plot), (place) => {
      told.textContent = place?.said ?? "";
      ring.style.display = place ? "block" : "none";
      if (place) [ring.style.left, ring.style.top] = [`${place.x}px`, `${place.y}px`];
    });
  }
}

const said = (value) => (typeof value === "number" ? String(Number(value.toPrecision(4))).replace("-", "−") : String(value).replaceAll(/<[^>]*>/g, " "));

function placesOf({ _fullLayout: layout, _fullData: traces }) {
  return traces.filter(({ visible, type, hoverinfo }) => visible === true && (hoverinfo !== "skip" || type !== "scatter")).flatMap((trace) => {
    const [x, y] = ["x", "y"].map((side) => layout[`${side}axis${(trace[`${side}axis`] ?? side).slice(1)}`]);
    const px = (axis, value) => axis._offset + axis.c2p(axis.d2c(value)), titled = ({ title, _id }, value) => (title?.text && title.text !== layout._dfltTitle?.[_id[0]] ? `${said(title.text)} ${said(value)}` : said(value));
    const place = (group, a, b, more = "") => ({ group, x: px(x, a), y: px(y, b), said: [trace.name && !/^trace \d+$/.test(trace.name) ? `${said(trace.name)}:` : "", `${titled(x, a)}, ${titled(y, b)}`, more].filter(Boolean).join(" ") });
    const list = (values, count) => Array.from(values ?? { length: count }, (value, i) => value ?? i);
    if (trace.z) {
      const across = list(trace.x, trace.z[0]?.length), up = list(trace.y, trace.z.length), rows = Array.from(trace.z, (row, j) => [j, row]);
      if (px(y, up[0]) > px(y, up.at(-1))) rows.reverse(); // from the top
      return rows.flatMap(([j, row]) => Array.from(row).flatMap((z, i) => (Number.isFinite(z) ? [place(`${trace.index} ${j}`, across[i], up[j], `gives ${said(z)}`)] : [])));
    }
    const values = trace.orientation === "h" && trace.type === "box" ? trace.x : trace.y, count = values?.length ?? trace.x?.length ?? 0;
    const at = list(trace.x ?? (trace.type === "box" ? Array(count).fill(trace.x0 ?? trace.name) : null), count), heights = list(trace.y, count);
    return at.flatMap((a, i) => {
      const text = Array.isArray(trace.text) ? trace.text[i] : typeof trace.customdata?.[i] === "string" ? trace.customdata[i] : "";
      const one = place(trace.index, a, heights[i], text ? `(${said(text)})` : "");
      return Number.isFinite(one.x + one.y) ? [one] : [];
    });
  });
}

walkPlotly();
