"""Explorers as modules on other people's pages: they draw, answer, keep to themselves, and ask nothing of a network.

MyST's own loader and marimo are there after `python .ci/hosts.py`; without it their tests are skipped, or fail with
LAB_REQUIRE_HOSTS=1.
"""

import json
import os
import socket
import subprocess
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
import torch
from torch import nn

import lab
from lab.nonlinearity.spline import Spline
from lab.widgets.latent import LatentExplorer
from lab.widgets.model import ModelExplorer
from lab.widgets.slices import SliceExplorer
from tests.browser.conftest import FRAME
from tests.browser.jupyter import START, notebook_of
from tests.training import own
from tests.widgets.landscapes import found

HOSTS = Path(__file__).parents[2] / "out" / "hosts"
SITE = "http://host.test/"
KINDS = {".mjs": "text/javascript", ".js": "text/javascript", ".html": "text/html"}
DRAWN = "all => all.map((one) => one.toDataURL?.() ?? one.outerHTML).join()"


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A folder with a module of each kind of explorer that has something to move without a kernel."""
    folder = tmp_path_factory.mktemp("modules")
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.rand(30, 3, generator=torch.Generator().manual_seed(0))
    families = {"scaled": {a: lambda x, a=a: a * x[:, 0] for a in (1.0, 3.0)}, "net": net}
    functions = {"GELU": None, "ReLU": "relu"}
    made = {
        "function": lab.explore("gelu"),
        "editing": lab.explore(Spline(torch.linspace(-6, 6, 61).sin(), -6.0, 6.0), edit=True),
        "functions": lab.explore(lab.figure("transformers/fig6", scale="laptop")),
        "matrix": lab.explore(lab.figure("transformers/fig11", scale="laptop")),
        "landscape": lab.explore(found()),
        "slices": SliceExplorer(families, x),
        "model": ModelExplorer(net, x, x.sum(1, keepdim=True)),
        "codes": LatentExplorer(lab.trained("sraven", "hyla", progress=False), 60),
        "runs": lab.explore(lab.train("memorize", seeds=2, scale="smoke", progress=False)),
        "comparison": lab.explore(
            lab.compare(own.signs(), own.mlp, nn.GELU, functions, seeds=2, steps=4, progress=False)
        ),
    }
    for name, explorer in made.items():
        explorer.module(folder / f"{name}.mjs")
    return folder


@pytest.fixture
def host(browser, modules):
    """Call with HTML: a page of a site that has the modules and further files beside it. Whatever else it asks for is
    refused, and stands in `said`, with what its scripts say."""
    contexts = []

    def open_(html, files=None, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page, files = context.new_page(), {"": html, **(files or {})}
        page.said = []

        def answer(route):
            name = urlsplit(route.request.url).path.removeprefix("/")
            path = modules / name
            if not route.request.url.startswith(SITE) or not (name in files or path.is_file()):
                page.said.append(f"asked for {route.request.url}")
                return route.abort()
            text = files[name] if name in files else path.read_text(encoding="utf-8")
            return route.fulfill(body=text, content_type=KINDS.get(Path(name).suffix, KINDS[".html"]))

        context.route("**/*", answer)
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("console", lambda one: page.said.append(one.text) if one.type in ("error", "warning") else None)
        page.goto(SITE)
        return page

    yield open_
    for context in contexts:
        context.close()


def moves(place) -> bool:
    """Whether what is drawn changes when the first control is moved, and comes back with it."""
    control, drawn = place.locator("input[type=range], select").first, place.locator("svg, canvas, table")
    control.wait_for()
    place.page.evaluate(FRAME)
    before = drawn.evaluate_all(DRAWN)
    if control.evaluate("one => one.matches('select')"):
        chosen = control.input_value()
        control.select_option(index=0 if chosen != "0" else 1)
    else:
        control.focus()
        for key in ("ArrowRight", "ArrowLeft", "ArrowLeft"):
            place.page.keyboard.press(key)
    place.page.evaluate(FRAME)
    return len(before) > 500 and drawn.evaluate_all(DRAWN) != before


PLAIN = """<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><style>{style}</style>{body}"""


def test_every_kind_of_explorer_works_as_an_element_of_a_page(host, modules):
    names = sorted(path.name for path in modules.glob("*.mjs"))
    assert len(names) >= 10
    body = f'<script type="module" src="{names[0]}"></script>'
    page = host(
        PLAIN.format(style="", body=body + "".join(f'<lab-explorer src="{name}"></lab-explorer>' for name in names))
    )
    for name in names:
        assert moves(page.locator(f"lab-explorer[src='{name}']")), name
    assert page.said == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_every_kind_of_explorer_is_rendered_with_any_model_or_none(host, modules):
    names = sorted(path.name for path in modules.glob("*.mjs"))
    stub = "{ get() {}, set() { throw 1; }, on() { throw 1; }, off() { throw 1; }, save_changes() { throw 1; } }"
    script = f"""window.ends = [];
    for (const [number, name] of {json.dumps(names)}.entries()) {{
      const el = document.createElement("section"); // it comes onto the page later, as in frameworks
      ends.push((await import(`./${{name}}`)).default.render({{ model: number % 2 ? {stub} : undefined, el }}));
      document.body.append(el);
    }}"""
    page = host(PLAIN.format(style="", body=f'<script type="module">{script}</script>'))
    page.locator("section").nth(len(names) - 1).wait_for(state="attached")
    for number, name in enumerate(names):
        assert moves(page.locator("section").nth(number)), name
    page.evaluate("ends.forEach((end) => end())")
    assert page.locator("section > *").count() == 0 and page.said == []


NOTHING = """<div style="background: {ground}"><lab-explorer src="function.mjs"></lab-explorer></div>
<lab-explorer src="nowhere.mjs"></lab-explorer><lab-explorer></lab-explorer>"""
LOUD = "* { color: red !important; font-size: 40px !important } label, button, p, svg { display: none !important }"
SHADOW = "document.querySelector('lab-explorer').firstChild"


def test_styles_stay_on_their_side_and_a_missing_module_is_said(host):
    body = '<p id="words">Words of the page</p>' + NOTHING.format(ground="white")
    script = '<script type="module" src="function.mjs"></script>'
    looks = "['color', 'font', 'margin', 'background'].map((name) => getComputedStyle(words)[name]).join()"
    page = host(PLAIN.format(style="", body=body))
    before = page.evaluate(looks)
    page = host(PLAIN.format(style=LOUD.replace("p,", ""), body=body + script))
    page.locator("lab-explorer").first.get_by_label("zoom ±").wait_for()
    assert (
        page.locator("lab-explorer").first.get_by_label("zoom ±").evaluate("one => getComputedStyle(one).fontSize")
        == "15px"
    )
    quiet = host(PLAIN.format(style="", body=body + script))
    quiet.locator("lab-explorer").first.get_by_label("zoom ±").wait_for()
    assert quiet.evaluate(looks) == before
    for number in (1, 2):
        assert "No explorer in src=" in quiet.locator("lab-explorer").nth(number).text_content()


@pytest.mark.parametrize(
    ("ground", "style", "dark"),
    [
        ("white", "", False),
        ("oklch(0.2 0.02 280)", "", True),
        ("transparent", "", False),
        ("transparent", ":root { color-scheme: light dark }", True),
        ("transparent", "body { background: #123; transition: background .1s } .light { background: white }", True),
    ],
)
def test_a_module_is_as_dark_as_its_ground_for_a_reader_who_likes_the_dark(host, ground, style, dark):
    body = (
        NOTHING.format(ground=ground).replace("nowhere", "slices")
        + '<script type="module" src="function.mjs"></script>'
    )
    page = host(PLAIN.format(style=style, body=body), color_scheme="dark")
    page.get_by_label("zoom ±").wait_for()
    scheme = f"{SHADOW}.style.colorScheme"
    assert page.evaluate(scheme) == ("dark" if dark else "light")
    if "#123" in style:
        page.evaluate("document.body.className = 'light'")
        page.wait_for_function(f"{scheme} == 'light'")


SHIMS = {
    "react": "export const { useRef, useState, useEffect } = React;",
    "react/jsx-runtime": "export const jsx = (type, props) => React.createElement(type, props), jsxs = jsx;",
    "classnames": "export default classNames;",
}
BOOK = """<html class="dark"><style>.dark {{ background: #1c1917; color: white }} label {{ color: red }}</style>
<script src="react.js"></script><script src="react-dom.js"></script><script src="classnames.js"></script>
<script type="importmap">{shims}</script><div id="root"></div><script type="module">
import {{ AnyWidgetRenderer }} from "./renderers.js";
window.root = ReactDOM.createRoot(document.getElementById("root"));
const node = (name) => ({{ type: "anywidget", esm: new URL(name, location).href, model: {{}} }});
root.render({names}.map((name) => React.createElement("article", {{ key: name }},
  React.createElement(AnyWidgetRenderer, {{ node: node(name) }}))));
</script>"""
CELL = """import anywidget
from pathlib import Path
class Phi(anywidget.AnyWidget):
    _esm = Path({path!r})
"""
MARIMO = """import marimo
app = marimo.App()

@app.cell
def _():
    import anywidget
    import marimo as mo
    from pathlib import Path
    class Phi(anywidget.AnyWidget):
        _esm = Path({path!r})
    mo.ui.anywidget(Phi())
    return
"""


def of_host(name: str) -> Path:
    """A file of another people's host."""
    if not (HOSTS / name).exists():
        assert os.environ.get("LAB_REQUIRE_HOSTS") != "1", f"{HOSTS / name} is missing"
        pytest.skip("python .ci/hosts.py gets MyST's loader and marimo")
    return HOSTS / name


def test_myst_renders_every_kind_of_explorer(host, modules):
    names = sorted(path.name for path in modules.glob("*.mjs"))
    files = {f"{name}.js": f"anywidget/package/dist/{name}.js" for name in ("renderers", "models")}
    files |= {f"{name}.js": f"{name}/package/umd/{name}.production.min.js" for name in ("react", "react-dom")}
    files |= {"classnames.js": "classnames/package/index.js"}
    files = {name: of_host(path).read_text(encoding="utf-8") for name, path in files.items()}
    shims = {name: f"data:text/javascript,{quote(text)}" for name, text in SHIMS.items()}
    page = host(BOOK.format(shims=json.dumps({"imports": shims}), names=json.dumps(names)), files)
    for number, name in enumerate(names):
        assert moves(page.locator("article").nth(number)), name
    label = page.locator("article label").first
    assert label.evaluate("one => getComputedStyle(one).color") == "rgb(228, 228, 228)", "as dark as the book"
    page.evaluate("root.unmount()")
    page.wait_for_function("!document.querySelector('article')")
    assert page.said == []


def test_marimo_shows_an_explorer(browser, modules, tmp_path):
    program, notebook = of_host("marimo/bin/marimo"), tmp_path / "notebook.py"
    notebook.write_text(MARIMO.format(path=str(modules / "function.mjs")), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "-y", "run", notebook, "--headless", "--no-token", "--port", str(port)]
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    context, refused = browser.new_context(viewport={"width": 1280, "height": 900}), []
    page = context.new_page()

    def answer(route):
        if urlsplit(route.request.url).hostname == "127.0.0.1":
            return route.continue_()
        refused.append(route.request.url)
        return route.abort()

    try:
        for _ in range(round(10 * START)):
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
                break
            time.sleep(0.1)
        context.route("**/*", answer)
        page.goto(f"http://127.0.0.1:{port}/")
        place = page.locator("marimo-anywidget")
        place.get_by_label("zoom ±").wait_for(timeout=1000 * START)
        assert moves(place) and refused == []
    finally:
        context.close()
        server.terminate()
        server.wait()


def test_jupyterlab_shows_an_explorer_as_a_widget(open_notebook, modules):
    lab = open_notebook(notebook_of(CELL.format(path=str(modules / "function.mjs")) + "Phi()"))
    lab.run_all()
    place = lab.page.locator(".jp-OutputArea-output")
    place.get_by_label("zoom ±").wait_for()
    assert moves(place) and lab.errors() == []
