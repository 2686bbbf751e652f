"""Language modelling: predict each token of a text from those before it (transformers paper, Section 4).

Splits: `train` and `search` (what the non-linearity follows in stage I), `training` (both: stage II), `val`, `test`.
They are pieces of the text that do not overlap (`lab.data.tokens`).
"""

from dataclasses import dataclass

from lab.data import datasets, tokens
from lab.data.tokens import Tokens, Vocabulary, Windows
from lab.errors import check_choice, check_whole

LONGEST = 1 << 16  # tokens of a context


@dataclass(frozen=True)
class Text:
    """A text of `lab.data.datasets`, e.g. "shakespeare" or "python_stdlib", in windows of `context` tokens.

    tokens: "char", "gpt2" (its byte-pair encoding), or "bpe" (one trained on the training part of this text). least:
    tokens that occur fewer times in training are left out of the text (App. B).

    >>> task = Text("moby_dick", context=64)
    >>> task.name, len(task.vocabulary), len(task.windows("test"))
    ('moby_dick char', 57, 58455)
    """

    corpus: str
    tokens: str = "char"
    context: int = 256
    least: int = 200

    def __post_init__(self):
        check_choice("text", self.corpus, datasets.names("text"))
        check_choice("tokens", self.tokens, tokens.KINDS)
        check_whole("context", self.context, 1, LONGEST)
        check_whole("least", self.least)

    @property
    def name(self) -> str:
        return f"{self.corpus} {self.tokens}"

    @property
    def sources(self) -> tuple[str, ...]:
        """The data set of its text."""
        return (self.corpus,)

    @property
    def data(self) -> Tokens:
        return tokens.tokenized(self.corpus, self.tokens, self.least)

    @property
    def vocabulary(self) -> Vocabulary:
        return self.data.vocabulary

    def windows(self, split: str) -> Windows:
        """What a model reads and one token more, which is the last that it predicts."""
        check_choice("split", split, (*tokens.SPLITS, "training"))
        return tokens.windows_of(self.data, split, self.context + 1, self.name)


def text_named(name: str) -> Text | None:
    """The text of this name, by characters where nothing else is said; None where there is none.

    >>> text_named("moby_dick"), text_named("moby_dick gpt2").tokens, text_named("moby dick")
    (Text(corpus='moby_dick', tokens='char', context=256, least=200), 'gpt2', None)
    """
    corpus, _, kind = name.partition(" ")
    known = datasets.CATALOGUE.get(corpus)
    if known is None or known.kind != "text" or kind not in ("", *tokens.KINDS):
        return None
    return Text(corpus, kind or "char")
