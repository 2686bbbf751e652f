"""LatentExplorer: the latent codes of a trained model as a map, what can be read from them, and the problems behind."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import ipywidgets as widgets
import numpy as np

from lab.errors import ArgumentError, check_whole, shown
from lab.plots.embedding import NAMES
from lab.run import Run
from lab.widgets import views
from lab.widgets.compatibility import SIDE
from lab.widgets.difference import difference, paragraph
from lab.widgets.explorer import LABEL, Explorer, live
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
        self._selected = np.array([], int)
        self._groups: dict[int, np.ndarray | None] = {views.A: None, views.B: None}
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
        self.take = {name: widgets.Button(description=f"selection → {name}") for name in "AB"}
        for button in self.take.values():
            button.tooltip = "the points inside the line that was drawn last"
        self.clear = widgets.Button(description="clear A and B")
        self.difference, self.problem = widgets.HTML(), widgets.HTML()

        self.chosen = 0
        self.map = views.map_frame([self.problems.hover(i) for i in range(examples)])
        self.bars, self.heads = views.bars_frame(), views.heads_frame(self.reading.codes(self._place()).shape[1])
        self.reading.map(*self._map())
        self.reading.decoding(self._place(), self.colour.value)
        self._redraw()
        self._bars()
        heights = [(name, getattr(self, name).layout.height) for name in ("map", "bars", "heads")]
        self.map, self.bars, self.heads = (live(getattr(self, name), height) for name, height in heights)
        points = self.map.data[views.POINTS]
        points.on_click(self._click)
        points.on_selection(self._select)
        self.arrange(
            [self.layer, self.query, self.key],
            [self.colour, self.method, self.perplexity, self.computing],
            _beside(self.map, self.bars),
            [*self.take.values(), self.clear],
            self.difference,
            _beside(self.problem, self.heads),
        )
        self.watch(self._ask, self.layer, self.query, self.key, self.method, self.perplexity)
        self.watch(self._colour, self.colour)
        self.press(lambda: self._take(views.A), self.take["A"])
        self.press(lambda: self._take(views.B), self.take["B"])
        self.press(self._clear, self.clear)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until what the controls ask for is computed; whether it is."""
        worker = self._worker
        if worker is not None:
            worker.join(timeout)
        return worker is None or not worker.is_alive()

    def _settle(self) -> None:
        self.wait()

    def _marks(self) -> dict[str, tuple]:
        groups = {
            views.RINGS[trace][0]: (
                lambda trace=trace: None if self._groups[trace] is None else self._groups[trace].tolist(),
                lambda which, trace=trace: self._mark(trace, which),
            )
            for trace in self._groups
        }
        return {"chosen": (lambda: self.chosen, self._choose), **groups}

    def _choose(self, number: int) -> None:
        """Look at a problem."""
        self.chosen = check_whole("state: chosen", number, 0, len(self.problems) - 1)
        with self.map.batch_update():
            self._rings()
        self._show_problem()

    def _mark(self, trace: int, which: Sequence[int] | None) -> None:
        """Let these problems be A or B."""
        name = f"state: {views.RINGS[trace][0]}"
        if which is not None:
            if not isinstance(which, (list, tuple)) or not which:
                raise ArgumentError(f"{name}={shown(which)}; give numbers of problems, or None")
            which = np.array(sorted({check_whole(name, one, 0, len(self.problems) - 1) for one in which}))
        self._groups[trace] = which
        with self.map.batch_update():
            self._rings()
        self._tell_apart()

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
        """Other colours; what a decoder says of them may have to be computed."""
        with self.map.batch_update():
            self._paint()
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
                    self.show(error)
                return
            with self.safely():
                self._draw_known()
                left = self._missing()
                self.computing.value = f"<i>computing {left[2]} …</i>" if left else ""

    def _redraw(self) -> None:
        """The map that the controls ask for, and all that goes with it."""
        points, trust = self.reading.map(*self._map())
        with self.map.batch_update():
            views.fill_map(self.map, points, trust, self.method.value, f"layer {self.layer.value}")
            self._drawn = self._map()
            self._paint()
            self._rings()
        self._unselect()
        self._show_problem()
        self._describe()
        self._tell_apart()

    def _paint(self) -> None:
        colours = self.problems.colours(self.problems.unseen, self._drawn[0][1])
        views.colour_map(self.map, colours[self.colour.value], self.colour.value)

    def _rings(self) -> None:
        points, _ = self.reading.map(*self._drawn)
        for trace, group in {views.CHOSEN: np.array([self.chosen]), **self._groups}.items():
            views.ring(self.map, trace, points, group)

    def _bars(self) -> None:
        asked = self._place(), self.colour.value
        if self.reading.has_decoding(*asked):
            found = self.reading.decoding(*asked)
            names = [] if isinstance(found, str) else [self.problems.word(label) for label in found.classes]
            with self.bars.batch_update():
                views.fill_bars(self.bars, found, names, self.problems.decoded(self.colour.value))

    def _click(self, trace, points, state) -> None:
        with self.safely():
            if points.point_inds:
                self._choose(int(points.point_inds[0]))

    def _select(self, trace, points, selector) -> None:
        if points.point_inds:  # none: the page says that it removed a line, maybe after the next has been drawn
            with self.safely():
                self._selected = np.array(sorted(points.point_inds), int)

    def _unselect(self) -> None:
        if len(self._selected):
            views.unselect(self.map)
            self._selected = np.array([], int)

    def _take(self, group: int) -> None:
        name = views.RINGS[group][0]
        if not len(self._selected):
            raise ArgumentError(f"nothing is selected; draw a line around some points of the map, then press → {name}")
        self._groups[group] = self._selected
        with self.map.batch_update():
            self._rings()
        self._unselect()  # or else the next line that is drawn would move this one
        self._tell_apart()

    def _clear(self) -> None:
        self._groups = {views.A: None, views.B: None}
        with self.map.batch_update():
            self._rings()
        self._unselect()
        self._tell_apart()

    def _tell_apart(self) -> None:
        """What tells A from B, in the layer that is shown."""
        a, b = self._groups.values()
        if a is None or b is None:
            there = [
                f"{views.RINGS[trace][0]} has {len(group)} problems. "
                for trace, group in self._groups.items()
                if group is not None
            ]
            self.difference.value = paragraph(
                "".join(there) + "Draw a line around a cluster of the map and press"
                " <i>selection → A</i>, then around another for B."
            )
            return
        self.difference.value = ""  # where there is no comparison, that of others must not stay
        place = self._drawn[0]
        names, (points, _) = self.problems.traits(self.problems.unseen, place[1])[0], self.reading.map(*self._drawn)
        found = self.reading.contrast(place, a, b, points)
        self.difference.value = difference(found, names, self.problems.trait, (len(a), len(b)), place[0] + 1)

    def _show_problem(self) -> None:
        (layer, query, key), i, part = self._drawn[0], self.chosen, self.problems.unseen
        codes, (names, has) = self.reading.codes((layer, query, key)), self.problems.traits(part, query)
        like = (has == has[i]).all(1)
        own = " and ".join(name for name, mine in zip(names, has[i], strict=True) if mine)
        tokens = self.problems.tokens
        title = f"Problem {i}, layer {layer + 1}: “{tokens[query]}” attends to “{tokens[key]}”"
        with self.heads.batch_update():
            views.fill_heads(self.heads, codes[i], codes[like].mean(0), f"mean of all with {own}", title)
        self.problem.value = f'<div style="line-height: 1.4">{self.problems.show(i)}</div>'

    def _describe(self) -> None:
        words = self.problems
        said = (
            f"{words.name}: {len(words)} problems of unseen combinations, {words.score}: {words.accuracy}. A point"
            " is the scores over heads of the query token for the key token. Trust: of nearest neighbours. Decoders"
            f" learn from seen combinations.{words.notation}"
        )
        if self._drawn[0][1] not in words.task.positions:
            said += f" Nothing is asked of the query token: {words.trait}, target and answer are those of the last."
        self.say(said)


def _beside(*parts: widgets.Widget) -> widgets.HBox:
    """Beside each other where the page is wide enough, else one below the other."""
    return widgets.HBox([widgets.VBox([part], layout=SIDE) for part in parts], layout={"flex_flow": "row wrap"})
