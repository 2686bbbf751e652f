"""Language models: the loss of each token of a text, continuations of a prompt, and minimal pairs (BLiMP).

A causal model scores a sentence by the sum of its tokens' log-probabilities, a masked one by a pseudo-log-likelihood
(Salazar et al. 2020): each token's, with that token masked. What else there is to choose, the evaluations of BabyLM
chose differently each year: `CONVENTIONS`. A pair is right where the good sentence has the larger score. Equal scores
are wrong and counted as ties: with "larger or equal", as in these evaluations, a constant model is always right.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import e, log

import numpy as np
import torch
from torch import Tensor, nn

from lab.data.sentences import Pair
from lab.errors import ArgumentError, check_choice, check_number, check_type, check_whole
from lab.picture import HasPicture
from lab.probes.arguments import module
from lab.probes.reading import reading
from lab.tasks.text import Text
from lab.training.text import MaskedText

MOST = 1 << 14  # tokens of a text; what a page can show
TOKENS = 1 << 12  # that a model reads at once, all runs together


@dataclass(frozen=True, eq=False, repr=False)
class TokenLosses(HasPicture):
    """The losses of a language model on a text of N tokens, of which the first has no prediction.

    tokens (N,): ids. pieces: their text, which is not whole where a token is a part of a character. nats (N,): the
    losses; NaN of the first. guesses: the most probable piece in each place, "" of the first. characters (N,): how many
    begin in each token. altered: whether the vocabulary lacks a part of the text, which was left out.
    """

    tokens: np.ndarray
    pieces: tuple[str, ...]
    nats: np.ndarray
    guesses: tuple[str, ...]
    characters: np.ndarray
    altered: bool

    @property
    def bits(self) -> float:
        """Bits a character, of all tokens with a prediction."""
        return float(self.nats[1:].sum() / (log(2) * max(1, self.characters[1:].sum())))

    @property
    def loss(self) -> float:
        """Nats a token."""
        return float(self.nats[1:].mean())

    @property
    def right(self) -> float:
        """Share of the tokens that are the most probable ones."""
        return float(np.mean([guess == piece for guess, piece in zip(self.guesses[1:], self.pieces[1:], strict=True)]))


def token_losses(model: nn.Module, task: Text, text: str, run: int = 0) -> TokenLosses:
    """The loss of a language model on each token of a text, and the most probable token in its place.

    model: (R, B, T) → logits (R, B, T, V), as `run.model()` is one.
    task: the `lab.tasks.Text` that it was trained on: it says how text becomes tokens, and how many a model reads. In a
        longer text, each token is predicted from at least half a context of tokens.
    run: which of the R runs, from 0.

    Raises ArgumentError for a text with fewer than two tokens that the task knows, or with too many.

    >>> class Same(nn.Module):  # all tokens are equally probable
    ...     def forward(self, tokens):
    ...         return torch.zeros(*tokens.shape, 57)
    >>> result = token_losses(Same(), Text("moby_dick", context=8), "Call me Ishmael.")
    >>> round(result.loss, 3), round(result.bits, 3), result.pieces[:4]
    (4.043, 5.833, ('C', 'a', 'l', 'l'))
    """
    run = _check(model, task, run)
    known = task.vocabulary
    tokens = known.encode(check_type("text", text, str, "a text"))
    if not 2 <= len(tokens) <= MOST:
        hint = f"give 2 to {MOST:,}, of which the first has no prediction"
        raise ArgumentError(f"tokens of the text that {task.name} knows: {len(tokens):,}; {hint}")
    nats, best = np.full(len(tokens), np.nan), np.zeros(len(tokens), np.int64)
    for start, first, last in _windows(len(tokens), task.context):
        logits = _logits(model, torch.from_numpy(tokens[start : last - 1]), run)[first - start - 1 :]
        wanted = torch.from_numpy(tokens[first:last])
        nats[first:last] = -logits.log_softmax(-1).gather(-1, wanted[:, None])[:, 0].numpy()
        best[first:last] = logits.argmax(-1).numpy()
    pieces = tuple(known.decode([token]) for token in tokens)
    guesses = ("", *(known.decode([token]) for token in best[1:]))
    return TokenLosses(tokens, pieces, nats, guesses, known.characters[tokens], known.decode(tokens) != text)


def continuation(
    model: nn.Module, task: Text, prompt: str, count: int = 100, temperature: float = 0.8, seed: int = 0, run: int = 0
) -> str:
    """The continuation of a prompt by a language model: `count` tokens, drawn one after the other.

    temperature: of the softmax from which tokens are drawn; 0 takes the most probable token each time. seed: of the
        draws.
    model, task, run: as for `token_losses`. Raises ArgumentError for a prompt without a token that the task knows.

    >>> class Echo(nn.Module):  # the next token is the one before
    ...     def forward(self, tokens):
    ...         return nn.functional.one_hot(tokens, 57).float()
    >>> continuation(Echo(), Text("moby_dick", context=8), "Ahab", count=3, temperature=0)
    'bbb'
    """
    run = _check(model, task, run)
    check_whole("count", count, 1, MOST)
    check_number("temperature", temperature, 0)
    tokens = task.vocabulary.encode(check_type("prompt", prompt, str, "a text")).tolist()
    if not tokens:
        raise ArgumentError(f"{task.name} knows no token of the prompt; give some text to go on from")
    generator, drawn = torch.Generator().manual_seed(check_whole("seed", seed, 0)), list(tokens)
    for _ in range(count):
        logits = _logits(model, torch.tensor(drawn[-task.context :]), run)[-1]
        if temperature == 0:
            drawn.append(int(logits.argmax()))
        else:
            shares = (logits / temperature).softmax(-1)
            drawn.append(int(torch.multinomial(shares, 1, generator=generator)))
    return task.vocabulary.decode(drawn[len(tokens) :])


def _check(model: nn.Module, task: Text, run: int) -> int:
    module("model", model)
    check_type("task", task, Text, "a lab.tasks.Text")
    return check_whole("run", run, 0, getattr(model, "runs", 1) - 1)


def _windows(tokens: int, context: int) -> list[tuple[int, int, int]]:
    """Windows of a text: where each starts, and the first and the last (exclusive) token that it predicts."""
    windows, first = [], 1
    while first < tokens:
        start = max(0, first - 1 - context // 2) if first > 1 else 0
        last = min(tokens, start + context + 1)
        windows.append((start, first, last))
        first = last
    return windows


def _logits(model: nn.Module, tokens: Tensor, run: int) -> Tensor:
    """Logits (T, V) after each of T tokens, on the CPU."""
    with reading(model):
        whole = model(tokens.to(_device(model)).expand(getattr(model, "runs", 1), 1, -1))
    return whole[run, 0].float().cpu()


def _device(model: nn.Module) -> torch.device:
    return next((p.device for p in model.parameters()), torch.device("cpu"))


@dataclass(frozen=True)
class Convention:
    """One year's way to score a sentence.

    start: a token that stands for the beginning is put in front and not scored, so that the first word is. blank: there
    is a blank before the sentence. mean: of tokens, where others sum. base: of logarithms. phenomena: the mean is over
    the phenomena, each with all of its pairs; else over the paradigms.
    """

    start: bool
    blank: bool
    mean: bool = False
    base: float = e
    phenomena: bool = False


# By the sources of the three evaluations. All of them leave out pairs with words that their own training text has less
# than twice; those lists are not here, and all pairs are scored.
CONVENTIONS = {
    "causal": {
        "2023": Convention(start=True, blank=True, phenomena=True),
        "2024": Convention(start=True, blank=True),
        "2025": Convention(start=False, blank=False),
    },
    "masked": {
        "2023": Convention(start=False, blank=True, base=2.0, phenomena=True),
        "2024": Convention(start=True, blank=True, mean=True),
        "2025": Convention(start=False, blank=False),
    },
}


@dataclass(frozen=True, eq=False)
class Reader:
    """The tokenizer of a model, for minimal pairs and fine-tuning.

    encode: text → tokens. start: the token for the beginning of a text; None where there is none. mask: the mask token;
    None for a causal model. before, after: special tokens around every sentence, which are not scored. length: most
    tokens that the model reads. decode: back to text; None: not known.
    """

    encode: Callable[[str], Sequence[int]]
    start: int | None = None
    mask: int | None = None
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    length: int = 1 << 30
    decode: Callable[[Sequence[int]], str] | None = None

    @property
    def kind(self) -> str:
        """ "causal" or "masked"."""
        return "causal" if self.mask is None else "masked"


def reader_of(task: Text | MaskedText) -> Reader:
    """The reader of a model that was trained on this text. A text begins after GPT-2's own token, where it has that,
    or else after the end of a line.

    >>> reader = reader_of(Text("moby_dick", context=64))
    >>> reader.decode(reader.encode("Call me.")), reader.decode([reader.start]), reader.kind
    ('Call me.', '\\n', 'causal')
    """
    text = task.text if isinstance(task, MaskedText) else task
    known = text.vocabulary
    starts = (known.pieces.index(piece) for piece in (b"<|endoftext|>", b"\n") if piece in known.pieces)
    mask = task.mask if isinstance(task, MaskedText) else None
    start = next(starts, None)
    return Reader(lambda words: known.encode(words).tolist(), start, mask, length=text.context, decode=known.decode)


@dataclass(frozen=True, eq=False, repr=False)
class MinimalPairs(HasPicture):
    """Scores of R runs for N pairs of P paradigms and Q phenomena.

    good, bad (R, N): scores of the sentences; tied, right (R, N) bool. altered (N,) bool: the vocabulary lacks a part
    of a sentence, which was left out. Accuracies are 0 to 1, by name in alphabetical order.
    """

    convention: Convention
    paradigm: np.ndarray  # (N,) of each pair
    phenomenon: np.ndarray  # (N,)
    good: np.ndarray
    bad: np.ndarray
    altered: np.ndarray

    @property
    def right(self) -> np.ndarray:
        return self.good > self.bad

    @property
    def tied(self) -> np.ndarray:
        return self.good == self.bad

    @property
    def paradigms(self) -> dict[str, np.ndarray]:
        """Accuracy by paradigm, (R,)."""
        return self._by(self.paradigm, self.right)

    @property
    def phenomena(self) -> dict[str, np.ndarray]:
        """Accuracy by phenomenon, (R,), of all its pairs."""
        return self._by(self.phenomenon, self.right)

    @property
    def ties(self) -> dict[str, np.ndarray]:
        """Share of ties by paradigm, (R,)."""
        return self._by(self.paradigm, self.tied)

    @property
    def mean(self) -> np.ndarray:
        """The year's mean, (R,)."""
        return np.mean(list((self.phenomena if self.convention.phenomena else self.paradigms).values()), axis=0)

    def _by(self, names: np.ndarray, values: np.ndarray) -> dict[str, np.ndarray]:
        return {str(name): values[:, names == name].mean(1) for name in np.unique(names)}


