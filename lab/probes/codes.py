"""Attention scores of models: those with `attention_scores`, Hugging Face models, models with torch's own
`nn.MultiheadAttention`, and plain tensors of scores."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_flag, check_whole, described
from lab.picture import HasPicture
from lab.probes.arguments import array, calling, numbers
from lab.probes.reading import padding, positioned, reading
from lab.probes.weights import bare, runs_of

_ADVICE = "give inputs that it reads; attention_scores or attentions have to be (examples, heads, query, key)"
TINY = 1e-100
Tokens = int | Sequence[int] | np.ndarray | Tensor  # one index, or one an example; negative ones count from the end


def scores_in_passes(model: Any, inputs: Any, run: int, normalized: bool, batch: int) -> Iterator[list[Tensor]]:
    """The scores of `batch` examples at a time (see `pass_size`): a list of layers, each (n, heads, query, key).

    Arguments as in `latent_codes`; inputs as `tensors` gives them, without a run axis. To be called within `reading`.
    """
    if isinstance(model, nn.Module):
        for start in range(0, count(inputs), batch):
            with calling(f"{type(model).__name__}, asked for its attention,", _ADVICE):
                layers = _of_module(model, inputs, slice(start, start + batch), run, normalized)
            yield layers
        return
    expected = "a model with attentions, or scores (examples, heads, query, key), a tensor for each layer"
    if not isinstance(model, (Tensor, np.ndarray, list, tuple)):
        hint = "; its .model() is one" if callable(getattr(model, "model", None)) else ""
        raise ArgumentError(f"model is {described(model)}{hint}; give {expected}")
    parts = [model] if isinstance(model, (Tensor, np.ndarray)) else model
    arrays = [array("scores", part, expected) for part in parts]
    if not arrays or any(part.ndim not in (4, 5) or not part.size for part in arrays):
        shapes = ", ".join(str(part.shape) for part in arrays) or "none"
        raise ArgumentError(f"scores of shape {shapes}; give {expected}")
    if wrong := [part.dtype for part in arrays if part.dtype.kind not in "fiub"]:
        raise ArgumentError(f"scores are {wrong[0]}; give real numbers")
    layers = [torch.as_tensor(part) for part in arrays]
    if run and any(part.ndim == 4 for part in layers):
        raise ArgumentError(f"run={run}: these scores have no run axis; leave run at 0, or give (runs, examples, …)")
    if len({part.shape[-4:-3] + part.shape[-2:] for part in layers}) > 1:
        raise ArgumentError(
            f"layers have scores of shapes {', '.join(str(tuple(p.shape)) for p in layers)}; give the "
            "same examples and tokens in each"
        )
    yield [of_run(part, run) if part.ndim == 5 else part for part in layers]


def tensors(inputs: Any) -> Tensor | Mapping[str, Any]:
    """What goes into a model: a tensor, or a dictionary with some. `inputs` may be the examples of a task."""
    if isinstance(inputs, Mapping):  # a tokenizer's
        if not any(isinstance(value, Tensor) for value in inputs.values()):
            raise ArgumentError("inputs hold no tensor; ask the tokenizer for some: return_tensors='pt', padding=True")
        return inputs
    if inputs is None:
        raise ArgumentError("inputs are missing; give the examples that the model shall read")
    for field in ("inputs", "tokens"):  # of lab.tasks: Examples, Split
        inputs = getattr(inputs, field, inputs)
    return torch.as_tensor(array("inputs", inputs, "what the model reads, tokens (N, T) or inputs (N, T, D)"))


def count(inputs: Tensor | Mapping[str, Any]) -> int:
    return len(_first(inputs))


def _first(inputs: Tensor | Mapping[str, Any]) -> Tensor:
    if isinstance(inputs, Mapping):
        return next(value for value in inputs.values() if isinstance(value, Tensor))
    return inputs


def pass_size(model: nn.Module, inputs: Any, batch: int) -> int:
    """How much of the inputs' first axis goes through a model at once: `batch`, or all, where it has no examples but
    tokens, as in front of torch's attentions with batch_first=False. To be called within `reading`."""
    number, first = count(inputs), _first(inputs)
    others = hasattr(model, "attention_scores") or hasattr(model, "config") or isinstance(model, nn.MultiheadAttention)
    if number <= batch or others or all(module.batch_first for module in _attentions(model)):
        return batch
    some = batch - 1 if first.ndim > 1 and first.shape[1] == batch else batch  # the axes tell themselves apart
    with suppress(Exception):  # of a model for so many tokens and no fewer
        if some and len(_of_torch_model(model, inputs, slice(some))[0]) == some:
            return batch
    return number


