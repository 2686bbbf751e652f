"""Latent codes: the attention scores across heads for one query and one key (hypernetwork paper, Sec. 2.1, Eq. 4).

Multi-head attention is a linear hypernetwork: query q receives Σ_k W_{q,k} x_k with

    W_{q,k} = Σ_h a_{h,q,k} W_h^out W_h^value,

so the H scores a_{1,q,k} … a_{H,q,k} are a code: they say which operation the layer applies to key k on behalf of
query q.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_flag, check_whole, described
from lab.probes.arguments import array, numbers
from lab.probes.attention import count, inputs_of_run, scores_in_passes, tensors
from lab.probes.padding import padding, positioned
from lab.probes.reading import reading
from lab.probes.weights import bare, runs_of

TINY = 1e-100
Tokens = int | Sequence[int] | np.ndarray | Tensor  # one index, or one an example; negative ones count from the end


@dataclass(frozen=True, eq=False)
class Codes:
    """What one layer does for a query token with a key token, example by example. numpy takes it as `codes`.

    codes (examples, heads): attention scores, float32 or float64. layer: from 0. query, key (examples,): indices of the
    tokens, from 0. normalized: whether the scores are those after normalization (softmax, RMSHead, …), or before.
    latents: ground truth that came with the examples, by name; each (examples, …).
    """

    codes: np.ndarray
    layer: int
    query: np.ndarray
    key: np.ndarray
    normalized: bool
    latents: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.codes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.codes, dtype=dtype, copy=copy)


def latent_codes(
    model: Any,
    inputs: Any = None,
    layer: int = -1,
    query: Tokens = -1,
    key: Tokens = -1,
    *,
    run: int = 0,
    normalized: bool = True,
    batch: int = 256,
) -> Codes:
    """The code (a_{h,q,k})_h of one layer for the given query and key tokens (hypernetwork paper, Eq. 4, Fig. 1B).

    model, inputs: one of
        a model with `attention_scores`, as the lab's have, with the examples of a task, or their tokens (N, T) or
        inputs (N, T, D). `run` picks one of the model's runs, and of the inputs' if they have a run axis, too. A
        model of your own says by `runs` that it has a run axis (`lab.probes.weights.runs_of`);
        a model that contains `torch.nn.MultiheadAttention`, or such a module itself, with its inputs: its layers count
        in the order in which they are called;
        a Hugging Face model, with token ids (N, T) or the dictionary that its tokenizer returns. Its attention must be
        "eager": fused attention computes no scores that could be read;
        attention scores (N, heads, query, key), or with a run axis in front; or a list of such, one for each layer.
    layer: from 0; negative numbers count from the last.
    query, key: index of a token, or (N,), one for each example. The paper reads the response token attending to itself.
    normalized: False for the scores before normalization, where the model gives them.
    batch: examples that go through the model at once. It bounds the memory and changes nothing else.

    Raises ArgumentError for a layer, run or token that is not there, and for a model whose scores cannot be read.

    >>> scores = torch.tensor([[0.9, 0.1], [0.2, 0.8]])  # planted: (examples, heads)
    >>> codes = latent_codes(scores[:, :, None, None].expand(2, 2, 5, 5), query=4, key=2)
    >>> codes.codes.tolist() == scores.tolist()
    True
    >>> from lab.models.transformer import Transformer
    >>> from lab.spec import ModelSpec
    >>> model = Transformer(ModelSpec(layers=2, heads=2, width=8), vocabulary=5, length=4, seeds=[0], mlp=nn.GELU())
    >>> for block in model.blocks:  # with no queries and keys, a token attends alike to all before it
    ...     _ = block.attention.qkv.weight.data.zero_()
    >>> latent_codes(model, torch.ones(3, 4, dtype=torch.long), query=[1, 2, 3], key=0).codes[:, 0].round(3).tolist()
    [0.5, 0.3330000042915344, 0.25]
    """
    layers = codes_by_layer(model, inputs, query, key, run=run, normalized=normalized, batch=batch)
    if check_whole("layer", layer, -len(layers)) >= len(layers):
        raise ArgumentError(f"layer={layer}: there are {len(layers)} layers; choose {-len(layers)}..{len(layers) - 1}")
    return layers[layer]


def codes_by_layer(
    model: Any,
    inputs: Any = None,
    query: Tokens = -1,
    key: Tokens = -1,
    *,
    run: int = 0,
    normalized: bool = True,
    batch: int = 256,
) -> tuple[Codes, ...]:
    """`latent_codes` of every layer, from one pass through the model. Arguments and errors as there.

    >>> scores = torch.rand(2, 3, 5, 5)  # (examples, heads, query, key)
    >>> [codes.codes.shape for codes in codes_by_layer([scores, scores])]
    [(2, 3), (2, 3)]
    """
    check_whole("batch", batch), check_flag("normalized", normalized), check_whole("run", run, -(2**31))
    examples, read = None, None
    if isinstance(model, nn.Module):
        model = bare(model)  # what is compiled would not tell
        if hasattr(model, "attention_scores") and runs_of(model) is not None:
            inputs = inputs_of_run(inputs, run)
        read = tensors(inputs)
        examples, filling = count(read), padding(model, read)
    by_layer: list[list[Tensor]] = []
    start = 0
    with reading(model):
        if isinstance(read, Mapping):
            read = positioned(model, read)
        for layers in scores_in_passes(model, read, run, normalized, batch):
            if not by_layer:
                examples = len(layers[0]) if examples is None else examples
                (q, k), by_layer = _places(query, key, examples, layers[0].shape[-2:]), [[] for _ in layers]
                if read is not None:
                    _refuse_padding(filling, q, k)
            here = slice(start, start + len(layers[0]))
            for scores, passes in zip(layers, by_layer, strict=True):
                passes.append(scores[torch.arange(len(scores)), :, q[here], k[here]].cpu())
            start = here.stop
    if not by_layer:
        raise ArgumentError("inputs hold no examples; give at least one")
    whole = [torch.cat(passes) for passes in by_layer]
    for codes in whole:
        _refuse_hidden(codes, q, k)
    latents = {name: array(name, latent, "numbers") for name, latent in getattr(inputs, "latents", {}).items()}
    return tuple(
        Codes(array("codes", codes, "numbers"), layer, q.numpy(), k.numpy(), normalized, latents)
        for layer, codes in enumerate(whole)
    )


def as_codes(codes: Any) -> np.ndarray:
    """Codes as float64 (examples, heads), if all of them are numbers."""
    expected = "numbers of shape (examples, heads)"
    numeric = numbers("codes", codes, expected)
    if numeric.ndim != 2:
        raise ArgumentError(f"codes have shape {numeric.shape}; give {expected}")
    bad = int((~np.isfinite(numeric)).any(1).sum())
    if bad:
        raise ArgumentError(
            f"{bad} of {len(numeric)} codes are not finite; leave them out (a diverged run, hidden keys)"
        )
    largest = np.abs(numeric).max()
    if largest and not TINY <= largest <= 1 / TINY:  # squares of them are 0 or infinite
        raise ArgumentError(f"the largest code is {largest:.3g}; divide codes by it, so that it is 1")
    return numeric


def _places(query: Tokens, key: Tokens, examples: int, sizes: Sequence[int]) -> list[Tensor]:
    """Query and key as indices from 0, (examples,) int64."""
    places = []
    for name, value, size in zip(("query", "key"), (query, key), sizes, strict=True):
        expected = f"one index, or one for each of {examples} examples"
        given = array(name, value, expected)
        if given.dtype.kind not in "iu" or (given.ndim and given.shape != (examples,)):
            raise ArgumentError(f"{name} is {described(given)}; give {expected}")
        index = torch.as_tensor(given)
        outside = index[(index < -size) | (index >= size)]
        if outside.numel():
            raise ArgumentError(f"{name}={int(outside[0])}: there are {size} tokens; choose {-size}..{size - 1}")
        places.append((index.long() % size).expand(examples))
    return places


def _refuse_padding(filling: Tensor | None, query: Tensor, key: Tensor) -> None:
    """Tokens that only fill up a row attend to something, too, but it means nothing."""
    for name, index in (("query", query), ("key", key)):
        hit = 0 if filling is None else int(filling[torch.arange(len(index)), index].sum())
        if hit:
            raise ArgumentError(f"{name} is padding in {hit} of {len(index)} examples; give one index an example")


def _refuse_hidden(codes: Tensor, query: Tensor, key: Tensor) -> None:
    hidden = (key > query) & ((codes == 0) | codes.isinf()).all(1)
    if hidden.any():
        i = int(hidden.nonzero()[0])
        raise ArgumentError(
            f"query {int(query[i])} does not see key {int(key[i])} (example {i}): every head scores it {codes[i, 0]:g};"
            " in a causal model take a key at or before the query"
        )
