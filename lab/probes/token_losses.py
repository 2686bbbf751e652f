"""The loss of each token of a text, and text that a model goes on with."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_number, check_type, check_whole, described
from lab.probes.reading import reading
from lab.tasks.text import Text

MOST = 1 << 14  # tokens of a text; what a page can show


@dataclass(frozen=True, eq=False)
class TokenLosses:
    """What a model makes of a text of N tokens; the first has no prediction.

    tokens (N,): their numbers. pieces: their text, which is not whole where a token is a part of a character. nats: the
    loss of each, (N,); NaN of the first. guesses: the most probable piece in each place, "" of the first. characters
    (N,): how many begin in each token. altered: whether the vocabulary lacks a part of the text, which was left out.
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
    """The loss of a language model on each token of a text, and what it would have written instead.

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
        raise ArgumentError(
            f"tokens of the text that {task.name} knows: {len(tokens):,}; give 2 to {MOST:,}, of which the first has no"
            " prediction"
        )
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
    """What a language model writes after a prompt: `count` tokens, drawn one after the other.

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
    """The number of a run that the model has."""
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"model is {described(model)}; give a torch.nn.Module that was trained on the task")
    check_type("task", task, Text, "a lab.tasks.Text")
    return check_whole("run", run, 0, getattr(model, "runs", 1) - 1)


def _windows(tokens: int, context: int) -> list[tuple[int, int, int]]:
    """Where windows of a text start, and which tokens each predicts: from, to (exclusive)."""
    windows, first = [], 1
    while first < tokens:
        start = max(0, first - 1 - context // 2) if first > 1 else 0
        last = min(tokens, start + context + 1)
        windows.append((start, first, last))
        first = last
    return windows


def _logits(model: nn.Module, tokens: Tensor, run: int) -> Tensor:
    """Logits (T, V) after each of T tokens, on the CPU."""
    parameter = next(model.parameters(), None)
    device = torch.device("cpu") if parameter is None else parameter.device
    runs = getattr(model, "runs", 1)
    with reading(model):
        whole = model(tokens.to(device).expand(runs, 1, -1))
    return whole[run, 0].float().cpu()
