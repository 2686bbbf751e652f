"""A real JupyterLab and a notebook open in it, for tests that use the lab as a person does.

What a person does goes through mouse and keyboard; what a person sees is read from the page. Only "has it
finished?" is asked of JupyterLab's own objects, which its server exposes to the page on request.
"""

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from playwright.sync_api import Locator, Page, expect

KERNELS = Path(__file__).with_name("kernels.py")

# Long, because a machine may be busy: who waits goes on as soon as there is what is waited for.
START = 120.0  # seconds for the server to answer
RUN = 400.0  # seconds for a notebook at smoke scale, imports of torch and plotly included
LOOK = 120.0  # seconds for something to appear on the page


@dataclass
class Server:
    """A running JupyterLab: its address, its token, and the folder it serves."""

    url: str
    token: str
    folder: Path
    opened: int = 0

    def place(self, notebook, name: str) -> str:
        """Write a notebook into a folder of its own, away from other tests'; its path on the server."""
        self.opened += 1
        path = f"{self.opened}/{name}"
        (self.folder / path).parent.mkdir()
        nbformat.write(notebook, self.folder / path)
        return path


@contextmanager
def serve(folder: Path):
    """Start JupyterLab on a free port of the loopback, with settings of its own instead of the user's."""
    served, config, log = folder / "served", folder / "config", folder / "jupyter.log"
    served.mkdir()
    (config / "labconfig").mkdir(parents=True)
    # the plugin that asks for consent to fetch news covers the notebook with a pop-up
    news = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (config / "labconfig" / "page_config.json").write_text(json.dumps(news))
    kernel = folder / "kernels" / "python3"
    kernel.mkdir(parents=True)
    door = Path(tempfile.mkdtemp()) / "door"  # a socket's path is short
    start = [sys.executable, "-S", "-E", str(KERNELS), str(door), "{connection_file}"]
    spec = {"argv": start, "display_name": "Python 3", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    places = {
        "JUPYTER_PATH": folder,
        "JUPYTER_CONFIG_DIR": config,
        "JUPYTER_DATA_DIR": folder / "data",
        "JUPYTER_RUNTIME_DIR": folder / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": folder / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": folder / "workspaces",
        "IPYTHONDIR": folder / "ipython",
    }
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Server(f"http://127.0.0.1:{port}", secrets.token_hex(16), served)
    command = [
        *[sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"],
        *[f"--port={port}", "--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0"],
        *[f"--IdentityProvider.token={server.token}", f"--ServerApp.root_dir={served}"],
    ]
    environment = os.environ | {name: str(path) for name, path in places.items()}
    with log.open("wb") as output:
        places = {"env": environment, "stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
        forks = [sys.executable, "-m", "tests.browser.kernels", str(door)]
        kernels = subprocess.Popen(forks, cwd=KERNELS.parents[2], **places)
        process = subprocess.Popen(command, **places)
        try:
            _wait_until_answers(server, process, log)
            while not door.exists():
                assert kernels.poll() is None, log.read_text()[-3000:]
                time.sleep(0.1)
            yield server
        finally:
            kernels.kill()
            kernels.wait()
            shutil.rmtree(door.parent)
            process.send_signal(signal.SIGTERM)  # stops the kernels, too
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_answers(server: Server, process: subprocess.Popen, log: Path):
    end = time.monotonic() + START
    while process.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{server.url}/api/status?token={server.token}", timeout=5):
                return
        except urllib.error.HTTPError as error:
            error.close()
        except OSError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not answer within {START:.0f} s:\n{log.read_text()[-3000:]}")


# What is drawn, as text: shapes, words, images of all layers but what follows the mouse; canvases as data.
DRAWN = """plot => {
  const parts = [];
  for (const node of plot.querySelectorAll('path, text, image, rect, circle'))
    if (!node.closest('.hoverlayer, .zoomlayer, .modebar, .dragcover'))
      parts.push(node.tagName, ...['d', 'transform', 'style', 'href', 'cx', 'cy'].map(name => node.getAttribute(name)),
                 node.tagName === 'text' ? node.textContent : '');
  for (const canvas of plot.querySelectorAll('canvas')) parts.push(canvas.toDataURL());
  return parts.join(' ');
}"""

# Whether what is drawn is no longer what it was.
REDRAWN = """([plot, before]) => (DRAWN)(plot) !== before""".replace("DRAWN", DRAWN)

# Clock from the first key or mouse press to the frame after the first change of what is drawn.
WATCH = """plot => {
  const drawn = DRAWN;
  const before = drawn(plot);
  let pressed = null;
  const KINDS = ['keydown', 'pointerdown', 'mousedown']; // a page may draw at once, before the mouse event
  const press = () => { pressed ??= performance.now(); };
  for (const kind of KINDS) document.addEventListener(kind, press, {capture: true});
  window.labRedraw = new Promise(resolve => {
    const look = () => {
      if (pressed === null || drawn(plot) === before) return;
      observer.disconnect();
      for (const kind of KINDS) document.removeEventListener(kind, press, {capture: true});
      requestAnimationFrame(() => resolve(performance.now() - pressed));
    };
    const observer = new MutationObserver(look);
    observer.observe(plot, {subtree: true, childList: true, attributes: true, characterData: true});
  });
}""".replace("DRAWN", DRAWN)

AWAIT = """limit => Promise.race([
  window.labRedraw, new Promise(resolve => setTimeout(() => resolve(null), limit))])"""

# Ends when nothing of a plot has changed for a moment: what the last key set off is drawn.
STILL = """plot => new Promise(resolve => {
  const end = () => { observer.disconnect(); resolve(); };
  let timer = setTimeout(end, 100);
  const observer = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(end, 100); });
  observer.observe(plot, {subtree: true, childList: true, attributes: true, characterData: true});
})"""

# A point of a plot's data, in pixels of the page; nulls as long as its axes do not know the point, or the widget around
# it does not listen yet, which it does only some time after it has drawn.
PIXEL = """(plot, [x, y, subplot]) => {
  const axes = plot._fullLayout?._plots?.[subplot];
  if (!axes?.xaxis?._offset || !plot._ev?.listeners('plotly_click').length) return [null, null];
  const {xaxis, yaxis} = axes, box = plot.getBoundingClientRect();
  return [box.x + xaxis._offset + xaxis.d2p(x), box.y + yaxis._offset + yaxis.d2p(y)].map(
    pixel => Number.isFinite(pixel) ? pixel : null);
}"""

OPEN = """async (path) => {
  const panel = await window.jupyterapp.commands.execute('docmanager:open', {path});
  await panel.context.ready;
}"""
CLOSE = """async () => {
  for (const panel of [...window.jupyterapp?.shell.widgets('main') ?? []]) {
    await panel.sessionContext?.shutdown();
    panel.dispose();
  }
  await new Promise(done => setTimeout(done, 100)); // exceptions that this throws are nobody's
}"""

STATE = """() => {
  const panel = window.jupyterapp?.shell.currentWidget;
  const cells = panel?.content?.widgets ?? [];
  const code = cells.filter(c => c.model.type === 'code' && c.model.sharedModel.getSource().trim());
  const failed = ({outputs}) => { // toJSON would copy megabytes, each time one looks
    for (let i = 0; i < outputs.length; i++) if (outputs.get(i).type === 'error') return true;
    return false;
  };
  return {
    kernel: panel?.sessionContext?.session?.kernel?.status ?? 'none',
    cells: code.map(c => ({
      count: c.model.executionCount ?? 0,
      failed: failed(c.model),
    })),
  };
}"""

ANNOUNCED = re.compile(r"([^\n]* steps, about [^\n]+ here\s*)+")
ERRORS = """() => {
  const kinds = ['stderr', 'error'].map(kind => `[data-mime-type="application/vnd.jupyter.${kind}"]`);
  const red = [...document.querySelectorAll([...kinds, '.jupyter-widgets-error-widget'].join())];
  const broken = [...document.querySelectorAll('.jupyter-widgets')].filter(
    node => /^Error (displaying|creating) widget/.test(node.textContent));
  const shown = [...document.querySelectorAll('.lab-error')].filter(node => node.textContent.trim());
  return [...red, ...broken, ...shown].map(node => node.textContent.trim());
}"""


# What of a page's pictures cannot be read: text that has too little contrast with what is behind it, where that
# is no shade, and grounds of their own.
UNREAD = """() => {
  const channels = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (colour) => channels(colour).slice(0, 3).map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, i) => sum + one * [0.2126, 0.7152, 0.0722][i], 0);
  const clear = (colour) => colour === "transparent" || channels(colour)[3] === 0;
  const behind = (one) => {
    while (one && clear(getComputedStyle(one).backgroundColor)) one = one.parentElement;
    return one ? getComputedStyle(one).backgroundColor : "rgb(255, 255, 255)";
  };
  const places = [".jp-OutputArea", "body:not([data-jp-theme-light])", ".lab-explorer"], found = [];
  const all = document.querySelectorAll(places.map((place) => `${place} svg`).join());
  const plots = [...all].filter((svg) => svg.getBoundingClientRect().width > 1);
  for (const svg of plots) {
    const page = behind(svg.parentElement);
    const grounds = [getComputedStyle(svg).backgroundColor, ...[...svg.querySelectorAll("rect.bg")].map((one) => {
      const { fill, fillOpacity } = getComputedStyle(one);
      return fillOpacity === "0" ? "transparent" : fill;
    })];
    for (const ground of grounds)
      if (ground !== page && !clear(ground)) found.push(`a ground of ${ground} on ${page}`);
    const shaded = svg.closest(".js-plotly-plot")?.querySelector(".heatmaplayer image");
    for (const text of svg.querySelectorAll("text")) {
      if (!text.textContent.trim() || text.closest(".hoverlayer, .heatmap-label")) continue;
      if (shaded && text.closest(".textpoint")) continue;
      const { fill, visibility } = getComputedStyle(text);
      const [low, high] = [light(page), light(fill)].sort((a, b) => a - b);
      if (visibility === "visible" && (high + 0.05) / (low + 0.05) < 4.5)
        found.push(`${fill} on ${page}: ${text.textContent}`);
    }
  }
  return plots.length ? found : ["no picture"];
}"""


# Exceptions of which nothing is seen. ipywidgets throws the first where a box is closed while its view is made, as
# tqdm's bar is after a short training; the second after a notebook was closed that was open on the page before.
SLIPS = tuple((f"of null (reading '{name}')", "jupyterlab-manager") for name in ("widgets", "kernel"))


def notebook_of(*sources: str):
    """A notebook with these code cells."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source.strip()) for source in sources])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def choosing(menu, name):
    """An action that chooses in a menu. The key only starts the clock: a headless browser's menus know none."""
    return lambda: (menu.press("Shift"), menu.select_option(name))


@dataclass
class Notebook:
    """A notebook open in JupyterLab on a browser's page. Waits in seconds, redraw times in milliseconds."""

    page: Page
    thrown: list[str] = field(default_factory=list)  # exceptions of the page's own scripts
    address: str = ""  # of the page with the notebook, in an empty workspace

    def open(self, server: Server, path: str):
        """Open the notebook at a path of the server, alone on the page; ready when its kernel is idle.

        Where the page has JupyterLab already, it is not loaded again.
        """
        self.address = f"{server.url}/lab/workspaces/{path.split('/')[0]}/tree/{path}?reset&token={server.token}"
        if self.page.url.startswith(server.url):
            self.page.evaluate(OPEN, path)
        self.page.on("pageerror", self._note)
        if not self.page.url.startswith(server.url):
            self.page.goto(self.address)
        self._until(lambda state: state["kernel"] == "idle", START, "the kernel")
        return self

    def reload(self):
        """Load the page anew, with the notebook as it was saved."""
        self.page.goto(self.address)

    def run_all(self, timeout: float = RUN):
        """Run → Run All Cells; returns when the last cell has finished, or one has failed."""
        last = max((cell["count"] for cell in self._state()["cells"]), default=0)
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()

        def finished(state):
            run = [cell for cell in state["cells"] if cell["count"] > last]
            complete = len(run) == len(state["cells"]) or any(cell["failed"] for cell in run)
            return state["kernel"] == "idle" and complete

        self._until(finished, timeout, "all cells to finish")

    def text(self, words: str, **settings):
        """Where these words are seen; what a saved notebook has besides, for where no kernel is, is hidden."""
        return self.page.get_by_text(words, **settings).filter(visible=True)

    def errors(self) -> list[str]:
        """All that shows as an error: tracebacks and red text in cells and widgets, script errors; not what a busy
        machine announces to take long."""
        shown = [text for text in self.page.evaluate(ERRORS) if not ANNOUNCED.fullmatch(text)]
        return shown + self.thrown

    def until(self, holds, what: str, timeout: float = LOOK):
        """Wait until `holds()`, which reads the page, is true: what a person does leads to what it does a moment later.

        For what Playwright's `expect` has no word for.
        """
        end = time.monotonic() + timeout
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"waited {timeout:.0f} s until {what}; errors: {self.errors()}")
            self.page.wait_for_timeout(50)

    def until_data(self, plot: Locator, condition: str, arg=None):
        """Wait until `condition`, a function of JavaScript (plot, arg) → bool, is true of a Plotly figure."""
        self.page.wait_for_function(f"([plot, arg]) => ({condition})(plot, arg)", arg=[plot.element_handle(), arg])

    def until_redrawn(self, plot: Locator, before: str):
        """Wait until a figure no longer shows what `drawn` said before."""
        self.page.wait_for_function(REDRAWN, arg=[plot.element_handle(), before], polling=100)

    def figure(self, index: int = 0) -> Locator:
        """The Plotly figure with this number on the page, drawn."""
        plot = self.page.locator(".js-plotly-plot").nth(index)
        plot.locator(".main-svg").first.wait_for()
        plot.scroll_into_view_if_needed()
        return plot

    def explored(self, count: int) -> list[Locator]:
        """The Plotly figures of explorers, in order, once there are so many; those of `lab.figure` are no widgets."""
        plots = self.page.locator(".jupyter-widgets .js-plotly-plot")
        expect(plots).to_have_count(count)
        return [plots.nth(number) for number in range(count)]

    def slider(self, label: str) -> Locator:
        """The handle of the ipywidgets slider with this description; `.press("ArrowRight")` is one step."""
        return self._control(label).locator(".noUi-handle").first

    def dropdown(self, label: str) -> Locator:
        """The ipywidgets drop-down with this description; `.select_option("…")` chooses."""
        return self._control(label).locator("select")

    def button(self, text: str) -> Locator:
        """The ipywidgets button with this text."""
        return self.page.locator("button.widget-button").filter(has_text=text)

    def drawn(self, plot: Locator) -> str:
        """What a figure shows, as text: equal texts look the same."""
        return plot.evaluate(DRAWN)

    def still(self, plot: Locator) -> None:
        """Wait until a figure changes no more."""
        plot.evaluate(STILL)

    def redraw(self, plot: Locator, action, timeout: float = LOOK) -> float:
        """Milliseconds from the key or mouse press in `action()` to the frame that shows `plot` changed."""
        plot.evaluate(WATCH)
        action()
        took = self.page.evaluate(AWAIT, timeout * 1000)
        assert took is not None, f"the figure did not change in {timeout:.0f} s; errors: {self.errors()}"
        return took

    def click_point(self, plot: Locator, x, y, subplot: str = "xy"):
        """Click a figure where its data say (x, y); categories by name."""
        self.hover_point(plot, x, y, subplot)  # Plotly clicks on what it hovers over
        self.page.mouse.down()
        self.page.mouse.up()

    def hover_point(self, plot: Locator, x, y, subplot: str = "xy"):
        """Move the mouse to where a figure's data say (x, y)."""

        def moved():
            (across, down), *_ = pixels = self._pixels(plot, [(x, y)], subplot)
            self.page.mouse.move(across - 3, down - 3)
            self.page.mouse.move(across, down, steps=3)
            return self._pixels(plot, [(x, y)], subplot) == pixels

        self.until(moved, f"the mouse is at {(x, y)}, and the figure stays where it is")

    def _pixels(self, plot: Locator, points, subplot: str) -> list:
        """Where points of a figure's data are on the page, once it is ready for the mouse and stays where it is."""
        plot.scroll_into_view_if_needed()

        def read():
            return [plot.evaluate(PIXEL, [x, y, subplot]) for x, y in points]

        self.until(lambda: None not in sum(read(), []), f"the figure is ready, with {points[0]} on its axes")
        plot.element_handle().wait_for_element_state("stable")
        return read()

    def screenshot(self, path: Path):
        """The whole notebook as a PNG, however long."""
        size = self.page.viewport_size
        length = "document.querySelector('.jp-WindowedPanel-inner')?.scrollHeight ?? 800"
        height = self.page.evaluate(length)
        self.page.set_viewport_size({"width": size["width"], "height": min(height + 200, 16_000)})
        for plot in self.page.locator(".js-plotly-plot:visible").all():
            self.still(plot)  # figures follow the size of the window
        self.page.screenshot(path=path)
        self.page.set_viewport_size(size)

    def _note(self, error):
        text = f"page script: {error.stack or error}"
        if not any(all(part in text for part in slip) for slip in SLIPS):
            self.thrown.append(text)

    def close(self):
        """Stop the kernel, and take the notebook off the page."""
        self.page.remove_listener("pageerror", self._note)
        self.page.evaluate(CLOSE)

    def _control(self, label: str) -> Locator:
        boxes = self.page.locator(".widget-inline-hbox, .widget-inline-vbox")
        return boxes.filter(has=self.page.get_by_text(label, exact=True))

    def _state(self) -> dict:
        return self.page.evaluate(STATE)

    def _until(self, condition, timeout: float, what: str):
        end = time.monotonic() + timeout
        while not condition(state := self._state()):
            if time.monotonic() > end:
                raise TimeoutError(f"waited {timeout:.0f} s for {what}: {state}; errors: {self.errors()}")
            self.page.wait_for_timeout(100)
