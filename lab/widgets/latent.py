"""LatentExplorer: the latent codes of a trained model as a map, what can be read from them, and the problems behind."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ipywidgets as widgets
import numpy as np
import traitlets
from plotly.colors import sequential

from lab.errors import ArgumentError, check_whole, shown
from lab.plots.latent_codes import NAMES, in_order, look
from lab.run import Run
from lab.widgets import drawing, pages
from lab.widgets.course import CourseView, StepSlider
from lab.widgets.explorer import LABEL, Explorer, menu, side_by_side
from lab.widgets.pages import Content, live, short, view_content
from lab.widgets.problems import TABLE, Reading

EXAMPLES, FEW = 800, 120  # t-SNE of 800 takes a few seconds
LEAST = 12  # examples: a map's trustworthiness looks at five neighbours
PERPLEXITY = 30
METHODS = ("tsne", "pca", "umap")
GROUPS = ("A", "B")


class LatentView(CourseView):
    """The map and the code of the chosen point; what the traits hold is said in `page/latent.js`."""

    name, _esm = "latent", pages.widget("latent.js")

    points: traitlets.List = traitlets.List().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    texts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    colourings = traitlets.List(traitlets.Dict()).tag(sync=True)
    colour = traitlets.Int(0).tag(sync=True)
    chosen = traitlets.Int(0).tag(sync=True)
    selected = traitlets.List(traitlets.Int()).tag(sync=True)
    a = traitlets.List(traitlets.Int()).tag(sync=True)
    b = traitlets.List(traitlets.Int()).tag(sync=True)
    codes: traitlets.List = traitlets.List().tag(sync=True)
    kinds = traitlets.List(traitlets.Unicode()).tag(sync=True)
    colours = traitlets.List(traitlets.Unicode(), list(sequential.Cividis)).tag(sync=True)


def colouring(name: str, values: np.ndarray) -> dict[str, Any]:
    """Labels with their looks, or numbers, as the page reads them."""
    if values.dtype.kind != "U":
        return {"name": name, "values": short(values)}
    labels = [str(label) for label in in_order(np.unique(values))]
    looks = {label: list(mark) for label, mark in look(labels).items()}
    return {"name": name, "labels": values.tolist(), "looks": looks}


class Groups:
    """Buttons that put the selected points of a map into A or B, and a text that compares them.

    view: the map. compare: (A, B), numbers of problems, → what they differ in, as HTML.
    """

    def __init__(self, view: LatentView, compare: Callable[[np.ndarray, np.ndarray], str]):
        self._view, self._compare = view, compare
        self._chosen: dict[str, list[int] | None] = dict.fromkeys(GROUPS)
        tooltip = "the points inside the line that was drawn last"
        self.take = {name: widgets.Button(description=f"selection → {name}", tooltip=tooltip) for name in GROUPS}
        self.clear = widgets.Button(description="clear A and B")
        self.difference = widgets.HTML()

    @property
    def marks(self) -> dict[str, tuple[Callable, Callable]]:
        """How the groups are read, and how they are put, by name: for the state of an explorer."""
        return {name: (partial(self._chosen.get, name), partial(self._put, name)) for name in GROUPS}

    def take_selected(self, name: str) -> None:
        """Let the selected problems be A or B. Raises ArgumentError where none is selected."""
        if not self._view.selected:
            raise ArgumentError(f"nothing is selected; draw a line around some points of the map, then press → {name}")
        self._chosen[name] = sorted(self._view.selected)
        self._view.selected = []
        self.draw()

    def forget(self) -> None:
        """No problem is in A or B."""
        self._chosen.update(dict.fromkeys(GROUPS))
        self._view.selected = []
        self.draw()

    def draw(self) -> None:
        """Rings around the problems on the map; what A and B differ in, where both are there."""
        a, b = self._chosen.values()
        self._view.a, self._view.b = a or [], b or []
        self.difference.value = ""  # where they cannot be compared, the comparison of others must not stay
        if a and b:
            said = self._compare(np.array(a), np.array(b))
        else:
            said = "".join(f"{name} has {len(group)} problems. " for name, group in self._chosen.items() if group)
            said += "Draw a line around a cluster of the map and press <i>selection → A</i>, then around another for B."
        self.difference.value = f'<div class="lab-difference" style="line-height: 1.4; max-width: 50rem">{said}</div>'

    def _put(self, name: str, which: Sequence[int] | None) -> None:
        said = f"state: {name}"
        if which is not None:
            if not isinstance(which, (list, tuple)) or not which:
                raise ArgumentError(f"{said}={shown(which)}; give numbers of problems, or None")
            which = sorted({check_whole(said, one, 0, len(self._view.points) - 1) for one in which})
        self._chosen[name] = which
        self.draw()


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

        tokens, last = [(name, token) for token, name in enumerate(self.problems.tokens)], len(self.problems.tokens) - 1
        layers = range(1, self.reading.layers + 1)
        self.layer = menu("layer", layers, layers[-1])
        self.query, self.key = menu("query token", tokens, last), menu("key token", tokens, last)
        self.colour = menu("colour by", list(self.problems.colours(self.problems.unseen, last)))
        self.method = menu("map", [(NAMES[name], name) for name in METHODS])
        self.method.tooltip = "UMAP takes half a minute when it is first used"
        most = (examples - 1) // 3
        self.perplexity = widgets.IntSlider(
            min(PERPLEXITY, most), 2, min(100, most), description="perplexity", style=LABEL, continuous_update=False
        )
        self.computing, self.problem = widgets.HTML(), widgets.HTML()
        self.step = StepSlider(self.reading.steps)
        self.forgotten = () if self.reading.steps else ("step",)
        if self.reading.steps:  # a map of all checkpoints is there at once
            self.method.value = "pca"

        self.bars = drawing.bars_frame()
        texts = [self.problems.hover(i).replace("<br>", "\n") for i in range(examples)]
        self.map = LatentView(texts=texts, steps=self.step.steps)
        self.groups = Groups(self.map, self._contrast)
        self.reading.map(*self._map())
        self.reading.decoding(self._place(), self.problems.decoded(self.colour.value))
        self._redraw()
        self._bars()
        self.bars = live(self.bars)
        self.map.follow(colour=self.colour, step=self.step)
        self.arrange(
            [self.layer, self.query, self.key],
            [self.colour, self.method, self.perplexity, self.step, self.step.play, self.computing],
            self.map,
            [*self.groups.take.values(), self.groups.clear],
            self.groups.difference,
            side_by_side(self.problem, self.bars),
        )
        self.watch(self._ask, self.layer, self.query, self.key, self.method, self.perplexity, self.colour)
        self.map.observe(self._chosen, "chosen")
        for name, button in self.groups.take.items():
            self.press(partial(self.groups.take_selected, name), button)
        self.press(self.groups.forget, self.groups.clear)
        if self.reading.steps:
            self._compute()

    def content(self) -> Content:
        """The map, to be explored without a kernel: other colours, groups, the code of each point."""
        title = "<p>The problem that was chosen when this page was saved:</p>"  # others take the kernel to draw
        view, problem = self.map, {"view": "words", "html": title + self.problem.value}
        words = f"{self.status.value}{self.groups.difference.value if view.a and view.b else ''}"
        return view_content("Latent codes", view, self.code(), words, self._table(), [problem])

    def _table(self) -> dict[str, Sequence]:
        view = self.map
        points: dict[str, Sequence] = {"x": [x for x, _ in view.points], "y": [y for _, y in view.points]}
        return points | {one["name"]: one["labels" if "labels" in one else "values"] for one in view.colourings}

    def _marks(self) -> dict[str, tuple]:
        return {"chosen": (lambda: self.map.chosen, self._choose), **self.groups.marks}

    def _choose(self, number: int) -> None:
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
        """Another map, or other colours, which the page has: drawn at once where they are known, else when they are."""
        self.perplexity.disabled = self.method.value == "pca"
        self._draw_known()
        self._compute()

    def _draw_known(self) -> None:
        """The map and the decoder that the controls ask for, as far as they are known."""
        if self._map() != self._drawn and self.reading.has("map", *self._map()):
            self._redraw()
        if self.reading.steps and self.reading.has("course", *self._map()):
            self._move()
        self._bars()

    def _move(self) -> None:
        """The codes and the map of all checkpoints, over which the slider goes."""
        (steps, codes, points, trust), (place, method, _) = self.reading.course(*self._map()), self._map()
        together = f"{NAMES[method]} of the codes of {len(steps)} checkpoints together, layer {place[0] + 1}"
        with self.map.hold_sync():
            self.map.course = {"steps": steps, "codes": short(codes, 5), "points": short(points, 5)}
            self.map.title = f"{together}\n{drawing.trusted(trust)}"

    def _missing(self) -> tuple | None:
        """What the controls ask for and is not known: a function of the reading and its arguments."""
        if not self.reading.has("map", *self._map()):
            return self.reading.map, self._map(), f"a {NAMES[self.method.value]} map of {len(self.problems)} codes"
        asked = self._place(), self.problems.decoded(self.colour.value)
        if not self.reading.has("decoding", *asked):
            return self.reading.decoding, asked, "a decoder and its controls"
        if self.reading.steps and not self.reading.has("course", *self._map()):
            return self.reading.course, self._map(), f"codes of {len(self.reading.steps)} checkpoints"
        return None

    def _compute(self) -> None:
        """Begin to compute what is missing, in the background: the controls stay free."""
        if self._say_missing() and self.worker is None:
            self.worker = threading.Thread(target=self._work, daemon=True)
            self.worker.start()

    def _say_missing(self) -> tuple | None:
        missing = self._missing()
        self.computing.value = f"<i>computing {missing[2]} …</i>" if missing else ""
        return missing

    def _work(self) -> None:
        """Compute whatever the controls ask for now, until nothing is missing."""
        while True:
            with self.lock:
                missing = self._missing()
                if missing is None:
                    self.worker = None
                    return
            try:
                missing[0](*missing[1])
            except Exception as error:
                with self.lock:
                    self.worker, self.computing.value = None, ""
                    self.error.show(error)
                return
            with self.safely():
                self._draw_known()
                self._say_missing()

    def _redraw(self) -> None:
        points, trust = self.reading.map(*self._map())
        self._drawn = place, method, _ = self._map()
        words = drawing.trusted(trust)
        part, query = self.problems.unseen, place[1]
        names, has = self.problems.traits(part, query)
        with self.map.hold_sync():
            self.map.course = {}  # of this map, as soon as it is known
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
        asked = self._place(), self.problems.decoded(self.colour.value)
        if self.reading.has("decoding", *asked):
            decoding = self.reading.decoding(*asked)
            names = [] if isinstance(decoding, str) else [self.problems.word(label) for label in decoding.classes]
            with self.bars.batch_update():
                drawing.fill_bars(self.bars, decoding, names, asked[1])

    def _contrast(self, a: np.ndarray, b: np.ndarray) -> str:
        place, (points, _) = self._drawn[0], self.reading.map(*self._drawn)
        contrast = self.reading.contrast(place, a, b, points)
        low, high = (f"{100 * share:.0f}" for share in np.quantile(contrast.elsewhere, (0.05, 0.95)))
        score = contrast.decoding.accuracy
        return pages.filled(
            "difference.html",
            found=contrast,
            names=self.problems.traits(self.problems.unseen, place[1])[0],
            trait=self.problems.trait,
            sizes=(len(a), len(b)),
            layer=place[0] + 1,
            score=score,
            low=low,
            high=high,
            usual=(contrast.elsewhere >= float(score.value)).mean() > 0.05,
            order=np.argsort(-abs(contrast.share_a - contrast.share_b), kind="stable").tolist(),
            percent=lambda share: f"{100 * float(share):.0f} %",
            style=TABLE,
        )

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
        if self.reading.steps:
            said += (
                " The slider goes through checkpoints of the training: all are on one map, so that points move and do"
            )
            said += " not jump. Colours, problems and decoders are those of the end."
        self.say(said)
