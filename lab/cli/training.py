"""Commands that train more or less than a figure: a search, a sweep of learning rates, all figures of a scale."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import tyro

from lab.cli.console import Device, ScaleName, default, writable
from lab.errors import ArgumentError, LabError, check_choice
from lab.files import put
from lab.scale import BEST, SCALES, check_scale
from lab.task_names import check_task_name

TASK = (
    "An algorithmic task: memorize, addmod, add, addreversed, mano, haystack, copy or parentheses; a text: shakespeare"
    ' or "shakespeare gpt2" (with that tokenizer); or a table: "a+b mod 27", "mnist_sample as numbers", bank-marketing'
    " (`lab data` lists texts and tables)."
)
LEARN = (
    "What to learn. For an algorithmic task or a text: mlp, attention, or both. For a table: shared (one function for"
    " all hidden layers), layers (one for each layer) or inputs (one for each input)."
)


@dataclass(frozen=True)
class Search:
    """Learn a non-linearity for a task, and put it into your zoo as mine/TASK."""

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK", help=TASK)]
    scale: ScaleName = "laptop"
    """smoke, laptop or paper."""
    # words: what is allowed depends on the task, and `lab.search` says it; choices would show None as one
    learn: Annotated[tuple[str, ...] | None, default("mlp; for a table shared", metavar="PART ...", help=LEARN)] = None
    by: Annotated[str | None, default("two_loss; for a table episodes", metavar="{two_loss,episodes}")] = None
    """Method of the search. Episodes are for tables only."""
    seed: int = 0
    """Seed of the search."""
    device: Device = "auto"
    out: Annotated[Path | None, default("your zoo: LAB_ZOO, or zoo in the store's folder")] = None
    """Another folder for the learned functions, with provenance, as JSON."""

    def run(self) -> None:
        """Search, write the splines, and say how they are used."""
        check_task_name(self.task)  # before torch is imported, which takes seconds
        from lab.api import search
        from lab.catalogue.zoo import publish
        from lab.nonlinearity.zoo import MINE, own_folder

        out = writable(own_folder(), "let LAB_ZOO name another folder") if self.out is None else writable(self.out)
        result = search(self.task, self.scale, self.learn, self.seed, self.device, by=self.by)
        for path in publish(result, out, re.sub(r"[^\w+^-]+", "-", self.task).strip("-")):
            print(path)
            folder = "" if self.out is None else f', folder="{self.out}"'
            print(f'  in Python: lab.zoo("{MINE}/{path.stem}"{folder})')


@dataclass(frozen=True)
class FineTune:
    """Fine-tune a trained GPT-Neo or RoBERTa on a GLUE task; print score, interval."""

    run_key: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="KEY")]
    """Key of the trained run, or its beginning; `lab store list` prints keys."""
    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
    """cola, sst2, mrpc or rte; `lab data fetch cola` downloads one."""
    seeds: int = 5
    """Number of seeds: of the new head's weights and of the order of examples."""
    tuning: Annotated[str, tyro.conf.arg(metavar="YEAR")] = "2024"
    """Year of the BabyLM evaluation whose settings are used: 2023, 2024 or 2025."""
    examples: Annotated[int | None, default("all")] = None
    """Train on the first INT training examples only."""
    device: Device = "auto"
    out: Annotated[Path | None, default("nothing is written")] = None
    """Folder for scores.csv: one row per seed, with the key of the tuned weights in the store."""

    def run(self) -> None:
        """Tune, print one line, and the table."""
        from lab.data.sentence_sets import TASKS

        check_choice("task", self.task, TASKS)  # before torch is imported, which takes seconds
        from lab.finetuning import finetune

        out = None if self.out is None else writable(self.out)
        tunings = finetune(self.run_key, self.task, self.seeds, self.tuning, self.examples, self.device)
        print(tunings)
        print(tunings.table.assign(key=[run.key[:12] for run in tunings]).round(4).to_string(index=False))
        if out is not None:
            try:
                out.mkdir(parents=True, exist_ok=True)
                tunings.table.to_csv(out / "scores.csv", index=False)
            except OSError as error:
                raise LabError(
                    f"cannot write to {out} ({error.strerror}); name another folder with --out; the tunings are kept"
                ) from error
            print(out / "scores.csv")


