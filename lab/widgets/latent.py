"""LatentExplorer: the latent codes of a trained model as a map, what can be read from them, and the problems behind."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

import ipywidgets as widgets
import numpy as np

from lab.errors import ArgumentError, check_whole
from lab.plots.latent_codes import NAMES
from lab.run import Run
from lab.widgets import views
from lab.widgets.compatibility import SIDE
from lab.widgets.difference import difference
from lab.widgets.explorer import LABEL, Explorer
from lab.widgets.groups import Groups
from lab.widgets.hosted import hosted_page, short
from lab.widgets.latent_view import LatentView, colouring
from lab.widgets.live_figure import live
from lab.widgets.reading import Reading

EXAMPLES, FEW = 800, 120  # t-SNE of 800 takes a few seconds
PERPLEXITY = 30
METHODS = ("tsne", "pca", "umap")
LEAST = 12  # examples: a map's trustworthiness looks at five neighbours


class LatentExplorer(Explorer):
    """Each point of the map is a problem with a combination of rules (terms) that training never saw: the attention
    scores over heads of one query token for one key token, in one layer (hypernetwork paper, Section 2.1).

    run: a trained run on SRAVEN or fuzzy logic, as `lab.trained` gives it. examples: how many problems to look at.
    Click a point to see its problem; draw a line around two clusters, one after the other, and call them A and B, to
    see what their problems differ in.

    >>> from lab.api import trained
    >>> explorer = LatentExplorer(trained("sraven", scale="smoke", progress=False), examples=50)
    >>> explorer.layer.value, explorer.query.label
    (4, 'answer B')
    """

    def __init__(self, run: Run, examples: int = EXAMPLES):
        super().__init__()
        if check_whole("examples", examples) < LEAST:
            raise ArgumentError(f"examples={examples}: a map needs {LEAST} or more; a few hundred are good")
        self.reading = Reading(run, examples)
        self.problems = self.reading.problems
        self._worker: threading.Thread | None = None

        tokens, last = [(name, token) for token, name in enumerate(self.problems.tokens)], len(self.problems.tokens) - 1
        layers = range(1, self.reading.layers + 1)
        self.layer = widgets.Dropdown(description="layer", options=layers, value=layers[-1], style=LABEL)
        self.query = widgets.Dropdown(description="query token", options=tokens, value=last, style=LABEL)
        self.key = widgets.Dropdown(description="key token", options=tokens, value=last, style=LABEL)
        colours = list(self.problems.colours(self.problems.unseen, last))
        self.colour = widgets.Dropdown(description="colour by", options=colours, style=LABEL)
        methods = [(NAMES[name], name) for name in METHODS]
        self.method = widgets.Dropdown(description="map", options=methods, value="tsne", style=LABEL)
        self.method.tooltip = "UMAP takes half a minute when it is first used"
        most = (examples - 1) // 3
        self.perplexity = widgets.IntSlider(
            min(PERPLEXITY, most), 2, min(100, most), description="perplexity", style=LABEL, continuous_update=False
        )
        self.computing = widgets.HTML()
        self.problem = widgets.HTML()

        self.bars = views.bars_frame()
        self.map = LatentView(texts=[self.problems.hover(i).replace("<br>", "\n") for i in range(examples)])
        self.groups = Groups(self.map, self._contrast)
        self.reading.map(*self._map())
        self.reading.decoding(self._place(), self.colour.value)
        self._redraw()
        self._bars()
        self.bars = live(self.bars, self.bars.layout.height)
        self.map.follow(self.colour, "colour")
        self.arrange(
            [self.layer, self.query, self.key],
            [self.colour, self.method, self.perplexity, self.computing],
            self.map,
            self.groups.buttons,
            self.groups.difference,
            _side_by_side(self.problem, self.bars),
        )
        self.watch(self._ask, self.layer, self.query, self.key, self.method, self.perplexity)
        self.watch(self._colour, self.colour)
        self.map.observe(self._chosen, "chosen")
        for name, button in self.groups.take.items():
            self.press(partial(self.groups.take_selected, name), button)
        self.press(self.groups.forget, self.groups.clear)

    def page(self) -> str:
        """The map, to be explored without a kernel: other colours, groups, the code of each point."""
        title = "<p>The problem that was chosen when this page was saved:</p>"  # others take the kernel to draw
        view, problem = self.map, {"view": "words", "html": title + self.problem.value}
        words = f"{self.status.value}{self.groups.difference.value if view.a and view.b else ''}"
        return hosted_page("Latent codes", view, self.code(), words, self._table(), [problem])

    def _table(self) -> dict[str, Sequence]:
        view = self.map
        points: dict[str, Sequence] = {"x": [x for x, _ in view.points], "y": [y for _, y in view.points]}
        return points | {one["name"]: one["labels" if "labels" in one else "values"] for one in view.colourings}

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until what the controls ask for is computed; whether it is."""
        worker = self._worker
        if worker is not None:
            worker.join(timeout)
        return worker is None or not worker.is_alive()

    def _settle(self) -> None:
        self.wait()

    def _marks(self) -> dict[str, tuple]:
        return {"chosen": (lambda: self.map.chosen, self._choose), **self.groups.marks}

    def _choose(self, number: int) -> None:
        """Look at a problem."""
        self.map.chosen = check_whole("state: chosen", number, 0, len(self.problems) - 1)

    def _chosen(self, _) -> None:
        """The page has shown the code of another point; its problem takes the kernel."""
        with self.safely():
            self._show_problem()

    def _place(self) -> tuple[int, int, int]:
        return self.layer.value - 1, self.query.value, self.key.value

    def _map(self) -> tuple:
        """What `Reading.map` needs; the slider means nothing to PCA."""
        method = self.method.value
        return self._place(), method, None if method == "pca" else float(self.perplexity.value)

    def _ask(self) -> None:
        """Another map: drawn at once where it is known, else as soon as it is."""
        self.perplexity.disabled = self.method.value == "pca"
        self._draw_known()
        self._compute()

    def _colour(self) -> None:
        """Other colours, which the page has; what a decoder says of them may have to be computed."""
        self._draw_known()
        self._compute()

    def _draw_known(self) -> None:
        """The map and the decoder that the controls ask for, as far as they are known."""
        if self._map() != self._drawn and self.reading.has_map(*self._map()):
            self._redraw()
        self._bars()

    def _missing(self) -> tuple | None:
        """What the controls ask for and is not known: a function of the reading and its arguments."""
        if not self.reading.has_map(*self._map()):
            return self.reading.map, self._map(), f"a {NAMES[self.method.value]} map of {len(self.problems)} codes"
        asked = self._place(), self.colour.value
        if not self.reading.has_decoding(*asked):
            return self.reading.decoding, asked, "a decoder and its controls"
        return None

    def _compute(self) -> None:
        """Begin to compute what is missing, in the background: the controls stay free."""
        missing = self._missing()
        self.computing.value = f"<i>computing {missing[2]} …</i>" if missing else ""
        if missing and self._worker is None:
            self._worker = threading.Thread(target=self._work, daemon=True)
            self._worker.start()

    def _work(self) -> None:
        """Compute whatever the controls ask for now, until nothing is missing."""
        while True:
            with self.lock:
                missing = self._missing()
                if missing is None:
                    self._worker = None
                    return
            try:
                missing[0](*missing[1])
            except Exception as error:
                with self.lock:
                    self._worker, self.computing.value = None, ""
                    self.error.show(error)
                return
            with self.safely():
                self._draw_known()
                left = self._missing()
                self.computing.value = f"<i>computing {left[2]} …</i>" if left else ""

    def _redraw(self) -> None:
        """The map that the controls ask for, and all that goes with it."""
        points, trust = self.reading.map(*self._map())
        self._drawn = place, method, _ = self._map()
        words = views.trusted(trust) if trust == trust else "all problems have one code here"
        part, query = self.problems.unseen, place[1]
        names, has = self.problems.traits(part, query)
        with self.map.hold_sync():
            self.map.points = [short(point) for point in points]
            self.map.title = f"{NAMES[method]} of codes, layer {place[0] + 1}\n{words}"
            self.map.colourings = [colouring(*one) for one in self.problems.colours(part, query).items()]
            self.map.codes = [short(code) for code in self.reading.codes(place)]
            self.map.kinds = [" and ".join(name for name, mine in zip(names, row, strict=True) if mine) for row in has]
            self.map.selected = []
        self._show_problem()
        self._describe()
        self.groups.draw()

    def _bars(self) -> None:
        asked = self._place(), self.colour.value
        if self.reading.has_decoding(*asked):
            decoding = self.reading.decoding(*asked)
            names = [] if isinstance(decoding, str) else [self.problems.word(label) for label in decoding.classes]
            with self.bars.batch_update():
                views.fill_bars(self.bars, decoding, names, self.problems.decoded(self.colour.value))

    def _contrast(self, a: np.ndarray, b: np.ndarray) -> str:
        """What two groups of problems differ in, in the layer that is shown."""
        place = self._drawn[0]
        names, (points, _) = self.problems.traits(self.problems.unseen, place[1])[0], self.reading.map(*self._drawn)
        contrast = self.reading.contrast(place, a, b, points)
        return difference(contrast, names, self.problems.trait, (len(a), len(b)), place[0] + 1)

    def _show_problem(self) -> None:
        self.problem.value = f'<div style="line-height: 1.4">{self.problems.show(self.map.chosen)}</div>'

    def _describe(self) -> None:
        words = self.problems
        said = (
            f"{words.name}: {len(words)} problems of unseen combinations, {words.score}: {words.accuracy}. A point"
            " is the scores over heads of the query token for the key token. Trust: whether neighbours on the map are"
            " neighbours among the codes, too (1: all are). Decoders"
            f" learn from seen combinations.{words.notation}"
        )
        if self._drawn[0][1] not in words.task.positions:
            said += f" Nothing is asked of the query token: {words.trait}, target and answer are those of the last."
        self.say(said)


def _side_by_side(*parts: widgets.Widget) -> widgets.HBox:
    """Next to each other where the page is wide enough, else one below the other."""
    return widgets.HBox([widgets.VBox([part], layout=SIDE) for part in parts], layout={"flex_flow": "row wrap"})
