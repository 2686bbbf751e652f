# ruff: noqa: F401, E501  (names that the cases speak of; a case is a line)
"""Wrong input to what the package offers: one line that names what was given, never an error of Python's own.

Each case is what somebody might type. The key above it is what the message has to name.
"""

import numpy as np
import pytest
import torch
from torch import nn

import lab
from lab.catalogue.figure import Figure
from lab.cli import main
from lab.store import Store
from lab.tasks import Logic, Operation, Sraven

DIGITS, MANY = "9" * 5000, "9" * 20
LONG = "/tmp/" + "x" * 5000
HUGE = 10**5000  # too many digits for Python to print
# What is given again and again, by name.
GIVEN = {
    "WHOLE": "-1 | 1.5 | '3' | True | [] | np.zeros(3) | 2**63 | HUGE | float('nan')",  # no whole number above 0
    "PATHS": "3 | '' | b'x' | [] | LONG | 'a\\0b' | object()",  # no path
    "TASKS": "None | 3 | '' | 'nope' | [] | b'memorize' | phi | object() | lab | 'x' * 5000 | 'a\\nb' | ('memorize',) "
    "| lambda: 0 | 'LAPTOP'",
    "SCALES": "3 | '' | 'big' | []",
    "MORE_SCALES": "b'smoke' | object() | 'x' * 5000 | {}",
    "DEVICES": "None | 3 | '' | 'gpu' | [] | 'cuda:99' | torch.device('meta') | 'x' * 5000",
    "STORES": "'folder' | folder | 3 | [] | '' | Store | object()",
    "SHAPES": "None | 3 | '' | 'nope' | [] | nn.PReLU() | torch.zeros(3) | two | bad",
}
# What the message has to name; below it calls; below them what stands in the place of their question mark.
TABLE = """
values
  lab.Spline(?)
    None | 'abc' | {} | [] | 3.0 | [1.0] | [[1.0, 2.0], [3.0]] | ['a', 'b'] | object() | torch.zeros(2, 2, 2)
    np.zeros(3, complex) | torch.zeros(3, dtype=torch.complex64) | np.array(['a']) | np.array([None, 1]) | [None, 1.0]
    torch.zeros(0) | nn.GELU() | lab.Spline | [HUGE, 1]
low
  lab.Spline([0.0, 1.0], low=?)
    None | 'a' | float('nan') | float('-inf') | [] | 1j | torch.zeros(3) | HUGE | 20.0 | 30 | -1e300
high
  lab.Spline([0.0, 1.0], high=?)
    None | 'a' | float('inf') | np.zeros(2) | -21 | {}
learnable
  lab.Spline([0.0, 1.0], learnable=?)
    'yes' | None | 2 | [] | 0.5
knots
  lab.Spline.zeros(?)
    WHOLE | 0 | 1 | None | 2**40
  lab.Spline.from_function(torch.sin, knots=?)
    None | 1 | 2.0 | 2**40
f
  lab.Spline.from_function(?)
    None | 'relu' | 3 | lambda x: None | lambda x: 'a' | lambda x: x[:3] | lambda x: x / 0 | nn.GELU
    lambda x: x.to(torch.complex64) | lambda x: {}
input
  phi(?)
    None | 0.5 | 3 | np.zeros(3) | [0.5] | 'a' | torch.arange(3) | torch.zeros(2, dtype=torch.bool) | nn.Parameter
    torch.zeros(2, dtype=torch.complex64) | torch.zeros(2).to(torch.float8_e4m3fn) | torch.eye(3).to_sparse()
  two(?)
    torch.zeros(3) | torch.tensor(0.5) | 0.5
  phi.polynomial(3)(?)
    None | 0.5 | np.zeros(3) | torch.arange(3) | 'a'
path
  phi.save(?)
    None | PATHS | folder | file / 'phi.json'
  lab.Spline.load(?)
    None | PATHS
provenance
  phi.save(folder / 'phi.json', ?)
    {'a': object()} | 'facts' | {'a': np.zeros(3)} | {(1, 2): 3} | [1] | {'a': HUGE}
not a saved spline
  lab.Spline.load(?)
    folder | folder / 'no.json' | file | binary | deep | wrong_json | null_json | ragged_json
degree
  phi.polynomial(?)
  phi.chebyshev(?)
    WHOLE | None | 5000
bandwidth
  phi.smoothed(?)
    None | 'a' | -1 | float('nan') | 1e9 | [] | torch.zeros(2)
function
  two.?()
    polynomial | chebyshev | symmetrized
not finite
  bad.?
    polynomial() | chebyshev(3) | symmetrized()
knots on
  phi + lab.Spline([0.0, 1.0])
  phi - lab.Spline(torch.zeros(2, 4), -2.0, 2.0)
  two - lab.Spline(torch.zeros(3, 5), -2.0, 2.0)
name
  lab.zoo(?)
    3 | [] | b'transformers/memorize' | {} | object() | phi | 0.5 | folder
zoo
  lab.zoo(?)
    'nope' | '' | 'transformers/../../x' | 'x' * 5000 | 'a\\nb'
folder
  lab.zoo(folder=?)
  lab.zoo_names(folder=?)
    PATHS | folder / 'no' | file
model
  lab.swap(?, nn.GELU, 'relu')
    None | 3 | nn.GELU | 'model' | [] | nn.GELU()
old
  lab.swap(model, ?, 'relu')
    None | 3 | () | (nn.GELU, 3) | [nn.GELU] | nn.GELU() | {} | 0.5 | phi
nothing
  lab.swap(model, ?, 'relu')
    nn.ReLU | 'no.such' | '' | torch.relu | print | int
phi
  lab.swap(model, nn.GELU, ?)
    None | 3 | nn.ReLU | [] | np.zeros(3) | {}
unknown
  lab.swap(model, nn.GELU, ?)
    'nope' | '' | 'x' * 5000
no/such
  lab.swap(model, nn.GELU, 'no/such')
learnable
  lab.swap(model, nn.GELU, ?)
    phi, learnable='yes' | phi, learnable=3 | phi, learnable=[] | 'relu', learnable=True
shared
  lab.swap(model, nn.GELU, phi, shared=?)
    'yes' | 3 | None
modulus
  lab.search(?, scale='smoke')
  lab.train(?, scale='smoke')
    'ab mod ' + '9' * 5000 | 'ab mod 1' | 'ab mod 1000000' | 'ab mod 0'
operation
  lab.search(?, scale='smoke')
  lab.train(?, scale='smoke')
    'nope mod 7' | 'a+b in S4' | 'x' * 5000 + ' mod 7' | 'ab mod 7 mod 7'
task
  lab.search(?, scale='smoke', progress=False)
  lab.train(?, scale='smoke', progress=False)
  lab.trained(?, scale='smoke', progress=False)
    TASKS
  lab.search(?, scale='smoke')
    Logic() | Sraven()
scale
  lab.search('memorize', scale=?)
  lab.train('ab mod 5', scale=?)
  lab.train(Logic(), scale=?)
  lab.search('ab mod 5', scale=?)
  lab.trained('logic', scale=?)
  lab.figure('transformers/fig6', scale=?)
    None | SCALES
  lab.train('memorize', scale=?)
    None | SCALES | MORE_SCALES
  lab.scorecard(?)
    SCALES | MORE_SCALES
device
  lab.search('memorize', scale='smoke', device=?)
  lab.train('ab mod 5', scale='smoke', device=?)
  lab.trained('logic', scale='smoke', device=?)
  lab.figure('transformers/fig6', scale='smoke', device=?)
    DEVICES
store
  lab.search('memorize', scale='smoke', store=?)
  lab.train('ab mod 5', scale='smoke', store=?)
  lab.trained('logic', scale='smoke', store=?)
  lab.figure('transformers/fig6', scale='smoke', store=?)
    STORES
  lab.Run(run.spec, ?)
  lab.SearchResult(found.spec, ?)
    None | STORES
seed
  lab.search('memorize', scale='smoke', seed=?)
  lab.search('ab mod 5', scale='smoke', seed=?)
  lab.trained('logic', scale='smoke', seed=?)
    WHOLE | None
seeds
  lab.train('memorize', scale='smoke', seeds=?)
  lab.train('ab mod 5', scale='smoke', seeds=?)
  lab.train(Logic(), scale='smoke', seeds=?)
  lab.figure('transformers/fig6', scale='smoke', seeds=?)
    WHOLE | 0 | 10**9
steps
  lab.train('memorize', scale='smoke', steps=?)
  lab.train('ab mod 5', scale='smoke', steps=?)
  lab.train(Logic(), scale='smoke', steps=?)
    WHOLE | 0
width
  lab.train('memorize', scale='smoke', width=?)
  lab.train('ab mod 5', scale='smoke', width=?)
  lab.train(Logic(), scale='smoke', width=?)
    WHOLE | 0 | 10**9
  lab.train('memorize', scale='smoke', width=33)
learn
  lab.search('memorize', scale='smoke', learn=?)
  lab.search('ab mod 5', scale='smoke', learn=?)
    3 | () | '' | 'nope' | ['mlp', 3] | [[]] | {} | 0.5 | b'mlp' | object() | ('mlp', 'nope')
by
  lab.search('memorize', scale='smoke', by=?)
  lab.search('ab mod 5', scale='smoke', by=?)
    3 | '' | 'nope' | [] | object() | True
  lab.search('memorize', scale='smoke', by='episodes')
mlp
  lab.train('memorize', mlp=?, scale='smoke')
  lab.train('ab mod 5', mlp=?, scale='smoke')
  lab.train(Logic(), mlp=?, scale='smoke')
    3 | '' | 'nope' | [] | print | nn.GELU | nn.PReLU() | nn.Linear(2, 2) | torch.zeros(3) | 'softmax' | two | bad | 0.5
    model | b'gelu' | 'x' * 5000
attention
  lab.train('memorize', attention=?, scale='smoke')
  lab.train('ab mod 5', attention=?, scale='smoke')
  lab.train(Logic(), attention=?, scale='smoke')
    SHAPES
  lab.train(Sraven(), attention=phi, scale='smoke')
method
  lab.trained('logic', ?, scale='smoke')
    None | 3 | '' | 'nope' | [] | phi | b'hyla'
figure
  lab.figure(?, 'smoke')
    None | 3 | '' | 'nope' | [] | b'transformers/fig6' | phi | 'transformers/fig99' | 'x' * 5000 | '../fig6' | {}
results
  lab.scorecard(results=?)
    None | PATHS | folder / 'no' | file
split
  run.accuracy_on(?)
    None | 3 | '' | 'nope' | [] | 'ood'
  run.score('accuracy', ?)
    None | 'nope' | {}
measured
  run.score(?, 'test')
    None | 3 | '' | 'r2' | [] | 'x' * 5000
remembered
  run.trajectory
index
  runs[?]
    2 | -3 | 1.5 | 'a' | None | [0] | np.zeros(2) | HUGE
runs
  lab.Runs(?)
    None | 3 | 'ab' | [1, 2] | run | [None]
spec
  lab.Run(?, Store())
  lab.SearchResult(?, Store())
    None | 3 | 'memorize' | phi
restart
  episodes.of_restart(?)
    -1 | 99 | 1.5 | 'a' | [] | True
folder
  figure.write(?, images=False)
    None | PATHS | file | file / 'a'
no runs
  lab.Runs([])?
    .accuracy | .steps | [0]
images
  figure.write(folder, images=?, page=False)
    'yes' | None | 3
page
  figure.write(folder, images=False, page=?)
    'yes' | None | 3
"""


