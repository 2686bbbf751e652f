// What stands in an element as one PNG: its plots, each where it is. Text outside of plots is left out.

const PLOTS = ".js-plotly-plot .main-svg, .js-plotly-plot canvas, .lab-chart > svg, .lab-plot svg, .lab-field > svg, .lab-map > svg, svg.lab-editor, canvas.lab-shown";
// Ink and grid that can be seen on white and on black: a picture without a ground is shown on either.
const MIDDLE = "#7c7c7c", GRID = "rgba(128, 128, 128, 0.3)";

// {data, width, height}: a data URL, px of the page; null where nothing is drawn. ground: null for none.
export async function picture(element, ground = "#fff", ink = "#222") {
  const box = element.getBoundingClientRect(), parts = [...element.querySelectorAll(PLOTS)].filter((one) => one.getBoundingClientRect().width > 1);
  if (!parts.length || box.width < 1) return null;
  const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
  const top = Math.min(...parts.map((one) => one.getBoundingClientRect().y));
  canvas.width = Math.ceil(box.width);
  canvas.height = Math.ceil(Math.max(...parts.map((one) => one.getBoundingClientRect().bottom)) - top);
  if (ground) {
    pen.fillStyle = ground;
    pen.fillRect(0, 0, canvas.width, canvas.height);
  }
  for (const part of parts) {
    const { x, y, width, height } = part.getBoundingClientRect();
    try {
      const drawn = part instanceof HTMLCanvasElement ? part : await image(part, width, height, ground ? ink : MIDDLE, !ground);
      pen.drawImage(drawn, x - box.x, y - top, width, height);
    } catch { /* a part that the browser cannot draw is left out */ }
  }
  return { data: canvas.toDataURL("image/png"), width: canvas.width, height: canvas.height };
}

async function image(svg, width, height, ink, clear) {
  const copy = svg.cloneNode(true);
  copy.querySelectorAll(".hoverlayer").forEach((one) => one.remove());
  for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height, color: ink })) copy.setAttribute(name, value);
  if (clear) {
    copy.style.background = "none";
    copy.querySelectorAll(".bg").forEach((one) => { one.style.fill = "none"; });
  }
  const text = new XMLSerializer().serializeToString(copy), found = new Image();
  found.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(clear ? readable(text) : text)}`;
  await found.decode();
  return found;
}

// Plotly's SVG as text with the inks of the lab's figures (style.py) as any ground lets them be read. What stands on shades stays.
export const readable = (text) => text.replaceAll(/(fill|stroke): rgb\((34, 34, 34|0, 0, 0)\)/g, `$1: ${MIDDLE}`)
  .replaceAll("stroke: rgb(228, 228, 228)", `stroke: ${GRID}`);
