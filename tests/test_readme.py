"""What README.md says and shows: its Python runs, its commands are there, its pictures are what its calls give."""

import ast
import inspect
import re

import pytest
import torch
from torch import nn

import lab
from lab.catalogue.registry import entry
from lab.catalogue.shipped import resolve_scale
from lab.cli import COMMANDS
from lab.cli.figures import Figure
from lab.widgets.explorer import Explorer
from tests.processes import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
(BLOCK,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
# Settings of calls that make the same calls short; where a call names its task, its scale is smoke.
SHORT = {
    "search": {"steps": 6, "models": 2, "progress": False},
    "compare": {"steps": 6, "seeds": 2, "rates": [1e-3, 1e-2], "progress": False},
}
SMOKE = {"scale": "smoke", "progress": False}


class Shortened(ast.NodeTransformer):
    """The same calls with short settings, which are put in the place of those that the text gives."""

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "lab" else ""
        if name in ("search", "compare", "train"):
            own = name == "compare" or any(keyword.arg == "model" for keyword in node.keywords)
            wanted = SHORT[name] if own else SMOKE
            kept = [keyword for keyword in node.keywords if keyword.arg not in wanted]
            node.keywords = kept + [
                ast.keyword(key, ast.parse(repr(value)).body[0].value) for key, value in wanted.items()
            ]
        return node


def test_every_line_of_its_python_runs(store_folder, capsys):
    """With data and a model, which the reader has, and short trainings; each expression of its own is looked at."""
    X = torch.randn(200, 64, generator=torch.Generator().manual_seed(0))
    there = {"X": X, "y": X[:, :10].argmax(1), "model": nn.Sequential(nn.Linear(3, 3), nn.GELU())}
    values = {}
    for statement in Shortened().visit(ast.parse(BLOCK)).body:
        code = ast.fix_missing_locations(ast.Module([statement], []))
        if isinstance(statement, ast.Expr):
            values[ast.unparse(statement)] = eval(compile(ast.Expression(statement.value), "README.md", "eval"), there)
        else:
            exec(compile(code, "README.md", "exec"), there)
    assert "points" in capsys.readouterr().out
    explorers = [value for value in values.values() if isinstance(value, Explorer)]
    assert len(explorers) == BLOCK.count("lab.explore(") > 0 and not any(one.error.value for one in explorers)
    assert isinstance(there["model"][1], lab.Spline), "what is swapped in"
    assert there["runs"].accuracy.shape[0] == 6 and "mine/mine" in lab.zoo_names()


def test_a_figure_has_one_scale_in_python_and_on_the_command_line():
    assert inspect.signature(lab.figure).parameters["scale"].default == Figure.__dataclass_fields__["scale"].default
    for name in ("search", "train"):
        assert inspect.signature(getattr(lab, name)).parameters["scale"].default == "laptop"
    assert COMMANDS["search"].__dataclass_fields__["scale"].default == "laptop"


def test_its_pictures_are_what_the_call_below_them_gives():
    pictures = list(re.finditer(r"!\[[^]]*\]\(data/results/(\w+/\w+)/(\w+)/figure.png\)\n\n\*`(.+?)`", README))
    assert len(pictures) == README.count("![") > 0, "a picture without the call that gives it"
    for name, scale, call in (picture.groups() for picture in pictures):
        assert call == f'lab.figure("{name}", "best")' and resolve_scale(entry(name)) == scale
        made = lab.figure(name, "best", progress=False)
        assert made.scale == scale and made.provenance["seeds"]


def test_the_seeds_that_it_names_are_those_of_the_scales():
    of = entry("simplicity/fig11")
    assert f"with {of.seeds['overnight']} seeds" in README and f"which has {of.seeds['laptop']}" in README


@pytest.mark.parametrize("words", sorted(set(re.findall(r"`lab ([a-z][a-z-]+)", README))))
def test_its_commands_are_there(words):
    assert words in COMMANDS


def test_its_files_are_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target