def cases_of(table):
    """Pairs of what is to be named, and a call."""
    named, calls, over = "", [], True
    for line in [*table.strip("\n").splitlines(), ""]:
        depth, text = len(line) - len(line.lstrip()), line.strip()
        if depth < 4 and over or depth == 0:
            yield from ((named, call) for call in calls if "?" not in call)
            calls = []
        if depth == 0:
            named = text
        elif depth == 2:
            calls.append(text)
        else:
            text = " | ".join(GIVEN.get(word, word) for word in text.split(" | "))
            yield from ((named, call.replace("?", given)) for call in calls for given in text.split(" | "))
        over = depth == 4


CASES = [pytest.param(*case, id=case[1].replace("\\0", "0")) for case in cases_of(TABLE)]
COMMANDS = {  # by exit code; the parser of the command line says those of usage in its own frame
    code: [line.strip() for line in words.strip().splitlines()]
    for code, words in {
        2: """
            figure nope
            figure ../../etc/passwd
            figure {LONG}
            figure transformers/fig6 --scale nope
            figure transformers/fig6 --device nope
            figure transformers/fig6 --seeds 0
            figure transformers/fig6 --seeds -1
            figure transformers/fig6 --seeds 9999999999999999999
            figure transformers/fig6 --scale smoke --out {file}
            figure transformers/fig6 --scale smoke --out {file}/a
            figure transformers/fig6 --scale smoke --out {LONG}
            search memorize --scale smoke --out {LONG}
            sweep memorize --scale smoke --out {LONG}
            search nope
            search {LONG}
            search ab|mod|{DIGITS}
            search nope|mod|7
            search memorize --scale nope
            search memorize --seed -1
            search memorize --seed {MANY}
            search memorize --by episodes
            search memorize --by nope
            search memorize --learn nope
            search ab|mod|5 --scale smoke --by nope
            search memorize --learn shared
            search ab|mod|5 --scale smoke --learn mlp
            search memorize --device nope
            search memorize --scale smoke --out {file}
            finetune nope cola
            finetune {LONG} cola
            sweep nope
            sweep {LONG}
            sweep memorize --scale nope
            sweep memorize --device nope
            sweep memorize --scale smoke --out {file}
            data list nope
            data fetch
            data fetch nope
            data verify {LONG}
            scorecard --scale nope
            scorecard --results {folder}/no
            scorecard --results {file}
            scorecard --results {LONG}
            store export
            store export zzzz
            store export {LONG}
            store list abc
            store verify abc
            store clean abc
        """,
        "usage": """
            nope
            figure
            figure transformers/fig6 --seeds abc
            figure transformers/fig6 --seeds {DIGITS}
            figure transformers/fig6 --nope
            search
            search memorize --seed 1.5
            data nope
            store nope
            doctor nope
            scorecard --nope
        """,
    }.items()
}
SETTINGS = [  # of the environment: name, value, command
    *[
        ("LAB_STORE", "{LONG}", words)
        for words in (
            "store list",
            "store verify",
            "store clean",
            "store export abc",
            "figures",
            "figure transformers/fig6 --scale smoke",
            "search memorize --scale smoke",
        )
    ],
    *[("LAB_STORE", "{file}", words) for words in ("search memorize --scale smoke", "sweep memorize --scale smoke")],
    *[("LAB_CACHE", "{LONG}", f"data {words}") for words in ("list", "verify", "verify mnist", "fetch mnist")],
    *[
        ("LAB_DATA", value, f"data {words}")
        for value in ("{LONG}", "{file}", "{folder}/no")
        for words in ("list", "verify", "verify mnist", "fetch mnist")
    ],
    *[("LAB_ZOO", value, "search memorize --scale smoke") for value in ("{LONG}", "{file}")],
    *[
        ("LAB_WORKERS", value, "search memorize --scale smoke --seed 77")
        for value in ("0", "-1", "many", "1.5", "{MANY}", "{DIGITS}", "{LONG}")
    ],
    *[("LAB_KERNEL", value, "search memorize --scale smoke --seed 77") for value in ("none", "Native", "{LONG}")],
]


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """What the cases speak of. Whatever trains is at smoke scale, and in a store of this module."""
    folder = tmp_path_factory.mktemp("things")
    for name, content in {
        "file": b"text",
        "binary": bytes(range(256)),
        "deep.json": b"[" * 100_000,
        "wrong.json": b'{"values": [1, 2]}',
        "null.json": b'{"values": [1, 2], "low": null, "high": 3}',
        "ragged.json": b'{"values": [[1, 2], [3]], "low": 0, "high": 1}',
    }.items():
        (folder / name).write_bytes(content)
    file, binary, deep = folder / "file", folder / "binary", folder / "deep.json"
    wrong_json, null_json, ragged_json = (folder / f"{name}.json" for name in ("wrong", "null", "ragged"))
    phi = lab.Spline(torch.tensor([0.0, 1.0, 0.5, 0.0, 0.0]), -2.0, 2.0)
    two, bad = lab.Spline(torch.zeros(2, 5), -2.0, 2.0), lab.Spline([0.0, float("nan"), 1.0])
    model = nn.Sequential(nn.Linear(2, 2), nn.GELU(), nn.Linear(2, 2))
    store = Store(folder / "store")
    runs = lab.train("memorize", seeds=2, scale="smoke", store=store, progress=False)
    found = lab.search("memorize", scale="smoke", store=store, progress=False)
    episodes = lab.search("ab mod 5", scale="smoke", store=store, progress=False)
    figure = lab.figure("transformers/fig6", scale="smoke", store=store, progress=False)
    assert isinstance(figure, Figure)
    run = runs[0]
    return globals() | locals()


