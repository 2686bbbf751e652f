"""Fixtures of the browser tests: JupyterLab's server, Chromium, and notebooks open in it.

Without a browser they are skipped; with LAB_REQUIRE_BROWSER=1 they fail. LAB_SCREENSHOTS=folder keeps a
picture of each notebook as its test left it; otherwise only failing tests leave one.
"""

import os
import statistics
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from playwright.sync_api import TimeoutError, expect, sync_playwright

from tests import notebooks
from tests.browser.jupyter import LOOK, Notebook, serve

HERE = Path(__file__).parent
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),  # works as root, without a screen
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),  # and stays offline
]
AXE = """violations => violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).flatMap(
  ({ id, nodes }) => nodes.map(({ html, any }) => `${id}: ${html.slice(0, 150)} (${any[0]?.message ?? ""})`))"""
# What a busy machine does to a page: a wait that runs out, and anywidget's two seconds for a widget to set itself up.
# A test that fails so is tried twice more, as a machine stays busy for a while; any other failure counts at once.
BUSY = ["TimeoutError", "Timeout .*exceeded", "Locator expected", r"\[anywidget\] Failed to initialize model"]
# What a page cannot do: each way to send something, with the part of the page's policy that refuses it.
WAYS = {
    "connect-src": "fetch(away).catch(() => 0); navigator.sendBeacon(away, 1); new WebSocket('ws://127.0.0.1:9')",
    "img-src": "made('img', { src: away })",
    "frame-src": "made('iframe', { src: away })",
    "form-action": "made('form', { action: away, method: 'post' }).submit()",
    "script-src-elem": "made('script', { textContent: 'window.seen = 1' })",
}
SENDING = """() => { window.refused = [];
  const away = "http://127.0.0.1:9/";
  const made = (name, given) => document.body.appendChild(Object.assign(document.createElement(name), given));
  addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
  WAYS
}"""
WINDOW = {"width": 1400, "height": 1000}
LONGEST = 900  # seconds for a test: its waits are long where the machine is busy
FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"  # what was asked for is drawn
FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(LONGEST))
            item.add_marker(pytest.mark.flaky(reruns=2, only_rerun=BUSY))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


# These two live as long as this folder's tests and no longer: while Playwright is open, the main thread has a
# running event loop, in which nbclient and kaleido refuse to work.
@pytest.fixture(scope="package")
def browser():
    path = notebooks.browser()
    if path is None:
        pytest.skip(f"none of {', '.join(notebooks.BROWSERS)} is on the PATH (on Debian: apt install chromium)")
    expect.set_options(timeout=1000 * LOOK)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def jupyter(browser, tmp_path_factory):
    with serve(tmp_path_factory.mktemp("jupyter")) as server:
        yield server