def minimal_pairs(model: nn.Module, reader: Reader, pairs: Sequence[Pair], year: str = "2025") -> MinimalPairs:
    """Score pairs of sentences. year: of CONVENTIONS.

    model: of the lab, (R, B, T) → (R, B, T, V), with `runs`; or any other, of Hugging Face too, (B, T) → (B, T, V).

    >>> class Same(nn.Module):  # all tokens are equally probable
    ...     def forward(self, tokens):
    ...         return torch.zeros(*tokens.shape, 5)
    >>> reader = Reader(lambda text: [len(word) for word in text.split()], start=0)
    >>> result = minimal_pairs(Same(), reader, [Pair("island", "islands", "a b", "a b c")], "2024")
    >>> result.mean, result.bad.round(2)
    (array([1.]), array([[-4.83]]))
    """
    check_choice("year", year, CONVENTIONS[reader.kind])
    convention = CONVENTIONS[reader.kind][year]
    if not pairs:
        raise ArgumentError("there are no pairs; give one or more")
    texts, blank = [text for pair in pairs for text in (pair.good, pair.bad)], " " if convention.blank else ""
    read = {text: tuple(int(token) for token in reader.encode(f"{blank}{text}")) for text in texts}
    rows = sorted(set(read.values()))
    scores = dict(zip(rows, sentence_scores(model, reader, convention, rows).T, strict=True))
    good, bad = (np.stack([scores[read[pair[place]]] for pair in pairs], 1) for place in (2, 3))
    back = reader.decode
    whole = {text: back is None or back(tokens).strip() == text.strip() for text, tokens in read.items()}
    altered = np.array([not (whole[pair.good] and whole[pair.bad]) for pair in pairs])
    names = np.array([pair[:2] for pair in pairs]).T
    return MinimalPairs(convention, names[0], names[1], good, bad, altered)


