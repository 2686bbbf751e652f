"""How long a page takes from a key press to the paint that shows what it did: saved explorers, without a kernel.

Each control is pressed again and again. "Nothing" is a key that changes nothing: what the browser itself needs for a
frame. Only where the machine is quiet do the numbers mean anything.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from datetime import date
from pathlib import Path

import torch
from playwright.sync_api import Page, sync_playwright
from report import heading, machine, publish, table_parser

import lab
from lab import probes
from lab.widgets.explorer import Explorer

PRESSES = 100
REDRAWS = 16, 50  # ms, median and 95th percentile, that are asked for
# by explorer: what is measured, the control by its label or role, and the key
CONTROLS = {
    "a function": {
        "zoom": ("zoom ±", "ArrowLeft"),
        "slope, on and off": ("slope", "Space"),
        "smoothing": ("smooth", "ArrowRight"),
        "polynomial": ("polynomial degree", "ArrowRight"),
        "Chebyshev series": ("Chebyshev degree", "ArrowRight"),
    },
    "a compatibility matrix": {"another cell": ("[aria-selected=true]", "ArrowRight")},
    "a landscape": {
        "another point": ("[role=application]", "ArrowRight"),
        "a slider": ("x", "ArrowRight"),
        "logarithm": ("log", "Space"),
    },
    "latent codes": {"another point": ("[role=application]", "ArrowRight"), "colours": ("colour by", "ArrowDown")},
}
# From the event to the task after the frame that paints it.
WATCH = """() => {
  window.times = [];
  document.addEventListener("keydown", () => {
    const start = performance.now();
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => window.times.push(performance.now() - start);
      port2.postMessage(null);
    });
  }, { capture: true });
}"""


BACK = {"ArrowLeft": "ArrowRight", "ArrowRight": "ArrowLeft", "ArrowDown": "ArrowUp"}


def explorers() -> dict[str, Explorer]:
    """What is saved and measured, from what ships with the lab and a small network."""
    function = lab.explore("transformers/memorize")
    function.others.value = ("GELU",)
    matrix = lab.explore(lab.figure("transformers/fig5", scale="laptop", progress=False))
    x = torch.rand(200, 8, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    measures = {"loss": probes.Loss(x, x.sum(1), runs=False), "complexity": probes.Variation(x, paths=10)}
    land = lab.explore(probes.landscape(model, measures, "random", grid=40))
    codes = lab.explore(lab.trained("sraven", "hyla", progress=False))
    return dict(zip(CONTROLS, (function, matrix, land, codes), strict=True))


def pressed(page: Page, label: str | None, key: str, presses: int) -> list[float]:
    """Milliseconds of each press; a slider that has come to an end goes back."""
    page.evaluate("window.times.length = 0")
    if label:
        (page.locator(label) if label[0] == "[" else page.get_by_label(label, exact=True)).first.focus()
    for number in range(presses):
        arrows = key.startswith("Arrow")
        back = BACK.get(key, key)
        page.keyboard.press(back if arrows and number % 30 >= 15 else key)
        page.wait_for_function("count => window.times.length >= count", arg=number + 1)
    return page.evaluate("window.times")


def main() -> None:
    parser = table_parser(__doc__)
    parser.add_argument("--presses", type=int, default=PRESSES)
    asked = parser.parse_args()
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise SystemExit("no Chromium is on the PATH (on Debian: apt install chromium)")
    lines = [
        f"{machine()}. {date.today():%d %B %Y}. Milliseconds from key press to paint, {asked.presses} presses"
        f" each; asked for: {REDRAWS[0]} at the median, {REDRAWS[1]} at the 95th percentile.",
        "",
        *heading(["explorer", "control", "median", "95th percentile"]),
    ]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_context(viewport={"width": 1280, "height": 900}, offline=True).new_page()
        for kind, explorer in explorers().items():
            page.goto(explorer.save(Path(folder) / "page.html").as_uri())
            page.locator("#lab-root svg").first.wait_for()
            page.evaluate(WATCH)
            for name, (label, key) in {"nothing": (None, "F9"), **CONTROLS[kind]}.items():
                times = pressed(page, label, key, asked.presses)
                row = f"{statistics.median(times):.1f} | {statistics.quantiles(times, n=20)[-1]:.1f}"
                lines.append(f"| {kind} | {name} | {row} |")
                print(lines[-1], file=sys.stderr, flush=True)
        chromium.close()
    publish("\n".join(lines), asked.write, "page")


if __name__ == "__main__":
    main()
