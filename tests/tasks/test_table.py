"""Table tasks: losses and scores against torch's own and definitions; images, collages and tables on samples."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lab.data import datasets
from lab.errors import ArgumentError
from lab.spec import from_json, to_json
from lab.tasks import Collage, Images, Operation, SingleTileCollage, TableSplit, Tabular
from lab.tasks.collage import tiles
from lab.tasks.images import CLASSES, cropped
from lab.tasks.table import class_ids, nearest_class, random_parts, scale, sizes

IMAGES, NUMBERS = Images("fashion_mnist_sample"), Images("fashion_mnist_sample", target="id")
COLLAGE = Collage("mnist_sample", "fashion_mnist_sample")
ALONE = SingleTileCollage("mnist_sample", "fashion_mnist_sample", "hard")
TABULAR = Tabular("bank-marketing")
TASKS = (Operation("a+b", modulus=27), Images("mnist_sample"), IMAGES, NUMBERS, COLLAGE, ALONE, TABULAR)
SHIPPED_TABLES = ("bank-marketing", "MagicTelescope", "covertype_sample")


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


# What all have in common.


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_what_every_table_task_says_of_itself_is_true(task):
    assert from_json(to_json(task)) == task and hash(task) == hash(from_json(to_json(task)))
    splits = task.split(0)
    assert {"train", "val", "test"} <= splits.keys() and task.split(0) is splits
    assert set(task.sources) <= set(datasets.names())
    for split in splits.values():
        assert split.inputs.shape == (len(split), task.inputs) and split.inputs.dtype == torch.float32
        assert split.targets.dtype == (torch.int64 if task.classification else torch.float32)
        answers = task.answers_of_targets(split.targets)
        assert answers.min() >= 0 and answers.max() < task.classes
    assert len(splits["train"].targets.unique()) == task.classes
    perfect = F.one_hot(splits["val"].targets, task.classes).float() if task.classification else None
    perfect = splits["val"].targets[:, None] if perfect is None else perfect
    found = task.scores(perfect[None].expand(3, -1, -1), splits["val"].targets)
    assert found["accuracy"].tolist() == [1.0] * 3 and set(found) == {"accuracy", task.loss_name}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_losses_are_torchs_for_each_run(task):
    targets = torch.stack([task.split(0)["train"].targets[at : at + 40] for at in (0, 40, 80)])
    outputs = draw(3, 40, task.outputs).requires_grad_()
    found = task.loss(outputs, targets)
    for run in range(3):
        if task.loss_name == "cross_entropy":
            expected = F.cross_entropy(outputs[run], targets[run])
        elif task.classification:
            expected = F.mse_loss(outputs[run], F.one_hot(targets[run], task.classes).float())
        else:
            expected = F.mse_loss(outputs[run, :, 0], targets[run])
        assert torch.allclose(found[run], expected, rtol=1e-6)
        own, theirs = (torch.autograd.grad(loss, outputs, retain_graph=True)[0][run] for loss in (found[run], expected))
        assert torch.allclose(own, theirs, atol=1e-8)
    scores = task.scores(outputs.detach(), targets)
    assert torch.allclose(scores[task.loss_name], found.detach().double())
    shared = task.loss(outputs, targets[0])  # the same rows for all runs
    assert torch.allclose(shared, task.loss(outputs, targets[:1].expand(3, -1)))


def test_values_are_scored_by_the_nearest_class():
    ids = class_ids(torch.arange(10), 10)
    assert (
        ids.tolist() == pytest.approx([-1 + 2 * i / 9 for i in range(10)])
        and len(ids.diff().round(decimals=6).unique()) == 1
    )
    values = torch.linspace(-1.6, 1.6, 1001)
    nearest = (values[:, None] - ids).abs().argmin(1)
    clear = ((values[:, None] - ids).abs().topk(2, largest=False).values.diff() > 1e-4)[:, 0]
    assert (nearest_class(values, 10) == nearest)[clear].all() and clear.sum() > 950
    assert nearest_class(torch.tensor([-math.inf, math.inf]), 10).tolist() == [0, 9]
    scores = NUMBERS.scores(torch.full((1, 4, 1), math.nan), class_ids(torch.tensor([0, 3, 5, 9]), 10))
    assert scores["accuracy"].item() == 0.0  # a model that diverged is never right


@pytest.mark.parametrize(
    ("inputs", "targets", "latents", "words"),
    [
        (torch.zeros(3), torch.zeros(3), {}, "rows, columns"),
        (torch.zeros(3, 2).double(), torch.zeros(3), {}, "float64"),
        (torch.zeros(3, 2), torch.zeros(2), {}, r"\(3,\)"),
        (torch.zeros(3, 2), torch.zeros(3, dtype=torch.int32), {}, "int32"),
        (torch.zeros(3, 2), torch.zeros(3), {"row": torch.zeros(2)}, "'row' has 2 rows"),
    ],
)
def test_a_split_says_what_does_not_fit(inputs, targets, latents, words):
    with pytest.raises(ArgumentError, match=words):
        TableSplit(inputs, targets, latents)


def test_random_parts_are_disjoint_and_uniform():
    counts = torch.zeros(3, 30)
    for seed in range(400):
        parts = random_parts(30, {"a": 5, "b": 10, "c": 12}, torch.Generator().manual_seed(seed))
        assert [len(part) for part in parts.values()] == [5, 10, 12] and len(
            torch.cat([*parts.values()]).unique()
        ) == 27
        for row, part in zip(counts, parts.values(), strict=True):
            row[part] += 1
    for row, size in zip(counts, (5, 10, 12), strict=True):
        p = size / 30
        assert (row / 400 - p).abs().max() < 4.5 * (p * (1 - p) / 400) ** 0.5
    with pytest.raises(ArgumentError, match="there are 30"):
        random_parts(30, {"a": 31}, torch.Generator())


# Images.


def test_pixels_are_those_of_the_data_set_cropped_and_scaled():
    arrays = datasets.load("mnist_sample").arrays
    split = Images("mnist_sample").split()["test"]
    expected = arrays["test_images"][:, 5:23, 5:23].reshape(1000, -1) / 127.5 - 1  # 5 pixels on every side
    assert np.allclose(split.inputs.numpy(), expected, atol=1e-6)
    assert split.targets.tolist() == arrays["test_labels"].tolist()
    whole = Images("mnist_sample", crop=False)
    assert whole.shape == (28, 28) and IMAGES.shape == (28, 28)  # of the other sets the paper says nothing
    assert whole.split()["test"].inputs.aminmax() == (-1.0, 1.0)


def test_svhn_is_cropped_left_and_right():
    images = np.arange(2 * 32 * 32 * 3, dtype=np.int64).reshape(2, 32, 32, 3)
    assert (cropped(images, (0, 8)) == images[:, :, 8:24]).all() and cropped(images, (0, 0)).shape == images.shape


def test_no_image_is_in_two_splits_and_all_are_used():
    splits = Images("mnist_sample", crop=False).split(0)
    rows = {name: {row.tobytes() for row in split.inputs.numpy()} for name, split in splits.items()}
    assert {name: len(found) for name, found in rows.items()} == {"train": 4000, "val": 1000, "test": 1000}
    assert not rows["train"] & rows["val"] and not (rows["train"] | rows["val"]) & rows["test"]
    assert Images("mnist_sample", crop=False).split(5) is splits  # one for every seed


def test_ids_are_the_labels_spread_over_the_interval():
    for name, split in NUMBERS.split().items():
        labels = IMAGES.split()[name].targets
        assert torch.allclose(split.targets, labels * 2 / 9 - 1) and split.targets.aminmax() == (-1.0, 1.0)
        assert torch.equal(split.latents["label"], labels) and torch.equal(split.inputs, IMAGES.split()[name].inputs)


def test_a_missing_set_is_one_line_and_an_unknown_one_names_those_there_are():
    with pytest.raises(datasets.MissingError, match=r"^svhn is not here: `lab data fetch svhn` .* LAB_DATA name it$"):
        Images("svhn").split()
    for build in (lambda: Images("bank-marketing"), lambda: Collage("mnist_sample", "chess")):
        with pytest.raises(ArgumentError, match="mnist, fashion_mnist, svhn, cifar10"):
            build()
    with pytest.raises(ArgumentError, match="class, id"):
        Images("mnist_sample", target="name")
    with pytest.raises(ArgumentError, match="two data sets"):
        Collage("mnist_sample", "mnist_sample")
    with pytest.raises(ArgumentError, match="bank-marketing"):
        Tabular("mnist")


# Collages.


def test_collages_told_by_one_tile_are_those_of_the_collage():
    splits, own = COLLAGE.split(), ALONE.split()
    assert own.keys() == splits.keys()
    for name, split in own.items():
        assert split is splits[name if "_" in name else f"{name}_hard"]
    with pytest.raises(ArgumentError, match="easy or hard"):
        SingleTileCollage("mnist_sample", "fashion_mnist_sample", "left")


@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_tiles_tell_the_label_where_they_should_and_nowhere_else(part):
    splits = COLLAGE.split()
    agreement = {}
    for suffix in ("", "_easy", "_hard"):
        split = splits[part + suffix]
        for tile in ("easy", "hard"):
            agreement[suffix, tile] = (split.latents[tile] == split.targets).double().mean().item()
    for suffix, tile in [("", "easy"), ("", "hard"), ("_easy", "easy"), ("_hard", "hard")]:
        assert agreement[suffix, tile] == 1.0
    count = len(splits[part])
    for suffix, tile in [("_easy", "hard"), ("_hard", "easy")]:  # chance, to four standard errors
        assert abs(agreement[suffix, tile] - 1 / CLASSES) < 4 * (0.09 / count) ** 0.5


def test_each_tile_is_an_image_of_the_class_its_latent_names():
    pools, sources = {}, {"easy": "mnist_sample", "hard": "fashion_mnist_sample"}
    for tile, source in sources.items():
        arrays = datasets.load(source).arrays
        pools[tile] = {
            part: {
                image.numpy().tobytes(): label
                for image, label in zip(tiles(arrays[f"{part}_images"]), arrays[f"{part}_labels"].tolist(), strict=True)
            }
            for part in ("train", "test")
        }
    seen = {tile: {} for tile in sources}
    for name, split in COLLAGE.split().items():
        part = name.split("_")[0]
        halves = split.inputs.view(-1, 2, 16, 16)
        for tile, images in zip(("easy", "hard"), halves.unbind(1), strict=True):
            pool = pools[tile]["test" if part == "test" else "train"]
            keys = [image.numpy().tobytes() for image in images]
            assert [pool[key] for key in keys] == split.latents[tile].tolist()
            seen[tile].setdefault(part, set()).update(keys)
    for parts in seen.values():  # no image is in two of the parts
        assert not parts["train"] & parts["val"] and not (parts["train"] | parts["val"]) & parts["test"]


def test_tiles_are_means_of_grey_pixels():
    images = np.random.default_rng(0).integers(0, 256, (3, 28, 30), dtype=np.uint8)
    padded = np.pad(images, ((0, 0), (2, 2), (1, 1))).astype(np.float64)
    expected = padded.reshape(3, 16, 2, 16, 2).mean((2, 4)) / 127.5 - 1
    assert np.allclose(tiles(images).numpy(), expected, atol=1e-6)
    assert np.allclose(tiles(np.repeat(images[..., None], 3, -1)).numpy(), expected, atol=1e-5)  # grey in colour
    red = np.zeros((1, 32, 32, 3), np.uint8)
    red[..., 0] = 255
    assert np.allclose(tiles(red).numpy(), 0.299 * 2 - 1, atol=1e-5)


# Tables.


@pytest.mark.parametrize("name", SHIPPED_TABLES)
def test_classes_are_balanced_and_splits_disjoint(name):
    task = Tabular(name)
    arrays = datasets.load(name).arrays
    assert (arrays["labels"] == 1).sum() * 2 == len(arrays["labels"]) and len(task.columns) == task.inputs
    splits = task.split(0)
    rows = torch.cat([split.latents["row"] for split in splits.values()])
    assert len(rows.unique()) == len(rows) == len(arrays["labels"])
    assert {n: len(s) for n, s in splits.items()} == sizes(len(arrays["labels"]))
    for split in splits.values():
        assert split.targets.tolist() == arrays["labels"][split.latents["row"].numpy()].tolist()
    assert not torch.equal(task.split(1)["train"].latents["row"], splits["train"].latents["row"])


@pytest.mark.parametrize("name", SHIPPED_TABLES)
def test_scaling_is_that_of_the_training_rows_alone(name):
    splits, arrays = Tabular(name).split(2), datasets.load(name).arrays
    train = arrays["inputs"][splits["train"].latents["row"].numpy()].astype(np.float64)
    low, high = train.min(0), train.max(0)
    assert (splits["train"].inputs.amin(0) == -1).all() and (splits["train"].inputs.amax(0) == 1).all()
    for split in splits.values():
        raw = arrays["inputs"][split.latents["row"].numpy()].astype(np.float64)
        assert np.allclose(split.inputs.numpy(), 2 * (raw - low) / (high - low) - 1, atol=1e-6)
    outside = [(split.inputs.abs() > 1).any().item() for split in (splits["val"], splits["test"])]
    assert any(outside)  # nobody looked at these rows


def test_a_constant_column_becomes_zero():
    assert scale(torch.tensor([[7.0], [7.0]]), torch.tensor([[7.0], [9.0]])).tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize(
    ("rows", "train", "val", "test"),
    [  # the benchmark's own counts, as its pipeline gives them
        (16_714, 10_000, 2_014, 4_700),
        (38_474, 10_000, 8_542, 19_932),
        (566_602, 10_000, 50_000, 50_000),
        (10_082, 7_057, 907, 2_118),
        (13_488, 9_441, 1_214, 2_833),
        (13_376, 9_363, 1_203, 2_810),
        (10_578, 7_404, 952, 2_222),
        (72_998, 10_000, 18_899, 44_099),
        (940_160, 10_000, 50_000, 50_000),
        (7_608, 5_325, 684, 1_599),
        (71_090, 10_000, 18_327, 42_763),
        (57_580, 10_000, 14_274, 33_306),
        (13_272, 9_290, 1_194, 2_788),
        (3_434, 2_403, 309, 722),
        (20_634, 10_000, 3_190, 7_444),
        (10_000, 7_000, 900, 2_100),
    ],
)
def test_split_sizes_are_the_benchmarks(rows, train, val, test):
    assert sizes(rows) == {"train": train, "val": val, "test": test}