def check(said, named):
    assert len(said.splitlines()) == 1 and len(said) < 340, said
    assert named in said, said


@pytest.mark.parametrize(("named", "case"), CASES)
def test_wrong_input_is_one_line_that_names_it(things, named, case):
    with pytest.raises(lab.LabError) as caught:
        eval(case, things)
    check(str(caught.value), named)


def command(words, things):
    """Words as the shell gives them; | stands for a space inside one."""
    return [word.format(**things).replace("|", " ") for word in words.split()]


def failed(words, things, capsys):
    """Exit code and what a command that must fail says on stderr."""
    with pytest.raises(SystemExit) as ended:
        main(command(words, things))
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return ended.value.code, said


@pytest.mark.parametrize(("code", "words"), [(code, words) for code, many in COMMANDS.items() for words in many])
def test_a_wrong_command_is_one_line_and_its_exit_code(things, capsys, store_folder, code, words):
    found, said = failed(words, things, capsys)
    if code == "usage":
        assert found == 2 and said
        return
    assert found == code
    check(said, "lab: ")


@pytest.mark.parametrize(("name", "value", "words"), SETTINGS)
def test_a_wrong_setting_is_one_line_that_names_it(things, capsys, store_folder, monkeypatch, name, value, words):
    value = value.format(**things)
    monkeypatch.setenv(name, value)
    code, said = failed(words, things, capsys)
    assert code in (1, 2)
    check(said, value if value == str(things["file"]) else name)


