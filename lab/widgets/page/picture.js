// What stands in an element as one PNG: its plots, each where it is. Text outside of plots is left out.

const PLOTS = ".js-plotly-plot .main-svg, .js-plotly-plot canvas, .lab-chart > svg, .lab-field > svg, .lab-map > svg, svg.lab-editor, canvas.lab-shown";

// A data URL; null where nothing is drawn.
export async function picture(element, ground = "#fff", ink = "#222") {
  const box = element.getBoundingClientRect(), parts = [...element.querySelectorAll(PLOTS)].filter((one) => one.getBoundingClientRect().width > 1);
  if (!parts.length || box.width < 1) return null;
  const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
  canvas.width = Math.ceil(box.width);
  canvas.height = Math.ceil(Math.max(...parts.map((one) => one.getBoundingClientRect().bottom)) - box.y);
  pen.fillStyle = ground;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  for (const part of parts) {
    const { x, y, width, height } = part.getBoundingClientRect();
    try {
      pen.drawImage(part instanceof HTMLCanvasElement ? part : await image(part, width, height, ink), x - box.x, y - box.y, width, height);
    } catch { /* a part that the browser cannot draw is left out */ }
  }
  return canvas.toDataURL("image/png");
}

async function image(svg, width, height, ink) {
  const copy = svg.cloneNode(true);
  copy.querySelectorAll(".hoverlayer").forEach((one) => one.remove());
  for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height, color: ink })) copy.setAttribute(name, value);
  const found = new Image();
  found.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await found.decode();
  return found;
}
