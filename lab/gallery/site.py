"""The files of the gallery: a first page, and a page for each figure, notebook, the functions and the scorecard."""

import gzip
import json
import shutil
from contextlib import nullcontext
from pathlib import Path

from plotly.offline import get_plotlyjs

from lab.catalogue.figure import walk
from lab.catalogue.registry import PAPERS, entries
from lab.catalogue.results import PACKED, Results
from lab.catalogue.scorecard import score
from lab.catalogue.shipped import resolve_scale, shipped_results
from lab.errors import ArgumentError, LabError, check_path
from lab.gallery import league, pages
from lab.gallery.explorers import CODES, FIGURES, LANDSCAPE, explorers
from lab.nonlinearity.zoo import shipped_alone, zoo_curves
from lab.places import NOTEBOOKS, RESULTS
from lab.plots.page import CONFIG, room, with_policy
from lab.widgets.pages import FOLDER as PAGE
from lab.widgets.pages import style as page_style

MARK = "lab-gallery"  # in a folder that a gallery may be written into again


def write_gallery(out: str | Path = "out/gallery", results: Path = RESULTS, mine: bool = False) -> list[Path]:
    """Write the site into a folder; its files, the first page first.

    mine: with the functions of your own zoo, and rows of the league for trained ones. Without, it has what came with
    the lab and can be sent around.
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
    scales = ((entry, resolve_scale(entry)) for entry in entries().values())
    shown = [(entry, scale) for entry, scale in scales if shipped_results(entry.name, scale).facts]
    written: list[Path] = []

    def put(name: str, text: str) -> None:
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(with_policy(text, site=True) if name.endswith(".html") else text, encoding="utf-8")
        written.append(path)

    sources = sorted(path.relative_to(NOTEBOOKS).as_posix() for path in NOTEBOOKS.rglob("*.ipynb"))
    sources = [name for name in sources if ".ipynb_checkpoints" not in name]
    pictures = {entry.name: _picture(shipped_results(entry.name, scale).folder) for entry, scale in shown}
    explored = explorers({entry.name: scale for entry, scale in shown})
    places = {name: f"explorers/{name}.html" for name in explored} | {"Playground": "playground.html"}
    places |= {name: f"functions.html#function={number}" for number, name in enumerate(zoo_curves()[0])}
    for what, name in (("sraven", CODES), ("probes.landscape", LANDSCAPE)):  # as notebooks call them
        places |= {what: places[name]} if name in places else {}
    notebooks, of_figure = pages.notebook_pages(NOTEBOOKS, sources, pictures, places)
    claimed = {entry.name: [row for row in claims if row["entry"] == entry.name] for entry, _ in shown}
    cards = [
        pages.Card(entry, scale, claimed[name := entry.name], of_figure.get(name), pictures[name])
        for entry, scale in shown
    ]
    findings = NOTEBOOKS.parent / "docs" / "findings.md"  # an installation has none
    put("index.html", pages.index(cards, claims, sorted(notebooks), findings.is_file(), places))
    if findings.is_file():
        put("findings.html", pages.findings(findings.read_text(encoding="utf-8")))
    for card in cards:
        _copy(card, out)
        put(f"figures/{card.name}.html", _figure_page(card))
    for name, text in explored.items():
        put(f"explorers/{name}.html", text)
    put("functions.html", pages.functions())
    put("league.html", league.page())
    put("scorecard.html", pages.scorecard(claims, {entry.name for entry, _ in shown}))
    put("playground.html", pages.page("playground.html", "A network learns, in this page", race=pages.race()))
    for name, text in notebooks.items():
        put(f"notebooks/{name}", text)
    here = Path(__file__).parent / "templates"
    put("style.css", page_style() + (here / "style.css").read_text(encoding="utf-8"))
    copied = (PAGE / "copied.js").read_text(encoding="utf-8").replace("export ", "")  # a page from disk imports no file
    put("site.js", copied + (here / "site.js").read_text(encoding="utf-8"))
    put("plotly.js", get_plotlyjs())
    return written


def _copy(card: pages.Card, out: Path) -> None:
    folder = shipped_results(card.name, card.scale).folder
    copies = {f"images/{card.name}.png": folder / "figure.png"}
    copies |= {f"tables/{card.name}/{name}": folder / name for name in _tables(folder)}
    for name, source in copies.items():
        if source.is_file():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, out / name)


def _tables(folder: Path) -> list[str]:
    return [path.name for path in Results(folder).files.values()]


def _plot(folder: Path) -> bytes:
    packed = folder / f"figure.json{PACKED}"
    return gzip.decompress(packed.read_bytes()) if packed.is_file() else (folder / "figure.json").read_bytes()


def _picture(folder: Path) -> str:
    """Whether a figure is a drawing, or shows photographs."""
    plot = json.loads(_plot(folder))
    shown = plot["layout"].get("images") or any(trace["type"] == "image" for trace in plot["data"])
    return "photographs" if shown else "drawing"


def _figure_page(card: pages.Card) -> str:
    """The interactive figure with its caption, claims, and links to its table and notebook."""
    folder, name = shipped_results(card.name, card.scale).folder, card.name
    plot = json.loads(_plot(folder))
    first, _, rest = plot["layout"].get("meta", {}).get("caption", card.entry.shows).partition("\n")
    layout = plot["layout"] | {"autosize": True}
    for part, change in room(layout).items():
        layout[part] = layout.get(part, {}) | change if isinstance(change, dict) else change
    links = {"explorer": f"explorers/{name}.html"} if name in FIGURES else {}
    links |= {table: f"tables/{name}/{table}" for table in _tables(folder)}
    links |= {"notebook": f"notebooks/{card.notebook}"} if card.notebook else {}
    return pages.page(
        "figure.html",
        f"{card.entry.title} ({name})",
        "../../",
        card=card,
        paper=PAPERS.get(card.paper, card.paper),
        height=layout.get("height", 450),
        drawn=json.dumps(plot | {"layout": layout}, separators=(",", ":")).replace("<", "\\u003c"),
        config=CONFIG,
        first=first,
        rest=rest.split("\n"),
        links=links,
        line=f'lab.figure("{name}")',
        walk=walk(),
    )
