"""What data mean is kept, or said: which axis is which, what counts, what is a number, what only numbers the rows."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn import metrics
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score
from torch import nn
from torch.nn import functional as F

import lab
from lab.data import Data, measures
from tests.training import own

CHANCE = np.random.default_rng(0)
ROWS = 120
X = CHANCE.normal(size=(ROWS, 4))
Z = X[:, 0]
Y = np.arange(ROWS) % 3


def read(target="y", given=None, **columns):
    return Data.read(pd.DataFrame({"z": Z, "y": Y, **columns}), target=target, **(given or {}))


def said(call):
    """The error in one line, or the data's notes."""
    try:
        return "\n".join(call().notes)
    except lab.LabError as error:
        assert "\n" not in str(error)
        return str(error)


# Axes


@pytest.mark.parametrize("shape", [(5, 7), (5, 5), (4, 6, 5), (5, 5, 5), (6, 5, 6)])
@pytest.mark.parametrize("last", [False, True])
def test_classes_are_on_the_axis_that_torch_or_the_last_one_has(shape, last):
    """Targets of `shape`, 5 classes: either both readings differ in shape, or the one that may be is told, or none."""
    generator = torch.Generator().manual_seed(0)
    targets = torch.randint(0, 5, (8, *shape[1:]), generator=generator)
    logits = torch.randn(8, 5, *shape[1:], generator=generator)  # as torch has them
    loss, right = F.cross_entropy(logits, targets), (logits.argmax(1) == targets).double().mean()
    given = logits.movedim(1, -1) if last else logits
    if targets.ndim == 2 and shape[1] == 5 and not last:
        with pytest.raises(lab.ArgumentError, match=r"\(5, 5\) for 5 targets, and either axis may have the classes"):
            measures.losses("cross_entropy", given[None], targets[None])
        return
    if last and shape[-1] == 5 and targets.ndim == 3:
        return  # read as torch reads it
    known = {"last": True} if last else {}
    assert torch.allclose(measures.losses("cross_entropy", given[None], targets[None], **known), loss)
    assert torch.allclose(measures.scores("accuracy", given[None], targets, **known), right)


@pytest.mark.parametrize(
    ("outputs", "targets", "fits"),
    [
        ((8, 1), (8,), True),
        ((8,), (8, 1), True),
        ((8, 1, 4, 4), (8, 4, 4), True),
        ((8, 3, 4), (8, 4, 3), False),
        ((8, 3, 4, 4), (8, 4, 4, 3), False),
        ((8, 2, 6), (8, 3, 4), False),
        ((8, 12), (8, 3, 4), False),
    ],
)
def test_values_are_compared_axis_by_axis(outputs, targets, fits):
    guess, truth = torch.randn(2, *outputs), torch.randn(*targets)
    for measure in ("mse", "mae", "r2"):
        if fits:
            assert measures.scores(measure, guess, truth).shape == (2,)
        else:
            with pytest.raises(
                lab.ArgumentError, match="the model gives shape .* for an example with targets of shape"
            ):
                measures.scores(measure, guess, truth)
    kept, _ = measures.aligned(guess, truth.expand(2, *targets))
    assert kept.shape[1:] == (targets if fits else outputs), "a function of the user's gets no scrambled values"


@pytest.mark.parametrize("columns", [1, 3])
def test_r2_is_that_of_scikit_learn(columns):
    truth = CHANCE.normal(size=(50, columns)) * 10.0 ** np.arange(columns)
    truth[:, -1] = 7.0 if columns > 1 else truth[:, -1]
    guess = truth + CHANCE.normal(size=(2, 50, columns))
    guess[0, :, -1] = truth[:, -1]
    expected = [r2_score(truth, one) for one in guess]
    shown = measures.scores("r2", torch.tensor(guess), torch.tensor(truth))
    assert shown.tolist() == pytest.approx(expected)


def test_a_column_is_a_vector():
    assert Data.from_arrays(X, Y[:, None]).digest == Data.from_arrays(X, Y).digest
    assert Data.from_arrays(X, Z[:, None]).digest == Data.from_arrays(X, Z).digest


