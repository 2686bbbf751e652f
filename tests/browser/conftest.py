"""Fixtures of the browser tests: JupyterLab's server, Chromium, and notebooks open in it.

Without a browser they are skipped; with LAB_REQUIRE_BROWSER=1 they fail. LAB_SCREENSHOTS=folder keeps a
picture of each notebook as its test left it; otherwise only failing tests leave one.
"""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests import notebooks
from tests.browser.jupyter import Notebook, serve

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),  # works as root, without a screen
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),  # and stays offline
]
FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)


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
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is on the PATH (on Debian: apt install chromium)")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def jupyter(browser, tmp_path_factory):
    with serve(tmp_path_factory.mktemp("jupyter")) as server:
        yield server


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    yield context.new_page()
    context.close()


@pytest.fixture
def open_notebook(jupyter, page, request, tmp_path):
    """Call with a path below notebooks/, or a notebook in memory, and values for its parameters cell.

    A copy is opened, so the checkout stays as it is.
    """
    opened = []

    def open_(notebook, **parameters) -> Notebook:
        name = "test.ipynb"
        if isinstance(notebook, str):
            name = Path(notebook).name
            notebook = notebooks.read(notebooks.FOLDER / notebook)
        if parameters:
            notebooks.set_parameters(notebook, **parameters)
        opened.append(Notebook(page).open(jupyter, jupyter.place(notebook, name)))
        return opened[-1]

    yield open_
    keep = os.environ.get("LAB_SCREENSHOTS")
    for notebook in opened[-1:]:  # one page, so only the last is on it
        if keep or request.node.stash.get(FAILED, True):
            picture = (Path(keep) if keep else tmp_path) / f"{request.node.name.replace('/', '_')}.png"
            picture.parent.mkdir(parents=True, exist_ok=True)
            notebook.screenshot(picture)
            print(f"screenshot: {picture}")
        notebook.close()
