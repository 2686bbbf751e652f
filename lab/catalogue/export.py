"""Images of a figure: a Chrome draws them, in a process of its own, so that its failures cost the image and no more.

Run as a script, `export.py FIGURE.json SCALE IMAGE...` writes the images and imports nothing of the lab.
"""

import html
import io
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

COLOURS = 112  # of an image, which with twice as many is an eighth larger
SECONDS = 120.0  # for Chrome to start and draw; 4 s are usual
FORMATS = ("png", "svg")  # of a figure's files; a PDF is made where it is asked for
PAGE = "<!DOCTYPE html><title>{}</title><style>@page{{size:{}in {}in;margin:0}}body{{margin:0}}</style>{}"
ADVICE = (
    "for figure.png and figure.svg install the `export` extra (pip install kaleido) and Chrome or Chromium"
    " (apt install chromium, or plotly_get_chrome), then run this again"
)
AGAIN = "Chrome is installed; the machine may be busy or short of memory, so run this again when it is less so"


class NoImages(Exception):
    """No image could be made; the text says why in one line."""

    @property
    def advice(self) -> str:
        """What to do: something is to be installed, or it is to be tried again."""
        return AGAIN if find_spec("kaleido") and browser() else ADVICE


def browser() -> str | None:
    """Path of the Chrome or Chromium that draws PNG, SVG and PDF, or None."""
    try:
        from choreographer.browsers.chromium import Chromium
    except ImportError:
        return None
    path = Chromium.find_browser(skip_local=False)
    return path if path and os.access(path, os.X_OK) else None  # BROWSER_PATH may name anything


def images(
    figure_json: str, scale: float = 2.0, seconds: float = SECONDS, formats: Sequence[str] = FORMATS
) -> dict[str, bytes]:
    """The figure, which gives its width and height, as PNG (`scale` pixels to a px), SVG or PDF, by format.

    Raises NoImages.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "figure.json").write_text(figure_json, encoding="utf-8")
        targets = [folder / f"figure.{kind}" for kind in formats]
        # -P: this file's folder must not come first on the module path
        command = [sys.executable, "-P", __file__, str(folder / "figure.json"), str(scale), *map(str, targets)]
        _run(command, targets, seconds)
        pictures = {kind: target.read_bytes() for kind, target in zip(formats, targets, strict=True)}
        return pictures | ({"png": with_palette(pictures["png"])} if "png" in pictures else {})


def pdf(svg: str, width: float, height: float, title: str, seconds: float = SECONDS) -> bytes:
    """An SVG of so many inches as a PDF of one page, its fonts in it. Raises NoImages."""
    if (chrome := browser()) is None:
        raise NoImages("no Chrome was found" if find_spec("kaleido") else "the package kaleido is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        page, target = Path(name, "page.html"), Path(name, "figure.pdf")
        page.write_text(PAGE.format(html.escape(title), width, height, svg), encoding="utf-8")
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-pdf-header-footer",
            f"--user-data-dir={name}/user",
        ]
        _run([chrome, *options, f"--print-to-pdf={target}", page.as_uri()], [target], seconds)
        return target.read_bytes()


def _run(command: Sequence[str], targets: Sequence[Path], seconds: float) -> None:
    """Run a command that writes these files. Raises NoImages where it does not."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        except OSError as error:
            raise NoImages(str(error)) from error
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise NoImages(f"Chrome did not finish in {seconds:g} s") from None
        finally:
            _end(process)  # on every way out, a key press included
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines()
    if code or not all(target.is_file() for target in targets):
        raise NoImages(said[-1] if said else f"exit code {code}")


def with_palette(png: bytes) -> bytes:
    """The same image with at most `COLOURS` colours, a third of its size or less; as it was, where Pillow is not there.

    One by one the colour is kept that is frequent and far from those before it, so that neither two colours of a legend
    become one nor that of a thin line is lost; the others become the nearest.
    """
    try:
        import numpy as np
        from PIL import Image
    except ImportError:
        return png
    smaller = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        pixels = np.asarray(image.convert("RGB"))
    every, index, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    every, nearest, off = every.astype(int), np.zeros(len(every), np.uint8), np.full(len(every), np.inf)
    palette: list[np.ndarray] = []
    follows = int(counts.argmax())
    while len(palette) < COLOURS and off.any():
        distance = np.square(every - every[follows]).sum(1)
        nearest[distance < off] = len(palette)
        palette.append(every[follows])
        off = np.minimum(off, distance)
        follows = int((np.sqrt(counts) * off).argmax())
    few = Image.fromarray(nearest[index].reshape(pixels.shape[:2]), mode="P")
    few.putpalette(np.array(palette, np.uint8).tobytes())
    few.save(smaller, "PNG", optimize=True)
    return min(png, smaller.getvalue(), key=len)


def _end(process: subprocess.Popen) -> None:
    """End the process and whatever it started; Chrome has a session of its own, so that a group does not hold it."""
    for pid in [*_started_by(process.pid), process.pid] if process.poll() is None else []:
        try:
            os.kill(pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        except (ProcessLookupError, PermissionError):
            pass  # ended by itself
    process.wait()


def _started_by(pid: int) -> list[int]:
    """Descendants of a process, on Linux. Elsewhere none are known, and Chrome ends when its pipe closes."""
    children = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += [int(child) for child in task.read_text(encoding="utf-8").split()]
        except OSError:
            pass  # the thread has ended
    return [other for child in children for other in (*_started_by(child), child)]


def _main(figure: str, scale: str, *targets: str) -> None:
    import plotly.io

    plot = plotly.io.from_json(Path(figure).read_text(encoding="utf-8"))
    count, size = len(targets), plot.layout  # said again, because kaleido's own defaults would win over the layout's
    plotly.io.write_images(
        [plot] * count,
        list(targets),
        scale=[float(scale)] * count,
        width=[size.width] * count,
        height=[size.height] * count,
    )


if __name__ == "__main__":
    _main(*sys.argv[1:])