def sentence_scores(
    model: nn.Module, reader: Reader, convention: Convention, rows: Sequence[tuple[int, ...]]
) -> np.ndarray:
    """Scores (R, N) of sentences as tokens, those of one length read together, so that nothing is padded."""
    runs = getattr(model, "runs", None)
    scores = np.zeros((runs or 1, len(rows)))
    lengths = np.array([len(_around(row, reader, convention)) for row in rows])
    if lengths.max() > reader.length:
        raise ArgumentError(f"a sentence has {lengths.max()} tokens, the model reads {reader.length}; train with more")
    with reading(model):
        for length in np.unique(lengths):
            places = np.flatnonzero(lengths == length)
            copies = 1 if reader.mask is None else length
            size = max(1, TOKENS // (length * copies * (runs or 1)))
            for chunk in np.split(places, range(size, len(places), size)):
                whole = [_around(rows[i], reader, convention) for i in chunk]
                batch = torch.tensor(whole, device=_device(model), dtype=torch.long).view(len(chunk), -1)
                scores[:, chunk] = _scores(model, batch, reader, convention, runs).cpu().numpy()
    return scores


def _around(row: tuple[int, ...], reader: Reader, convention: Convention) -> tuple[int, ...]:
    if not convention.start:
        return (*reader.before, *row, *reader.after)
    if reader.start is None:
        raise ArgumentError("this year's evaluation puts a token in front that begins a text; give the reader a start")
    return (*reader.before, reader.start, *row, *reader.after)


def _scores(model: nn.Module, rows: Tensor, reader: Reader, convention: Convention, runs: int | None) -> Tensor:
    """Scores (R, B) of sentences of one length, (B, T)."""
    first, end = len(reader.before) + int(convention.start), rows.shape[1] - len(reader.after)
    if reader.mask is None:
        first = max(first, 1)  # nothing comes before the first token, which has no probability
    if end <= first:
        return torch.zeros(runs or 1, len(rows), dtype=torch.float64, device=rows.device)
    place = torch.arange(first, end, device=rows.device)
    if reader.mask is None:
        logs = _logs(model, rows, (place - 1).expand(len(rows), -1), runs)  # (R, B, scored, V)
    else:
        hidden = rows[:, None].repeat(1, len(place), 1)  # each with one token hidden
        hidden[:, torch.arange(len(place)), place] = reader.mask
        positions = place.repeat(len(rows))[:, None]
        logs = _logs(model, hidden.flatten(0, 1), positions, runs)[:, :, 0].unflatten(1, (len(rows), len(place)))
    wanted = rows[:, first:end].expand(len(logs), -1, -1)[..., None]
    each = logs.gather(-1, wanted)[..., 0].double() / log(convention.base)
    return each.mean(-1) if convention.mean else each.sum(-1)


def _logs(model: nn.Module, tokens: Tensor, positions: Tensor, runs: int | None) -> Tensor:
    """Log-probabilities (R, B, K, V) at positions (B, K) of tokens (B, T), float32."""
    if runs is not None:
        logits = model(*(part.expand(runs, -1, -1) for part in (tokens, positions)))
    else:
        output = model(tokens)
        whole = getattr(output, "logits", output)
        logits = whole.gather(1, positions[..., None].expand(-1, -1, whole.shape[-1]))[None]
    return logits.float().log_softmax(-1)