def of_run(values: Any, run: int) -> Any:
    """What belongs to one run; the run axis is the first."""
    check_whole("run", run, -len(values))
    if not -len(values) <= run < len(values):
        raise ArgumentError(f"run={run}: there are {len(values)} runs; choose 0..{len(values) - 1}")
    return values[run]


def _of_module(model: nn.Module, inputs: Any, part: slice, run: int, normalized: bool) -> list[Tensor]:
    name, is_labs = type(model).__name__, hasattr(model, "attention_scores")
    if not (is_labs or hasattr(model, "config") or _attentions(model)):
        raise ArgumentError(
            f"{name} has no attention_scores, no torch.nn.MultiheadAttention, and is no Hugging Face model; give the"
            " scores themselves, (examples, heads, query, key)"
        )
    if run and not (is_labs and runs_of(model) is not None):
        raise ArgumentError(f"run={run}: {name} has no run axis; leave run at 0")
    if is_labs:
        return _of_lab_model(model, inputs, part, run, normalized)
    if not normalized:
        raise ArgumentError(f"{name} tells no scores before normalization; leave normalized at True")
    return (_of_hugging_face_model if hasattr(model, "config") else _of_torch_model)(model, inputs, part)


def _of_lab_model(model: Any, inputs: Any, part: slice, run: int, normalized: bool) -> list[Tensor]:
    if not isinstance(inputs, Tensor):
        raise ArgumentError(f"{type(model).__name__} reads one tensor, not a dictionary; give tokens or inputs")
    device = next((weight.device for weight in model.parameters()), inputs.device)
    read, runs = inputs[part].to(device), runs_of(model)
    if runs is None:
        return _asked(model, read, normalized)
    side_by_side = read.expand(runs, *read.shape)
    return [of_run(scores, run) for scores in _asked(model, side_by_side, normalized)]


def _asked(model: Any, inputs: Tensor, normalized: bool) -> list[Tensor]:
    """What the model's own method gives, which may know normalized scores alone."""
    accepted = inspect.signature(model.attention_scores).parameters.values()
    name = type(model).__name__
    if any(one.name == "normalized" or one.kind is one.VAR_KEYWORD for one in accepted):
        layers = model.attention_scores(inputs, normalized=normalized)
    elif not normalized:
        raise ArgumentError(f"{name} tells no scores before normalization; leave normalized at True")
    else:
        layers = model.attention_scores(inputs)
    front = (inputs.shape[0],) if runs_of(model) is None else inputs.shape[:2]  # examples, after runs if there are any
    if not isinstance(layers, (list, tuple)) or not layers:
        raise ArgumentError(f"{name}.attention_scores gives {described(layers)}; give a list of scores, one a layer")
    for scores in layers:
        fits = isinstance(scores, Tensor) and scores.is_floating_point() and scores.ndim == len(front) + 3
        if not fits or tuple(scores.shape[: len(front)]) != tuple(front):
            said = f"{name}.attention_scores gives {described(scores)} for {front[-1]} examples"
            raise ArgumentError(f"{said}; give tensors of real numbers, (examples, heads, query, key)")
    return list(layers)


def _of_hugging_face_model(model: nn.Module, inputs: Any, part: slice) -> list[Tensor]:
    name = type(model).__name__
    device = next(model.parameters()).device
    if isinstance(inputs, Mapping):
        given = {n: v.to(device) if isinstance(v, Tensor) else v for n, v in _some(inputs, part).items()}
        output = model(**given, output_attentions=True)
    else:
        output = model(inputs[part].to(device), output_attentions=True)
    layers = getattr(output, "attentions", None)
    if layers and all(scores is not None for scores in layers):
        return list(layers)
    others = [field for field in output if field.endswith("_attentions") and output[field]]
    if others:
        raise ArgumentError(
            f"{name} has several attentions; give the scores of one: latent_codes(model(..., output_attentions=True)"
            f".{others[0]}); there are {', '.join(others)}"
        )
    kind = getattr(model.config, "_attn_implementation", "fused")
    raise ArgumentError(
        f"{name} fuses its attention ({kind}) and tells no scores; load it with attn_implementation='eager', or call"
        " model.set_attn_implementation('eager')"
    )


