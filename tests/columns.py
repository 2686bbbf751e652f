"""Draw figures for a paper's column and measure in a browser whether labels meet.

`python tests/columns.py [NAME ...]`: by default the whole catalogue. OUT has the pictures and a sheet of all; it ends
with 1 where labels meet.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from lab.catalogue import registry
from lab.catalogue.shipped import read, resolve_scale
from lab.plots.paper import column, paper
from lab.plots.svg.labels import crowded, meet

OUT, CLEAR = Path("out/columns"), "no label meets another"
STYLE = "body{display:flex;flex-wrap:wrap;align-items:flex-start;background:#ccc;font:9px sans-serif}figure{margin:3px}"
CORNERS = """() => [...document.querySelectorAll("text")].filter(text => text.textContent.trim()).map(text => {
  const box = text.getBBox(), turn = text.getCTM();
  const corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(([a, b]) =>
    new DOMPoint(box.x + a * box.width, box.y + box.height * (.2 + .6 * b)).matrixTransform(turn));
  return [text.textContent, corners.map(corner => [corner.x, corner.y])];
})"""  # of a line's box, which has room above and below its letters, the middle three fifths


def main(names: list[str]) -> int:
    """Draw and measure; the number of figures with labels that meet or leave their picture."""
    import numpy as np

    OUT.mkdir(parents=True, exist_ok=True)
    wrong, sheet = 0, []
    with sync_playwright() as started:
        page = started.chromium.launch(args=["--no-sandbox"], executable_path=chrome()).new_page()
        for name in names:
            entry = registry.entry(name)
            canvas = column(read(entry, resolve_scale(entry)).plot.to_dict())
            path = OUT / f"{name.replace('/', '_')}.svg"
            path.write_text(paper(canvas, name), encoding="utf-8")
            page.set_content(f"<body style='margin:0'>{path.read_text(encoding='utf-8')}")
            page.evaluate("document.fonts.ready")
            size = np.array([canvas.width, canvas.height]) * 312 / canvas.width
            labels = [(text, np.array(corners)) for text, corners in page.evaluate(CORNERS)]
            said = crowded(canvas)
            said += [f"{text!r} leaves" for text, box in labels if (box < -1).any() or (box > size + 1).any()]
            for n, (text, box) in enumerate(labels):
                said += [f"{text!r} meets {other!r}" for other, corners in labels[n + 1 :] if meet(box, corners, 1.0)]
            wrong += bool(said)
            print(f"{name}: {canvas.height / canvas.width * 3.25:.1f} in high; {'; '.join(said) or CLEAR}", flush=True)
            sheet.append(f"<figure><figcaption>{name}</figcaption><img src='{path.name}'></figure>")
        page.context.browser.close()
    (OUT / "sheet.html").write_text(f"<style>{STYLE}</style>{''.join(sheet)}", encoding="utf-8")
    return wrong


def chrome() -> str | None:
    """The Chrome that images are drawn with; None: playwright's own."""
    from choreographer.browsers.chromium import Chromium

    return Chromium.find_browser(skip_local=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(registry.entries())) > 0)