@pytest.fixture
def offline(browser):
    """Call with a file, a width and what its address ends with: a page that reaches nothing else, with what its scripts
    said as `said`."""
    contexts = []

    def open_(path, width=1280, fragment="", **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.said = []
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("requestfailed", lambda request: page.said.append(f"not there: {request.url}"))
        page.goto(path.as_uri() + fragment)
        return page

    yield open_
    for context in contexts:
        context.close()


def wide(page):
    """By how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


class Tab(ExitStack):
    """The page on which notebooks are opened one after the other; after close() there is a new one.

    JupyterLab takes a new page five seconds of processor, and one that has it one for another notebook.
    """

    page = None

    def of(self, browser):
        if self.page is None:
            self.page = self.enter_context(_page(browser))
            self.callback(setattr, self, "page", None)
        self.page.set_viewport_size(WINDOW)
        return self.page


@pytest.fixture(scope="package")
def tab():
    with Tab() as one:
        yield one


@pytest.fixture
def open_notebook(browser, jupyter, tab, keep_picture, request):
    """Call with a path below notebooks/, or a notebook in memory, and values for its parameters cell.

    A copy is opened, so the checkout stays as it is.
    """
    opened = []

    def open_(notebook, **parameters) -> Notebook:
        opened.append(_open(jupyter, tab.of(browser), notebook, **parameters))
        return opened[-1]

    yield open_
    for notebook in opened[-1:]:  # one page, so only the last is on it
        keep_picture(notebook)
        notebook.close()
    if request.node.stash.get(FAILED, True):  # nothing of what failed is there when it is tried again
        tab.close()


@pytest.fixture
def opened(open_notebook):
    """Call with a path: the notebook at smoke scale, all cells run, every figure drawn, no error."""

    def open_(name) -> Notebook:
        assert name in notebooks.BROWSED
        lab = open_notebook(name, **notebooks.smoke(notebooks.read(notebooks.FOLDER / name)))
        lab.run_all()
        assert lab.errors() == []
        expect(lab.page.locator(".js-plotly-plot, .lab-chart").nth(2)).to_be_attached()
        expect(lab.page.locator(".js-plotly-plot:not(:has(.main-svg))")).to_have_count(0)
        return lab

    return open_


@pytest.fixture(scope="session")
def findings():
    """Call with a page: what is serious or worse for who has a screen reader or no mouse, as axe-core finds it."""
    from axe_playwright_python.base import AXE_SCRIPT

    def find(page, within="document") -> list[str]:
        page.evaluate(AXE_SCRIPT)
        options = "{ preload: false }"  # a page from disk may not fetch its own style sheet
        return page.evaluate(f"async () => ({AXE})((await axe.run({within}, {options})).violations)")

    return find


@pytest.fixture(scope="session")
def sends():
    """Call with a page: what it could send to others after all; what the refusals say is taken from its `said`."""

    def find(page) -> list[str]:
        said = [*page.said]
        page.evaluate(SENDING.replace("WAYS", ";\n".join(WAYS.values())))
        with suppress(TimeoutError):
            page.wait_for_function("ways => ways.every((way) => refused.includes(way))", arg=[*WAYS], timeout=5000)
        found, page.said[:] = page.evaluate("refused"), said
        return [way for way in WAYS if way not in found] + page.evaluate("window.seen ? ['a script'] : []")

    return find


@pytest.fixture
def redraws(record_property):
    """Call with a name, a notebook, a figure and actions: each, done in turn, must change the figure.

    The times it took are printed, and recorded as properties of the test: a test machine may be busy.
    """

    def measure(name, lab, plot, actions):
        times = []
        for action in actions:
            before = lab.drawn(plot)
            times.append(lab.redraw(plot, action))
            lab.until_redrawn(plot, before)
        text = f"median {statistics.median(times):.0f} ms, 95 % {statistics.quantiles(times, n=20)[-1]:.0f} ms"
        record_property(f"redraw, {name}", text)
        print(f"redraw, {name}: {text}")

    return measure


@pytest.fixture
def rerun_notebook(browser, jupyter, desk, keep_picture):
    """Like `open_notebook`, with all cells run, for tests of a module that start from the same notebook.

    It is opened once, and its kernel imports the lab once. Each call runs the cells again, so that nothing is left of
    what an earlier test did to them.
    """
    used = []

    def run(notebook, **parameters) -> Notebook:
        source = notebook if isinstance(notebook, str) else [cell.source for cell in notebook.cells]
        name = repr((source, parameters))
        if name not in desk:
            page = desk.enter(_page(browser))
            desk[name] = _open(jupyter, page, notebook, **parameters)
        used.append(desk[name])
        used[-1].thrown.clear()
        used[-1].run_all()
        return used[-1]

    yield run
    for notebook in used[-1:]:
        keep_picture(notebook)


class Desk(dict):
    """Notebooks that stay open, by what they hold; `enter` keeps a context open as long."""

    def __init__(self, stack: ExitStack):
        super().__init__()
        self.enter = stack.enter_context


@pytest.fixture(scope="module")
def desk(browser, jupyter):
    with ExitStack() as stack:
        notebooks_ = Desk(stack)
        yield notebooks_
        for notebook in notebooks_.values():
            notebook.close()


@pytest.fixture
def keep_picture(request, tmp_path):
    """Call with a notebook at the end of a test."""

    def keep(notebook: Notebook) -> None:
        folder = os.environ.get("LAB_SCREENSHOTS")
        if folder or request.node.stash.get(FAILED, True):
            picture = (Path(folder) if folder else tmp_path) / f"{request.node.name.replace('/', '_')}.png"
            picture.parent.mkdir(parents=True, exist_ok=True)
            notebook.screenshot(picture)
            print(f"screenshot: {picture}")

    return keep


@contextmanager
def _page(browser):
    context = browser.new_context(viewport=WINDOW)
    context.set_default_timeout(1000 * LOOK)
    yield context.new_page()
    context.close()


def _open(jupyter, page, notebook, **parameters) -> Notebook:
    name = "test.ipynb"
    if isinstance(notebook, str):
        name = Path(notebook).name
        notebook = notebooks.read(notebooks.FOLDER / notebook)
    if parameters:
        notebooks.set_parameters(notebook, **parameters)
    return Notebook(page).open(jupyter, jupyter.place(notebook, name))