def test_several_labels_of_a_row_are_told_what_they_need():
    data = Data.from_arrays(X, CHANCE.integers(0, 2, (ROWS, 5)))
    with pytest.raises(lab.ArgumentError, match=r"BCEWithLogitsLoss\(\)"):
        measures.losses(data.loss, torch.zeros(1, ROWS, 5), data.targets[None])


# Precision


def test_values_that_differ_by_little_keep_their_differences():
    energies = -406757.0 + 0.05 * Z
    data = read("energy", {"drop": "y"}, energy=energies)
    training = data.rows["train"].numpy()
    right = (energies - energies[training].mean()) / energies[training].std(ddof=1)
    assert np.abs(data.targets.numpy() - right).max() < 1e-5
    assert "float32 cannot tell apart the values of y" in said(lambda: Data.from_arrays(X, energies))
    assert "numbers of column 1" in said(lambda: Data.from_arrays(np.stack([Z, 1.7e9 + Z], 1), Y))
    assert not Data.from_arrays(np.stack([Z, np.full(ROWS, 0.1)], 1), Y).notes


def test_means_of_many_examples_are_exact():
    many = torch.full((1, 2_000_000), 0.1) + torch.arange(2_000_000) % 2
    exact = {"mae": many.double().mean(), "mse": many.double().square().mean()}
    for measure, mean in exact.items():
        assert float(measures.scores(measure, many, torch.zeros(2_000_000))) == pytest.approx(float(mean), rel=1e-12)


# What counts


@pytest.mark.parametrize("ignored", [-100, -1, 255])
def test_what_is_no_class_counts_nowhere(ignored):
    tags, logits = CHANCE.integers(0, 3, (ROWS, 6)), torch.randn(ROWS, 6, 3)
    out = CHANCE.random((ROWS, 6)) < 0.3
    data = Data.from_arrays(np.ones((ROWS, 6), int), np.where(out, ignored, tags), ignore_index=ignored)
    assert data.classes == ("0", "1", "2") and f"{out.sum()} of {6 * ROWS} targets are {ignored}" in "".join(data.notes)
    loss = F.cross_entropy(logits[~torch.tensor(out)], torch.tensor(tags[~out]))
    assert float(measures.losses("cross_entropy", logits[None], data.targets[None])) == pytest.approx(float(loss))
    assert float(measures.scores("cross_entropy", logits[None], data.targets)) == pytest.approx(float(loss))
    right = accuracy_score(tags[~out], logits.argmax(-1)[~torch.tensor(out)])
    assert float(measures.scores("accuracy", logits[None], data.targets)) == pytest.approx(right)


@pytest.mark.parametrize("kind", [int, object, "Int64", "words"])
def test_rows_without_a_label_are_left_out_and_given_rows_stay_theirs(kind):
    known = np.arange(ROWS) % 4 > 0
    X = np.arange(ROWS, dtype=np.float32)[:, None] * [1, 0.5]
    splits = {"test": np.arange(30), "val": np.arange(ROWS) >= 100}
    if kind == "words":
        y = np.where(known, np.array(["a", "b", "c"])[Y], " ")
        data = Data.read(pd.DataFrame({"u": X[:, 0], "y": y}), "y", splits=splits, drop=[])
    else:
        y = np.where(known, Y, -100)
        data = Data.from_arrays(X, pd.Series(y).astype(kind), splits=splits)
    assert len(data) == known.sum() and len(data.classes) == 3 and "30 rows without" in "".join(data.notes)
    rows = np.flatnonzero(known)
    for name, members in {"test": np.arange(30), "val": np.arange(100, ROWS)}.items():
        assert rows[data.rows[name]].tolist() == [row for row in members if known[row]]
    assert data.targets.tolist() == Y[known].tolist()


def examples(count, label, first=0):
    return [{"x": X[(first + n) % ROWS], "label": label(n)} for n in range(count)]


class Named(list):
    """As of Hugging Face, whose classes have names."""

    features = {"label": type("ClassLabel", (), {"names": ["no", "yes"]})()}