@dataclass(frozen=True)
class Sweep:
    """Train tasks' baselines at each learning rate of a grid; choose on `val`."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional, default("all", metavar="[TASK ...]")] = ()
    """Algorithmic tasks, e.g. memorize addmod."""
    scale: ScaleName = "laptop"
    """smoke, laptop or paper."""
    device: Device = "auto"
    searches: bool = False
    """Sweep the learning rate of the knots in searches instead."""
    batches: Annotated[tuple[int, ...], default("each task's own", metavar="INT ...")] = ()
    """Examples a step, e.g. 64 512: every rate with each of them."""
    canon: bool = False
    """Every rate with Canon layers, and without."""
    out: Path = Path("out/sweep")
    """Folder for sweep.csv; with --searches, --batches or --canon, searches.csv, batches.csv or canon.csv."""

    def run(self) -> None:
        """Sweep and write."""
        for task in self.tasks:
            check_task_name(task)
        from lab.papers.transformers.sweep import sweep

        print(sweep(self.tasks, self.scale, self.device, writable(self.out), self.searches, self.batches, self.canon))


@dataclass(frozen=True)
class TrainAll:
    """Train all figures of a scale, those that decide most claims a minute first."""

    scales: ClassVar = tuple(SCALES)
    scale: ScaleName = "laptop"
    """smoke, laptop, overnight (some figures) or paper."""
    hours: float = 10.0
    """Stop after this many hours. What is trained is kept; the same command continues."""
    papers: Annotated[
        tuple[Literal["transformers", "hypernetwork", "simplicity", "activations", "crossing"], ...], default("all")
    ] = ()
    """Train figures of these papers only."""
    device: Device = "auto"
    out: Path = Path("out")
    """Folder for the files: each figure's go to OUT/NAME/SCALE."""
    cluster: Annotated[str | None, default("train here", metavar="CLUSTER")] = None
    """Train on a Dask cluster, named as for `lab figure`: the runs of all figures at once, in the same order."""

    def run(self) -> None:
        """Train, and say what is left."""
        from lab.catalogue.training_queue import train_all

        train_all(self.scale, self.hours, writable(self.out), self.device, self.papers, cluster=self.cluster)


@dataclass(frozen=True)
class League:
    """Rank functions at their own best rates; add one of yours (add phi.json)."""

    scales: ClassVar = (*SCALES, BEST)
    action: tyro.conf.Positional[Literal["show", "add"]] = "show"
    """show: the table; add: put FILE into your league, if it keeps the laws that this needs (`lab.check`)."""
    file: Annotated[str, tyro.conf.Positional, default("none", metavar="[FILE]")] = ""
    """For add: the JSON of phi.save, or phi.py:name with --trust."""
    name: Annotated[str, default("the file's")] = ""
    """For add: what it is called."""
    trust: bool = False
    """For add: run the program FILE."""
    mine: bool = False
    """Show your own functions, too; they are trained, with seeds that their files cannot know."""
    scale: ScaleName = "best"
    """smoke, laptop, overnight or paper; or best: the largest whose results are here."""
    hours: Annotated[float | None, default("until it is done")] = None
    """Train the league at this scale for so many hours; the same command goes on from there."""
    device: Device = "auto"
    out: Path = Path("out")
    """Folder for the figure's files: they go to OUT/crossing/league/SCALE."""

    def run(self) -> None:
        """Do it."""
        if self.action == "add":
            from lab.catalogue.league import add

            if not self.file:
                raise ArgumentError("say which function to add, as `lab league add phi.json`")
            name = add(self.file, self.name, self.trust)
            print(f"{name} is in your league; `lab league --mine` trains it and shows its rows")
            return
        if self.file:
            raise ArgumentError(f"{self.file}: `lab league add {self.file}` puts it into your league")
        from lab.catalogue.league import ENTRY, in_words, standing

        if self.hours is not None:
            from lab.catalogue.training_queue import train_all

            check_scale(self.scale, SCALES)
            if train_all(self.scale, self.hours, writable(self.out), self.device, ("crossing",), only=ENTRY):
                return
        made = standing(self.scale, self.mine, self.device)
        print(in_words(made))
        if self.mine:
            print(*made.write(writable(self.out) / ENTRY / made.scale), sep="\n")


BEGIN, END = "<!-- table of lab scale -->", "<!-- end of table of lab scale -->"


@dataclass(frozen=True)
class Scale:
    """Estimate the cost of every figure at a scale, on 1 to 64 workers."""

    scales: ClassVar = tuple(SCALES)
    scale: Annotated[str, tyro.conf.arg(metavar="SCALE")] = "paper"
    """smoke, laptop, overnight or paper."""
    write: Annotated[Path | None, default("print the table")] = None
    """Replace the table in this page, e.g. docs/scale.md."""

    def run(self) -> None:
        """Print it, or write it."""
        from lab.catalogue.scale_plan import recorded, rows, text

        page = None
        if self.write is not None:
            page = self.write.read_text(encoding="utf-8") if self.write.is_file() else ""
            if BEGIN not in page or END not in page:
                raise ArgumentError(f"{self.write} has no place for the table: put {BEGIN} and {END} where it belongs")
        print("Reading what training steps took, which takes about 30 seconds.", file=sys.stderr, flush=True)
        times = recorded()
        table = text(rows(self.scale, times), times)
        if self.write is None or page is None:
            print(table)
        else:
            made = f"{page.partition(BEGIN)[0]}{BEGIN}\n{table}\n{END}{page.partition(END)[2]}"
            put(self.write, made.encode())
            print(self.write)