@pytest.mark.parametrize("name", sorted({name for name, _, _ in SETTINGS} - {"LAB_WORKERS"}))
def test_the_doctor_says_what_is_wrong_with_a_setting(capsys, monkeypatch, name):
    monkeypatch.setenv(name, LONG)
    main(["doctor"])
    said = capsys.readouterr().out
    assert any(name in line and len(line) < 340 for line in said.splitlines()), said


def test_what_is_unusual_and_right_is_taken(things):
    store, folder = things["store"], things["folder"]
    runs = lab.train("memorize", seeds=np.int64(2), scale="smoke", store=store, progress=False)
    assert np.array_equal(runs.accuracy, things["runs"].accuracy)
    assert [run.key for run in runs[::-1]] == [runs[1].key, runs[0].key] and isinstance(runs[:1], lab.Runs)
    assert runs[np.int64(1)].key == runs[-1].key
    huge = lab.search("memorize", scale="smoke", seed=2**32 - 1, store=store, progress=False)
    assert huge.spec.seed == 2**32 - 1 and huge.spline.values.isfinite().all()
    for values in ([0, 1], (0.0, 1.0), np.array([0, 1]), torch.tensor([False, True])):
        phi = lab.Spline(values, low=np.float32(-1), high=torch.tensor(1), learnable=np.bool_(True))
        assert phi.values.tolist() == [0.0, 1.0] and (phi.low, phi.high) == (-1.0, 1.0) and phi.values.requires_grad
    phi.save(folder / "phi.json", None)
    phi.save(str(folder / "phi.json"), {"a": [1, None, "ü"]})
    assert lab.Spline.load(str(folder / "phi.json")).values.tolist() == [0.0, 1.0]


def test_the_grid_is_as_large_as_it_should_be():
    assert len({case.values for case in CASES}) == len(CASES) > 700