NONE = {
    "all -1": (lambda n: n % 2, lambda n: -1),
    "of values -1": (lambda n: n / 7, lambda n: -1.0),
    "None": (lambda n: "ab"[n % 2], lambda n: None),
    "empty": (lambda n: "ab"[n % 2], lambda n: ""),
    "tokens": (lambda n: [n % 2, 1], lambda n: [-100, -100]),
}


@pytest.mark.parametrize("name", NONE)
def test_splits_without_labels_are_left_out(name):
    train, other = NONE[name]
    parts = {"train": examples(90, train), "validation": examples(20, other), "test": examples(20, other)}
    data = Data.from_dataset(parts)
    assert len(data) == 90 and {n: len(rows) for n, rows in data.rows.items()}["test"] == 9
    assert [note.split(",")[0] for note in data.notes[:2]] == [f"split {n!r} has no labels" for n in ("val", "test")]


def test_a_minus_one_beside_classes_is_asked_for():
    labels = np.where(np.arange(ROWS) < 9, -1, Y)
    assert "y has 9 targets -1 beside 0 to 2; where -1 is no class, give ignore_index=-1" in said(
        lambda: Data.from_arrays(X, labels)
    )
    assert len(Data.from_arrays(X, labels, kind="classification").classes) == 4
    assert len(Data.from_arrays(X, labels, ignore_index=-1)) == ROWS - 9
    assert Data.from_arrays(X, np.where(Y > 0, 1, -1)).classes == ("-1", "1")
    rows = Named(examples(ROWS, lambda n: -1 if n < 9 else n % 2))
    assert Data.from_dataset(rows).classes == ("0", "1") and len(Data.from_dataset(rows)) == ROWS - 9
    masks = np.where(CHANCE.random((40, 5, 5)) < 0.2, 255, CHANCE.integers(0, 3, (40, 5, 5)))
    assert "255 and none from 3 to 254" in said(lambda: Data.from_arrays(CHANCE.normal(size=(40, 1, 5, 5)), masks))
    assert "no target that counts" in said(
        lambda: Data.from_arrays(X, np.where(np.arange(ROWS)[:, None] < 20, -100, X > 0), splits={"test": range(20)})
    )


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT])
def test_labels_of_probes_that_are_missing_are_counted(gap):
    labels = pd.Series(["a", "b", "c"] * (ROWS // 3), dtype=object)
    labels[:7] = gap
    assert f"7 of {ROWS} labels are missing" in said(lambda: lab.probes.code_similarity(X, labels))


# Splits


def test_splits_of_other_names_are_said():
    train = examples(90, lambda n: n % 2)
    others = {"train": train, "validation_matched": train, "unsupervised": train}
    assert "splits left out: validation_matched, unsupervised" in said(lambda: Data.from_dataset(others))
    assert "validation, dev, each of which is 'val'" in said(
        lambda: Data.from_dataset({"train": train, "validation": train, "dev": train})
    )
    assert set(Data.from_dataset({"Train": train, "search": train, "TEST": train}, splits={}).rows) == {
        *("search", "test", "train")
    }


def test_splits_that_do_not_fit_together_are_said():
    train = examples(50, lambda n: n % 2)
    two = [{**row, "b": 1.0} for row in train]
    wrong = {
        "x of 'train' have shape (4,), and of 'test' (3,); pad": [{**row, "x": row["x"][:3]} for row in train],
        "targets of 'train' are numbers (int64), and of 'test' words": examples(50, lambda n: "ab"[n % 2]),
        "targets of 'train' are numbers (int64), and of 'test' numbers (float64)": examples(50, lambda n: n / 3),
    }
    for words, test in wrong.items():
        parts = {"train": train, "test": test}
        assert words.replace("x of", "inputs of") in said(lambda parts=parts: Data.from_dataset(parts))
    assert "examples of 'test' have x, label" in said(lambda: Data.from_dataset({"train": two, "test": train}))
    assert "example 7 has no 'label'" in said(lambda: Data.from_dataset([*train[:7], {"x": X[0]}, *train[7:]]))


OWNERS = np.arange(ROWS) // 4
MISSING = {
    "NaN": np.where(OWNERS == 3, np.nan, OWNERS),
    "NA": pd.Series(OWNERS).astype("Int64").where(OWNERS != 3, pd.NA),
    "None": [None if owner == 3 else f"p{owner}" for owner in OWNERS],
    "empty": ["" if owner == 3 else f"p{owner}" for owner in OWNERS],
    "NaT": pd.Series(pd.to_datetime(OWNERS, unit="D")).where(OWNERS != 3),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_groups_are_counted(kind):
    words = "4 of 120 groups are missing, the first in row 12"
    assert words in said(lambda: Data.from_arrays(X, Y, groups=MISSING[kind]))
    assert words in said(lambda: read(given={"groups": "who"}, who=MISSING[kind]))


def test_groups_of_any_name_stay_whole_and_train_has_every_class():
    mixed = [owner if owner % 2 else f"p{owner}" for owner in OWNERS.tolist()]
    illness = np.where(OWNERS < 2, OWNERS, OWNERS % 4 + 2)  # two of one patient each
    for seed in range(8):
        data = Data.from_arrays(X, illness, groups=mixed, seed=seed)
        assert set(data.targets[data.rows["train"]].tolist()) == set(range(6))
        owners = [set(OWNERS[rows]) for rows in data.rows.values()]
        assert sum(map(len, owners)) == len(set.union(*owners))
    assert "class 0 is in no row to train on" in said(lambda: Data.from_arrays(X, OWNERS // 3, groups=OWNERS // 3))
    assert "classes of test that no row to train on has: 0, 1" in said(
        lambda: Data.from_arrays(X, OWNERS, kind="classification", splits={"test": range(8)})
    )


# Numbers and words


def numbers_of(**columns):
    """What is read of a column beside z."""
    data = read(**columns)
    return data.inputs[:, data.columns.index(next(iter(columns)))].numpy()


VALUES = np.round(CHANCE.random(ROWS) * 3000, 3)
WRITTEN = {
    "Decimals": [Decimal(str(value)) for value in VALUES],
    "objects": np.array(VALUES.tolist(), dtype=object),
    "words": [f"{value:.3f}" for value in VALUES],
    "exponents": [f"{value:.6e}" for value in VALUES],
    "decimal commas": [f"{value:g}".replace(".", ",") for value in VALUES.round(1)],
    "English": [f"{value:,.3f}" for value in VALUES],
    "German": [f"{value:,.3f}".translate(str.maketrans(",.", ".,")) for value in VALUES],
    "Swiss": [f"{value:,.3f}".replace(",", "’") for value in VALUES],
    "French": [f"{value:,.3f}".replace(",", "\u202f").replace(".", ",") for value in VALUES],
    "dollars": [f"${value:,.2f}" for value in VALUES],
    "euros": [f"{value:.2f} €".replace(".", ",") for value in VALUES],
    "percent": [f"{value} %" for value in VALUES],
    "brackets": [f"({3000 - value:,.2f})" for value in VALUES],
    "real minus": [f"−{3000 - value}" for value in VALUES],
}


@pytest.mark.parametrize("how", WRITTEN)
def test_numbers_are_numbers_however_they_are_written(how):
    assert np.corrcoef(numbers_of(p=WRITTEN[how]), VALUES)[0, 1] > 1 - 1e-6
    data = read("p", {"drop": "y"}, p=WRITTEN[how])
    assert not data.is_classification and np.corrcoef(data.targets, VALUES)[0, 1] > 1 - 1e-6


def test_a_comma_before_three_digits_follows_the_others():
    thirds = [f"{value:.3f}".replace(".", ",") for value in VALUES % 1]  # 0,512: no thousands
    assert np.corrcoef(numbers_of(p=thirds), VALUES % 1)[0, 1] > 1 - 1e-6
    either = [f"{1 + number % 9},{number:03d}" for number in range(ROWS)]
    exact = np.array([float(word.replace(",", ".")) for word in either])
    assert np.corrcoef(numbers_of(p=either, q=WRITTEN["euros"]), exact)[0, 1] > 1 - 1e-6
    assert "numbers with commas between thousands" in said(lambda: read(p=either))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "semicolons.csv", "tabs.csv", "bars.csv"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_files_of_any_separator_and_decimal_are_one_table(name, decimal, tmp_path):
    """Also thousands with points beside decimals with commas, of which some are below a thousand."""
    sep = {"a.tsv": "\t", "semicolons.csv": ";", "tabs.csv": "\t", "bars.csv": "|"}.get(name, ",")
    plain = pd.DataFrame({"x": Z.round(3), "k": Y, "word": np.array(["a", "b", "c"])[Y], "big": 900 + 7 * (Y + OWNERS)})
    wanted = Data.read(plain.assign(y=VALUES), target="y", name="a")
    thousands = "," if decimal == "." else "."
    written = plain.assign(big=[f"{value:,}".replace(",", thousands) for value in plain["big"]], y=VALUES)
    written.to_csv(tmp_path / name, sep=sep, decimal=decimal, index=False)
    data = Data.read(tmp_path / name, target="y")
    assert data.columns == wanted.columns and torch.allclose(data.inputs, wanted.inputs, atol=1e-5)
    assert torch.allclose(data.targets, wanted.targets, atol=1e-5)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_letters_of_any_encoding_are_read(encoding, tmp_path):
    table = pd.DataFrame({"größe": Z, "stadt": np.array(["Köln", "Zürich", "Bern"])[Y], "y": Y})
    table.to_csv(tmp_path / "a.csv", index=False, encoding=encoding)
    data = Data.read(tmp_path / "a.csv", target="y")
    assert data.columns == ("größe", "stadt_Bern", "stadt_Köln", "stadt_Zürich")
    assert any("no UTF-8" in note for note in data.notes) == (encoding in ("latin-1", "utf-16"))


@pytest.mark.parametrize(
    "content", [b"l\xc3\xa4\r\n" * 60, b"l\xe4\r\n" * 60, bytes(range(256)), "lä".encode("utf-16") * 60]
)
def test_bytes_are_those_of_the_file(content, tmp_path):
    (tmp_path / "a.txt").write_bytes(content)
    data = Data.from_text(tmp_path / "a.txt", tokens="byte", context=8)
    assert bytes(data.inputs.flatten().tolist()) == content[: 8 * len(data)] and len(data) == (len(content) - 1) // 8


def test_characters_are_those_of_the_file(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufefflä\r\n".encode() * 1 + "lä\r\n".encode() * 40)
    assert Data.from_text(tmp_path / "a.txt", context=8).classes == ("\n", "\r", "l", "ä")
    (tmp_path / "b.txt").write_bytes(b"l\xe4" * 200)
    assert "give a text in UTF-8, or tokens='byte'" in said(lambda: Data.from_text(tmp_path / "b.txt", context=8))


@pytest.mark.parametrize("kind", ["words", "objects", "category", "Decimals", "int8"])
def test_class_numbers_keep_their_order(kind):
    numbers = np.arange(ROWS) % 12
    made = {
        "words": numbers.astype(str),
        "objects": numbers.astype(object),
        "category": pd.Categorical(numbers.astype(str)),
        "Decimals": [Decimal(int(number)) for number in numbers],
        "int8": numbers.astype(np.int8),
    }[kind]
    data = Data.from_arrays(X, made)
    assert data.classes == tuple(map(str, range(12))) and data.targets.tolist() == numbers.tolist()
    assert read("label", {"drop": "y"}, label=made).classes == data.classes


# Masks, units


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64])
def test_masks_stay_masks(kind):
    mask = (CHANCE.random((ROWS, 5)) < 0.5).astype(kind)
    held = Data.from_arrays({"x": X, "mask": mask}, Y).inputs["mask"]
    assert held.dtype == (torch.bool if kind is bool else torch.int64) and np.array_equal(held, mask)
    assert Data.from_arrays(mask.astype(bool), Y).inputs.dtype == torch.float32
    ids = Data.from_arrays({"x": X, "input_ids": np.full((ROWS, 5), 200, np.uint8)}, Y).inputs["input_ids"]
    assert ids.dtype == torch.int64 and int(ids.max()) == 200


def test_errors_say_their_unit():
    price = 250_000 + 80_000 * Z
    data = read("price", {"drop": "y", "metrics": ["mae", "mse", "r2"]}, price=price)
    short = {"seeds": 2, "steps": 2, "progress": False}
    make = lambda seed: nn.Sequential(nn.Linear(1, 4), nn.GELU(), nn.Linear(4, 1))  # noqa: E731
    result = lab.compare(data, make, nn.GELU, {"GELU": None, "ReLU": "relu"}, **short)
    unit = f"standard deviations of price ({price[data.rows['train']].std(ddof=1):g})"
    for metric, words in {
        "mae": f"error in {unit}",
        "mse": f"error in squared {unit}",
        "loss": f"loss in squared {unit}",
    }.items():
        assert words in str(result.difference("ReLU", "GELU", metric))
        assert words in result.plot(metric).layout.yaxis.title.text
    assert "standard dev" not in str(result.difference("ReLU", "GELU", "r2"))
    own_units = Data.from_arrays(own.NUMBERS, own.NUMBERS[:, 0], metrics=["mae"])
    assert own_units.titled("mae") == "mean absolute error"


@pytest.mark.parametrize("metric", ["mae", nn.L1Loss(), F.l1_loss, mean_absolute_error])
def test_less_of_an_error_is_a_gain_however_it_is_named(metric):
    """scikit-learn #2439, autogluon #524, hyperas #115: errors whose sign nobody knows."""
    assert measures.sign(metric) == -1
    assert not measures.doubts({"error": metric})
    assert measures.sign("r2") == measures.sign(accuracy_score) == 1


def test_functions_of_ones_own_say_what_they_are_of_and_which_way_they_count():
    """krishnaik06/Stock-MArket-Forecasting #2, cure-lab/LTSF-Linear #64: errors of scaled values, unsaid."""
    price = 250_000 + 80_000 * Z
    metrics = {"my error": lambda outputs, targets: (outputs - targets).abs().mean()}
    data = read("price", {"drop": "y", "metrics": metrics}, price=price)
    assert "my error of values in standard deviations of price" in data.titled("my error")
    assert "more of my error counts as better" in str(data)


def test_sparse_and_other_files_are_said(tmp_path):
    import scipy.sparse

    assert "give X.toarray()" in said(lambda: Data.from_arrays(scipy.sparse.csr_matrix(X), Y))
    assert "give X.to_dense()" in said(lambda: Data.from_arrays(torch.tensor(X).to_sparse(), Y))
    np.savez(tmp_path / "a.npz", x=X, y=Y)
    (tmp_path / "a.npz").rename(tmp_path / "A.NPZ")
    assert Data.read(tmp_path / "A.NPZ", target="y").digest == Data.from_arrays(X, Y).digest
    assert "the index (when) is no column" in said(
        lambda: Data.read(pd.DataFrame({"z": Z, "y": Y}, index=pd.Index(Y, name="when")), "y")
    )
    assert "rows of y sum to 1" in said(lambda: Data.from_arrays(X, CHANCE.dirichlet([1, 1, 1], ROWS)))


def test_of_scikit_learns_errors_less_is_better():
    """As its scorers have it, which give errors below 0; and by their names, of those without a scorer."""
    scorers = [metrics.get_scorer(name) for name in metrics.get_scorer_names()]
    of_users = [one for one in scorers if one._score_func.__name__ in metrics.__all__]
    assert len(of_users) > 40
    for one in of_users:
        assert measures.sign(one._score_func) == one._sign, one
    ends = ("_error", "_loss", "_deviance")
    errors = [name for name in metrics.__all__ if name.startswith("mean_") or name.endswith(ends)]
    assert len(errors) > 15 and all(measures.sign(getattr(metrics, name)) == -1 for name in errors)
    gains = [name for name in metrics.__all__ if name.startswith("d2_") or name.endswith("accuracy_score")]
    assert len(gains) > 5 and all(measures.sign(getattr(metrics, name)) == 1 for name in gains)
