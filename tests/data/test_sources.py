"""Data from files and data sets: what is missing is filled and said, what is known of test rows is not used."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import lab
from lab.data import Data, tables

ROWS = 200
CHANCE = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "rooms": CHANCE.integers(1, 9, ROWS).astype(float),
        "size": CHANCE.normal(100, 20, ROWS),
        "town": CHANCE.choice(["Rome", "Oslo", "Bern"], ROWS),
        "sold": CHANCE.integers(0, 2, ROWS).astype(bool),
        "country": "CH",
        "note": [f"note {number}" for number in range(ROWS)],
        "owner": np.arange(ROWS) // 4,
    }
)
TABLE["price"] = 3 * TABLE["size"] + 50 * (TABLE["town"] == "Rome") + CHANCE.normal(size=ROWS)
TABLE.loc[::7, "rooms"] = np.nan
TABLE.loc[::9, "town"] = None
TABLE.loc[[3, 5], "price"] = np.nan


@pytest.fixture(params=["prices.csv", "prices.parquet", "prices.csv.gz", "prices.tsv"])
def path(request, tmp_path):
    path = tmp_path / request.param
    if "parquet" in request.param:
        TABLE.to_parquet(path)
    else:
        TABLE.to_csv(path, index=False, sep="\t" if "tsv" in request.param else ",")
    return path


def test_a_table_becomes_numbers_by_its_training_rows_alone(path):
    data = Data.read(path, target="price", groups="owner")
    assert len(data) == ROWS - 2 and not data.is_classification
    assert data.columns == (
        *("rooms", "size", "missingindicator_rooms"),
        *("town_Bern", "town_Oslo", "town_Rome", "town_missing", "sold_False", "sold_True"),
    )
    kept = TABLE[TABLE["price"].notna()].reset_index(drop=True)
    training = data.rows["train"].numpy()
    rooms = kept["rooms"].fillna(kept["rooms"][training].median())
    expected = (rooms - rooms[training].mean()) / rooms[training].std(ddof=0)
    assert np.allclose(data.inputs[:, 0], expected, atol=1e-5)
    assert np.array_equal(data.inputs[:, 6] > 0, kept["town"].isna())
    assert np.array_equal(data.inputs[:, 5] > 0, kept["town"] == "Rome")
    price = (kept["price"] - kept["price"][training].mean()) / kept["price"][training].std()
    assert np.allclose(data.targets, price, atol=1e-5)
    owners = [set(kept["owner"][rows.numpy()]) for rows in data.rows.values()]
    assert sum(map(len, owners)) == len(set.union(*owners))
    said = "\n".join(data.notes)
    for words in ("2 rows without price", "rooms 29", "country (one value)", "note (198 different words)", "town 4"):
        assert words in said, said


def test_a_data_frame_is_a_table_too(path):
    """Whatever its index and the types of its names."""
    read = Data.read(path, target="price", groups="owner")
    readers = {".parquet": pd.read_parquet, ".tsv": pd.read_table}
    frame = readers.get(path.suffix, pd.read_csv)(path)
    assert Data.read(frame.set_index(frame.index + 7), target="price", groups="owner").digest == read.digest
    numbered = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)))
    assert Data.read(numbered, target="2").columns == ("0", "1")


def test_semicolons_and_decimal_commas_are_read(tmp_path):
    """As spreadsheets write CSV files in some countries; a column of words may have commas in it."""
    plain = TABLE.drop(columns=["note"])
    plain.to_csv(tmp_path / "a.csv", index=False)
    plain.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    plain.to_csv(tmp_path / "both.csv", index=False, sep=";", decimal=",")
    one, two, three = (Data.read(tmp_path / f"{name}.csv", "price") for name in ("a", "semicolons", "both"))
    assert one.digest == two.digest == three.digest
    assert two.notes[0] == "columns are separated by semicolons" and two.notes[1:] == one.notes
    assert three.notes[0] == "columns are separated by semicolons, decimal commas"
    (tmp_path / "words.csv").write_text("a;b,y\n" + "x;y,1\nz;w,0\n" * 20)
    assert Data.read(tmp_path / "words.csv", target="y").columns == ("a;b_x;y", "a;b_z;w")


def test_test_rows_change_nothing_of_the_others(tmp_path):
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    one = Data.read(tmp_path / "a.csv", target="price")
    changed = TABLE.copy()
    kept = TABLE.index[TABLE["price"].notna()]
    changed.loc[kept[one.rows["test"].numpy()], "size"] = 1e6
    changed.loc[kept[one.rows["test"].numpy()], "town"] = "Nowhere"
    changed.to_csv(tmp_path / "b.csv", index=False)
    other = Data.read(tmp_path / "b.csv", target="price")
    assert torch.equal(one.split("train")[0], other.split("train")[0])
    assert torch.equal(one.split("val")[0], other.split("val")[0]) and one.columns == other.columns
    towns = [number for number, name in enumerate(other.columns) if name.startswith("town")]
    assert len(towns) == 4 and (other.split("test")[0][:, towns] == 0).all(), (
        "a category that training has not seen is none of them"
    )


def test_a_column_of_numbers_with_a_wrong_cell_stays_one(tmp_path):
    """The cell is missing; numbers with commas are numbers; all of it is said where the data is printed."""
    size = TABLE["size"].round(3).astype(str)
    size[7:12] = "N/A?"
    table = pd.DataFrame({"size": size, "area": [f"{900 + number:,}" for number in range(ROWS)], "y": TABLE["size"]})
    table.to_csv(tmp_path / "a.csv", index=False)
    data = Data.read(tmp_path / "a.csv", target="y")
    assert data.columns == ("size", "area", "missingindicator_size") and (data.inputs[7:12, 2] > 0).all()
    area = torch.arange(900.0, 900 + ROWS)[data.rows["train"]]
    assert torch.allclose(data.split("train")[0][:, 1], (area - area.mean()) / area.std(correction=0), atol=1e-4)
    lines = repr(data).splitlines()
    assert "  size was read as numbers, 5 words ('N/A?') taken as missing; drop=['size'] leaves it out" in lines
    assert any(line.startswith("  area was read as numbers, 100 numbers with commas between") for line in lines)
    with pytest.raises(lab.ArgumentError, match=r"^y holds numbers, and 5 words \('N/A\?'\); write plain numbers and"):
        Data.read(tmp_path / "a.csv", target="size")
    assert "kind='classification' makes them classes" in repr(Data.from_arrays(np.eye(40), np.arange(40) % 2 * 1.0))


def test_a_table_goes_through_search_and_comparison(tmp_path):
    TABLE.to_csv(tmp_path / "prices.csv", index=False)
    data = lab.Data.read(tmp_path / "prices.csv", target="town", drop=["note", "owner"])
    assert data.classes == ("Bern", "Oslo", "Rome")

    def make(seed):
        return nn.Sequential(nn.Linear(len(data.columns), 8), nn.GELU(), nn.Linear(8, 3))

    short = {"steps": 4, "progress": False}
    found = lab.search(data, model=make, replace=nn.GELU, models=2, **short)
    assert len(lab.compare(data, make, nn.GELU, {"GELU": None, "learned": found}, seeds=2, **short).table) == 4


def test_arrays_in_a_file(tmp_path):
    x, y = np.random.default_rng(1).normal(size=(40, 2, 3)), np.arange(40) % 2
    np.savez(tmp_path / "one.npz", images=x, y=y)
    assert Data.read(tmp_path / "one.npz", target="y").digest == Data.from_arrays(x, y).digest
    np.savez(tmp_path / "two.npz", a=x, b=x, y=y, patient=np.arange(len(y)) // 4)
    data = Data.read(tmp_path / "two.npz", target="y", drop="b", groups="patient")
    assert data.digest == Data.from_arrays(x, y, groups=np.arange(len(y)) // 4).digest
    splits = [set((rows // 4).tolist()) for rows in data.rows.values()]
    assert sum(map(len, splits)) == len(set().union(*splits)), "a patient is in two splits"
    assert set(Data.read(tmp_path / "two.npz", target="y", drop=["patient"]).inputs) == {"a", "b"}


class Pairs(torch.utils.data.Dataset):
    def __init__(self, count, first=0):
        self.count, self.first = count, first

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        if not 0 <= number < self.count:
            raise IndexError(number)
        return torch.full((2, 2), float(self.first + number)), (self.first + number) % 2


def test_a_data_set_of_torch_comes_whole():
    data = Data.from_dataset(Pairs(40), name="pairs")
    assert data.inputs[:, 0, 0].tolist() == list(range(40)) and data.targets.tolist() == [0, 1] * 20


def test_splits_that_a_data_set_brings_stay_what_they_are():
    data = Data.from_dataset({"train": Pairs(60), "validation": Pairs(20, 100), "test": Pairs(30, 200)})
    firsts = {name: data.split(name)[0][:, 0, 0] for name in data.rows}
    assert {name: len(x) for name, x in firsts.items()} == {"val": 20, "test": 30, "search": 12, "train": 48}
    assert (firsts["val"] >= 100).all() and (firsts["test"] >= 200).all() and firsts["search"].max() < 60


def test_dictionaries_are_arguments_of_the_model():
    rows = [{"input_ids": [1, 2, n % 5], "attention_mask": [1, 1, 0], "text": "a", "label": n % 2} for n in range(40)]
    data = Data.from_dataset(rows)
    assert set(data.inputs) == {"input_ids", "attention_mask"} and data.inputs["input_ids"].dtype == torch.int64
    assert isinstance(Data.from_dataset(rows, inputs="input_ids").inputs, torch.Tensor)


def test_a_text_becomes_windows_and_what_follows(tmp_path):
    text = "so long, and thanks for all the fish. " * 30
    (tmp_path / "fish.txt").write_text(text)
    data = Data.from_text(tmp_path / "fish.txt", context=20)
    letters = sorted(set(text))
    assert data.classes == tuple(letters) and data.inputs.shape == data.targets.shape == (56, 20)
    assert "".join(letters[i] for i in data.inputs.flatten()) == text[:1120]
    assert "".join(letters[i] for i in data.targets.flatten()) == text[1:1121]
    in_bytes = Data.from_text(tmp_path / "fish.txt", tokens="byte", context=20)
    assert bytes(in_bytes.inputs.flatten().tolist()).decode() == text[:1120]

    class Next(nn.Module):
        """The next letter from this one."""

        def __init__(self):
            super().__init__()
            self.inside, self.act, self.out = nn.Embedding(len(letters), 8), nn.GELU(), nn.Linear(8, len(letters))

        def forward(self, x):
            return self.out(self.act(self.inside(x)))

    result = lab.compare(
        data, lambda seed: Next(), nn.GELU, {"GELU": None}, seeds=2, steps=150, rate=0.03, batch=16, progress=False
    )
    after = pd.crosstab(pd.Series(list(text[:-1])), pd.Series(list(text[1:])))
    best = after.max(axis=1).sum() / (len(text) - 1)
    assert result.table["accuracy"].mean() == pytest.approx(best, abs=0.06), "as well as pairs of letters allow"


def write(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


WRONG = {
    "there is no column 'cost'; there are rooms": lambda f: Data.read(f / "prices.csv", target="cost"),
    "there is no file": lambda f: Data.read(f / "absent.csv", target="y"),
    "has no split ['train']; it has": lambda f: Data.from_arrays(np.eye(40), np.arange(40) % 2).split(["train"]),
    "is a folder; give the path of a text": lambda f: Data.from_text(f),
    "give a file that ends in .csv": lambda f: Data.read(write(f, "a.xlsx", "x"), target="y"),
    "cannot be read": lambda f: Data.read(write(f, "a.parquet", "x"), target="y"),
    "the table has 1 rows and 0 columns": lambda f: Data.read(write(f, "b.csv", "y\n1\n"), target="y"),
    "there is no array 'y'": lambda f: Data.read(f / "a.npz", target="y"),
    "there is no array 'who' in": lambda f: Data.read(f / "a.npz", target="x", groups="who"),
    "has no array of inputs beside x": lambda f: Data.read(f / "a.npz", target="x"),
    "seed=4294967296": lambda f: Data.from_arrays(np.eye(40), np.arange(40) % 2, seed=2**32),
    "has no length or no index": lambda f: Data.from_dataset(iter([1])),
    "no examples": lambda f: Data.from_dataset([]),
    "examples have a, b; name the one to predict": lambda f: Data.from_dataset([{"a": 1, "b": 2}] * 9),
    "let all examples have one shape": lambda f: Data.from_dataset([([0] * n, n % 2) for n in range(1, 20)]),
    "give one with 'train'": lambda f: Data.from_dataset({"validation": Pairs(9)}),
    "give more, or a shorter context": lambda f: Data.from_text(write(f, "a.txt", "short")),
    "unknown tokens 'bpe'": lambda f: Data.from_text(write(f, "a.txt", "short"), tokens="bpe"),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_cannot_be_used_is_said_in_one_line(said, tmp_path):
    TABLE.to_csv(tmp_path / "prices.csv", index=False)
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    with pytest.raises(lab.LabError) as error:
        WRONG[said](tmp_path)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_one_column_is_not_many():
    table = pd.DataFrame({"width": [1.0, 2.0, 3.0], "town": ["Bern", "Oslo", "Bern"]})
    *_, notes = tables.numbers(table, np.arange(3))
    assert [note.split(",")[0] for note in notes] == ["1 column of numbers", "1 column of words"]
