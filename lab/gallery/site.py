"""The files of the gallery: a first page, and a page for each figure, notebook, the functions and the scorecard."""

from __future__ import annotations

import gzip
import html
import json
import shutil
from contextlib import nullcontext
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from lab.catalogue import table_files
from lab.catalogue.drawing import read
from lab.catalogue.registry import entries
from lab.catalogue.scorecard import score
from lab.catalogue.shipped import RESULTS, best_scale, folder_of, has_results
from lab.errors import ArgumentError, LabError, check_path
from lab.gallery import pages
from lab.gallery.notebooks import notebook_pages
from lab.gallery.style import style
from lab.nonlinearity.zoo import shipped_alone
from lab.papers.entry import Entry
from lab.plots.page import CONFIG, with_room
from lab.widgets import explore

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
EXPLORED = ("transformers/fig5", "transformers/fig6", "transformers/fig11")  # whose explorers need no kernel
MARK = "lab-gallery"  # in a folder that a gallery may be written into again


def write_gallery(out: str | Path = "out/gallery", results: Path = RESULTS, mine: bool = False) -> list[Path]:
    """Write the site into a folder; its files, the first page first.

    mine: with the functions of your own zoo. Without, it has what came with the lab and can be sent around.
    The folder must be empty, new, or an older gallery, which is replaced. Nothing of the site lies elsewhere: it opens
    from disk and from any static host. Raises ArgumentError for another folder, LabError where it cannot be written.
    """
    out = check_path("out", out)
    if out.exists() and not (out.is_dir() and ((out / MARK).is_file() or not any(out.iterdir()))):
        raise ArgumentError(f"{out} holds other things; name a new folder, or that of an older gallery")
    try:
        if out.is_dir():
            shutil.rmtree(out)
        out.mkdir(parents=True)
        (out / MARK).touch()
        with nullcontext() if mine else shipped_alone():
            return _write(out, results)
    except OSError as error:
        raise LabError(f"cannot write to {out} ({error.strerror or error}); name another folder") from error


def _write(out: Path, results: Path) -> list[Path]:
    claims = score(results=results)["claims"]
    shown = [(entry, scale) for entry in entries().values() if has_results(entry.name, scale := best_scale(entry))]
    written: list[Path] = []

    def put(name: str, text: str) -> None:
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)

    sources = sorted(path.relative_to(NOTEBOOKS).as_posix() for path in NOTEBOOKS.rglob("*.ipynb"))
    sources = [name for name in sources if ".ipynb_checkpoints" not in name]
    pictures = {entry.name: _picture(folder_of(entry.name, scale)) for entry, scale in shown}
    notebooks, of_figure = notebook_pages(NOTEBOOKS, sources, pictures)
    cards = []
    for entry, scale in shown:
        entry_claims = [row for row in claims if row["entry"] == entry.name]
        cards.append(pages.Card(entry, scale, entry_claims, of_figure.get(entry.name), pictures[entry.name]))
    put("index.html", pages.index(cards, claims, sorted(notebooks)))
    for card in cards:
        _copy(card.entry, card.scale, out)
        put(f"figures/{card.entry.name}.html", _figure_page(card))
        if card.entry.name in EXPLORED:
            put(f"explorers/{card.entry.name}.html", explore(read(card.entry, card.scale)).page())
    put("functions.html", pages.functions())
    put("scorecard.html", pages.scorecard(claims, {entry.name for entry, _ in shown}))
    put("playground.html", pages.playground())
    for name, text in notebooks.items():
        put(f"notebooks/{name}", text)
    put("style.css", style())
    put("plotly.js", get_plotlyjs())
    return written


def _copy(entry: Entry, scale: str, out: Path) -> None:
    """The picture and the tables of a figure."""
    folder = folder_of(entry.name, scale)
    for kind, source in (("images", folder / "figure.png"), *(("tables", folder / path) for path in _tables(folder))):
        if source.is_file():
            name = f"{entry.name}.png" if kind == "images" else f"{entry.name}/{source.name}"
            (out / kind / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, out / kind / name)


def _tables(folder: Path) -> list[str]:
    return [path.name for name in table_files.names(folder) if (path := table_files.find(folder, name))]


def _plot(folder: Path) -> bytes:
    """The figure as Plotly reads it."""
    packed = folder / f"figure.json{table_files.PACKED}"
    return gzip.decompress(packed.read_bytes()) if packed.is_file() else (folder / "figure.json").read_bytes()


def _picture(folder: Path) -> str:
    """Whether a figure is a drawing, or shows photographs."""
    plot = json.loads(_plot(folder))
    shown = plot["layout"].get("images") or any(trace["type"] == "image" for trace in plot["data"])
    return "photographs" if shown else "drawing"


def _figure_page(card: pages.Card) -> str:
    """The interactive figure with its caption, claims, and links to its table and notebook."""
    folder = folder_of(card.entry.name, card.scale)
    plot = json.loads(_plot(folder))
    caption = plot["layout"].get("meta", {}).get("caption", card.entry.shows)
    first, _, rest = caption.partition("\n")
    shown = with_room(go.Figure(plot)).update_layout(autosize=True)
    height = shown.layout.height or 450
    drawn = shown.to_json().replace("<", "\\u003c")
    config = json.dumps(CONFIG)
    tables = [f'<a href="../../tables/{card.entry.name}/{name}" download>{name}</a>' for name in _tables(folder)]
    explorer = [f'<a href="../../explorers/{card.entry.name}.html">explorer</a>'] if card.entry.name in EXPLORED else []
    links = [*explorer, *tables, *card.notebook_link("../../")]
    return pages.whole(
        f"{card.entry.title} ({card.entry.name})",
        f"""<p class="faint">{pages.paper(card.entry)} Section {html.escape(card.entry.section)}.
Scale {card.scale}.</p>
<div id="plot" style="height: {height}px" role="group"
aria-label="{html.escape(card.entry.title)}"></div>
<script src="../../plotly.js"></script>
<script>
const figure = {drawn};
delete figure.layout.width;
Plotly.newPlot("plot", figure.data, figure.layout, {config});
</script>
<p>{html.escape(first)}</p>
{pages.claims_list(card.claims)}
<details><summary>How it was made, and where it departs from the paper</summary>
<p>{html.escape(rest).replace(chr(10), "<br>")}</p></details>
<p>{" · ".join(links)}</p>""",
        up="../../",
    )