def _some(inputs: Mapping[str, Any], part: slice) -> dict[str, Any]:
    """The inputs of some examples; what is not one for each example stays as it is."""
    number = count(inputs)
    return {n: v[part] if isinstance(v, Tensor) and v.ndim and len(v) == number else v for n, v in inputs.items()}


def _attentions(model: nn.Module) -> list[nn.MultiheadAttention]:
    return [module for module in model.modules() if isinstance(module, nn.MultiheadAttention)]


def _of_torch_model(model: nn.Module, inputs: Any, part: slice) -> list[Tensor]:
    """The scores of each `nn.MultiheadAttention`, in the order in which they are called."""
    like, by_layer = next(model.parameters()), list[Tensor]()
    given = _some(inputs if isinstance(inputs, Mapping) else {"": inputs}, part)
    given |= {
        n: v.to(like.device, like.dtype if v.is_floating_point() else None)
        for n, v in given.items()
        if isinstance(v, Tensor)
    }
    with _recording(_attentions(model), by_layer):
        if isinstance(model, nn.MultiheadAttention):
            tokens = given[""] if model.batch_first else given[""].transpose(0, 1)
            model(tokens, tokens, tokens)
        else:
            model(given[""]) if "" in given else model(**given)
    shapes = list(dict.fromkeys(tuple(scores.shape) for scores in by_layer))
    if len(shapes) > 1 or len(shapes[0]) != 4:
        raise ArgumentError(
            f"the attentions of {type(model).__name__} have scores of shapes {', '.join(map(str, shapes))}; give those"
            " of one kind themselves, (examples, heads, query, key)"
        )
    return by_layer


@contextmanager
def _recording(modules: Sequence[nn.MultiheadAttention], by_layer: list[Tensor]) -> Iterator[None]:
    """Each call of these modules adds the scores of its heads to `by_layer`."""

    def forward(layer: nn.MultiheadAttention, *args: Any, **kwargs: Any) -> Any:
        asked = inspect.signature(type(layer).forward).bind(layer, *args, **kwargs)
        wanted = asked.arguments.get("need_weights", True)
        averaged = asked.arguments.get("average_attn_weights", True)
        asked.arguments |= {"need_weights": True, "average_attn_weights": False}
        output, scores = type(layer).forward(*asked.args, **asked.kwargs)
        assert scores is not None  # they were asked for
        by_layer.append(scores)
        return output, (scores.mean(-3) if averaged else scores) if wanted else None

    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # torch's layers would not call their attention
    try:
        for module in modules:
            module.__dict__["forward"] = partial(forward, module)
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for module in modules:
            module.__dict__.pop("forward", None)


@dataclass(frozen=True, eq=False, repr=False)
class Codes(HasPicture):
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
        a model with a method `attention_scores(inputs, normalized=True)`, as the lab's have, that gives a list of
        (N, heads, query, key), one a layer; with the examples of a task, or their tokens (N, T) or inputs (N, T, D).
        `run` picks one of the model's runs, and of the inputs' if they have a run axis, too. A model of your own says
        by `runs` that it has a run axis (`lab.probes.weights.runs_of`);
        a model that contains `torch.nn.MultiheadAttention`, or such a module itself, with its inputs: its layers count
        in the order in which they are called. In front of batch_first=False the second axis may have the examples;
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
        model = bare(model)  # a compiled one would not run the hooks
        read = tensors(inputs)
        has_runs = isinstance(read, Tensor) and read.ndim == (4 if read.is_floating_point() else 3)  # (R, N, T), …
        if has_runs and hasattr(model, "attention_scores") and runs_of(model) is not None:
            inputs = of_run(inputs, run)
            read = tensors(inputs)
        filling = padding(model, read)
    by_layer: list[list[Tensor]] = []
    start = 0
    with reading(model):
        if isinstance(read, Mapping):
            read = positioned(model, read)
        if read is not None:
            batch = pass_size(model, read, batch)
            examples = count(read) if count(read) > batch else None
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
