"""Attention scores of models: those with `attention_scores`, Hugging Face models, models with torch's own
`nn.MultiheadAttention`, and plain tensors of scores."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_whole, described
from lab.probes.arguments import array, calling
from lab.probes.weights import runs_of

_ADVICE = "give inputs that it reads; attention_scores or attentions have to be (examples, heads, query, key)"


def scores_in_passes(model: Any, inputs: Any, run: int, normalized: bool, batch: int) -> Iterator[list[Tensor]]:
    """The scores of `batch` examples at a time: a list of layers, each (n, heads, query, key).

    Arguments as in `latent_codes`; inputs as `tensors` gives them, without a run axis. To be called within `reading`.
    """
    if isinstance(model, nn.Module):
        passes = _of_lab_model if hasattr(model, "attention_scores") else _of_hugging_face_model
        if passes is _of_hugging_face_model and not hasattr(model, "config") and _attentions(model):
            passes = _of_torch_model
        for start in range(0, count(inputs), batch):
            with calling(f"{type(model).__name__}, asked for its attention,", _ADVICE):
                layers = passes(model, inputs, slice(start, start + batch), run, normalized)
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


def inputs_of_run(inputs: Any, run: int) -> Any:
    """Inputs of a lab model without a run axis: those of `run` where there is one, (R, N, T) tokens or (R, N, T, D)."""
    read = tensors(inputs)
    several = isinstance(read, Tensor) and read.ndim == (4 if read.is_floating_point() else 3)
    return of_run(inputs, run) if several else inputs


def count(inputs: Tensor | Mapping[str, Any]) -> int:
    """How many examples there are."""
    if isinstance(inputs, Mapping):
        return next(len(value) for value in inputs.values() if isinstance(value, Tensor))
    return len(inputs)


def of_run(values: Any, run: int) -> Any:
    """What belongs to one run; the run axis is the first."""
    check_whole("run", run, -len(values))
    if not -len(values) <= run < len(values):
        raise ArgumentError(f"run={run}: there are {len(values)} runs; choose 0..{len(values) - 1}")
    return values[run]


def _of_lab_model(model: Any, inputs: Any, part: slice, run: int, normalized: bool) -> list[Tensor]:
    if not isinstance(inputs, Tensor):
        raise ArgumentError(f"{type(model).__name__} reads one tensor, not a dictionary; give tokens or inputs")
    read, runs = inputs[part].to(next(model.parameters()).device), runs_of(model)
    if runs is None:
        if run:
            raise ArgumentError(f"run={run}: {type(model).__name__} has no run axis; leave run at 0")
        return model.attention_scores(read, normalized=normalized)
    side_by_side = read.expand(runs, *read.shape)
    return [of_run(scores, run) for scores in model.attention_scores(side_by_side, normalized=normalized)]


def _of_hugging_face_model(model: nn.Module, inputs: Any, part: slice, run: int, normalized: bool) -> list[Tensor]:
    name, number = type(model).__name__, count(inputs)
    if not hasattr(model, "config"):
        raise ArgumentError(
            f"{name} has no attention_scores, no torch.nn.MultiheadAttention, and is no Hugging Face model; give the"
            " scores themselves, (examples, heads, query, key)"
        )
    if run:
        raise ArgumentError(f"run={run}: {name} has no run axis; leave run at 0")
    if not normalized:
        raise ArgumentError(f"{name} tells its scores after normalization only; leave normalized at True")
    device = next(model.parameters()).device
    if isinstance(inputs, Mapping):
        of_examples = {k: v for k, v in inputs.items() if isinstance(v, Tensor) and v.ndim and len(v) == number}
        given = {**inputs, **{k: v[part].to(device) for k, v in of_examples.items()}}
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


def _attentions(model: nn.Module) -> list[nn.MultiheadAttention]:
    return [module for module in model.modules() if isinstance(module, nn.MultiheadAttention)]


def _of_torch_model(model: nn.Module, inputs: Any, part: slice, run: int, normalized: bool) -> list[Tensor]:
    """The scores of each `nn.MultiheadAttention`, in the order in which they are called."""
    name, number = type(model).__name__, count(inputs)
    if run:
        raise ArgumentError(f"run={run}: {name} has no run axis; leave run at 0")
    if not normalized:
        raise ArgumentError(f"torch.nn.MultiheadAttention in {name} tells no scores before normalization")
    like, by_layer = next(model.parameters()), list[Tensor]()
    whole = inputs if isinstance(inputs, Mapping) else {"": inputs}
    given = {n: v[part] if isinstance(v, Tensor) and v.ndim and len(v) == number else v for n, v in whole.items()}
    given = {
        n: v.to(like.device, like.dtype if v.is_floating_point() else None) if isinstance(v, Tensor) else v
        for n, v in given.items()
    }
    with _telling(_attentions(model), by_layer):
        if isinstance(model, nn.MultiheadAttention):
            tokens = given[""] if model.batch_first else given[""].transpose(0, 1)
            model(tokens, tokens, tokens)
        else:
            model(given[""]) if "" in given else model(**given)
    shapes = list(dict.fromkeys(tuple(scores.shape) for scores in by_layer))
    if len(shapes) > 1 or len(shapes[0]) != 4:
        raise ArgumentError(
            f"the attentions of {name} have scores of shapes {', '.join(map(str, shapes))}; give those of one kind"
            " themselves, (examples, heads, query, key)"
        )
    return by_layer


@contextmanager
def _telling(modules: Sequence[nn.MultiheadAttention], by_layer: list[Tensor]) -> Iterator[None]:
    """Whoever calls these modules, what they attend to is noted, head by head."""

    def recorder(layer: nn.MultiheadAttention) -> Any:
        def forward(*args: Any, **kwargs: Any) -> Any:
            asked = inspect.signature(type(layer).forward).bind(layer, *args, **kwargs)
            wanted = asked.arguments.get("need_weights", True)
            averaged = asked.arguments.get("average_attn_weights", True)
            asked.arguments |= {"need_weights": True, "average_attn_weights": False}
            output, scores = type(layer).forward(*asked.args, **asked.kwargs)
            assert scores is not None  # they were asked for
            by_layer.append(scores)
            return output, (scores.mean(-3) if averaged else scores) if wanted else None

        return forward

    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # torch's layers would not call their attention
    try:
        for module in modules:
            module.__dict__["forward"] = recorder(module)
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for module in modules:
            module.__dict__.pop("forward", None)
