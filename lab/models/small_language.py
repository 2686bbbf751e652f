"""The small language models of the activations paper: GPT-Neo and RoBERTa, of about ten million weights.

They are built by the library transformers from a configuration; nothing is downloaded. Activations come in by
`lab.swap`; layers that change shape, of gated activations and of KANs, are put in the place of the old ones. Chosen
here, where the paper is silent: no dropout; attention over all tokens in every GPT-Neo layer, which up to 256 tokens is
what its windows are; layers of gated activations and KANs so wide that they have as many weights as the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call

from lab.errors import ArgumentError, LabError, check_choice
from lab.kinds import Sizes, build, check
from lab.models.layers import at_positions
from lab.nonlinearity.kan import KANLayer
from lab.nonlinearity.learnable import GEGLU, PReLU, ScaledGEGLU, ScaledGELU, Swish
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.swap import swap
from lab.seeds import stream
from lab.spec import Part, RunSpec, register

GATED = ("geglu", "learnable_geglu")
# The paper's activations by name, for a layer of so many channels; GELU is its approximation by tanh.
ACTIVATIONS: dict[str, Callable[[int], nn.Module]] = {
    "relu": lambda channels: nn.ReLU(),
    "silu": lambda channels: nn.SiLU(),
    "swish": Swish,
    "swish_printed": lambda channels: Swish(channels, printed=True),
    "prelu": PReLU,
    "gelu": lambda channels: nn.GELU("tanh"),
    "geglu": lambda channels: GEGLU(),
    "learnable_gelu": ScaledGELU,
    "learnable_geglu": ScaledGEGLU,
}
KAN = "kan"
FORMS = {"gpt_neo": "tokens", "roberta": "masked"}  # what a family reads
PLACES = {"gpt_neo": "*.mlp.act", "roberta": "*.intermediate_act_fn"}


class Slot(nn.Module):
    """The place of an activation that all layers and runs share."""

    phi: nn.Module

    def forward(self, x: Tensor) -> Tensor:
        return self.phi(x)


@register
@dataclass(frozen=True)
class SmallLanguageModel:
    """GPT-Neo, which predicts the next token, or RoBERTa, which predicts masked ones (activations paper, Section 3).

    activation: a name of ACTIVATIONS, "kan", or any other non-linearity of the lab. inner: width of the feed-forward
    layers, of an activation without a gate. kan_inner: of a KAN; None: so wide that it has as many weights. The paper
    has 256 in GPT-Neo and 384 in RoBERTa: 2.5 and 3.75 times as many as its MLPs.
    """

    family: str = "gpt_neo"
    layers: int = 2
    heads: int = 4
    width: int = 512
    inner: int = 1024
    activation: Part = "gelu"
    grid: int = 5  # intervals of a KAN's splines, and their degree; the other reading is 3 and 5
    order: int = 3
    kan_inner: int | None = None

    @property
    def parts(self) -> dict[str, Part]:
        """Its non-linearities by name; none where it is one of the paper's, which has its weights in the model."""
        in_model = isinstance(self.activation, str) and self.activation in (*ACTIVATIONS, KAN)
        return {} if in_model else {"activation": self.activation}

    @property
    def hidden(self) -> int:
        """Channels between the two layers of a feed-forward block.

        >>> SmallLanguageModel(activation="geglu").hidden, SmallLanguageModel(activation="kan").hidden
        (683, 102)
        """
        if self.activation in GATED:
            return round(2 * self.inner / 3)
        if self.activation == KAN:
            return self.kan_inner or max(1, round(self.inner / (self.grid + self.order + 2)))
        return self.inner

    def activation_memory(self, length: int) -> float:
        return self.width * (self.grid + self.order if self.activation == KAN else 1)


class GPTNeo(nn.Module):
    """A GPT-Neo of the library: tokens (B, T) → logits (B, T, V), or (B, K, V) at positions (B, K)."""

    def __init__(self, spec: SmallLanguageModel, sizes: Sizes):
        from transformers import GPTNeoConfig, GPTNeoForCausalLM

        super().__init__()
        config = GPTNeoConfig(
            vocab_size=sizes.inputs,
            max_position_embeddings=sizes.length,
            hidden_size=spec.width,
            num_layers=spec.layers,
            num_heads=spec.heads,
            intermediate_size=spec.hidden,
            attention_types=[[["global"], spec.layers]],
            bos_token_id=None,
            eos_token_id=None,
        )
        self.net = GPTNeoForCausalLM(config)

    @property
    def feed_forward(self) -> list[tuple[tuple[nn.Module, str], tuple[nn.Module, str]]]:
        """Where the two layers of each block are: the module that has it, and its name there."""
        homes = [cast(nn.Module, block.mlp) for block in self.net.transformer.h]
        return [((home, "c_fc"), (home, "c_proj")) for home in homes]

    def forward(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """Each token sees those before it."""
        x = self.net.transformer(tokens, use_cache=False).last_hidden_state
        return self.net.lm_head(at_positions(x, positions))


class Roberta(nn.Module):
    """A RoBERTa of the library: tokens (B, T), some of them masked → logits (B, T, V), or (B, K, V) at positions."""

    def __init__(self, spec: SmallLanguageModel, sizes: Sizes):
        from transformers import RobertaConfig, RobertaForMaskedLM

        super().__init__()
        config = RobertaConfig(
            vocab_size=sizes.inputs,
            max_position_embeddings=sizes.length,
            hidden_size=spec.width,
            num_hidden_layers=spec.layers,
            num_attention_heads=spec.heads,
            intermediate_size=spec.hidden,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            type_vocab_size=1,
            pad_token_id=None,  # the library would not train the embedding of that token
            bos_token_id=None,
            eos_token_id=None,
        )
        self.net = RobertaForMaskedLM(config)

    @property
    def feed_forward(self) -> list[tuple[tuple[nn.Module, str], tuple[nn.Module, str]]]:
        layers: Any = self.net.roberta.encoder.layer
        return [((layer.intermediate, "dense"), (layer.output, "dense")) for layer in layers]

    def forward(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """Each token sees all."""
        places = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
        x = self.net.roberta(input_ids=tokens, position_ids=places).last_hidden_state
        return self.net.lm_head(at_positions(x, positions))


FAMILIES: dict[str, type[GPTNeo] | type[Roberta]] = {"gpt_neo": GPTNeo, "roberta": Roberta}


def one(spec: SmallLanguageModel, sizes: Sizes, seed: int, phi: nn.Module | None = None) -> GPTNeo | Roberta:
    """One model without a run axis. phi: its activation, in all layers, where it is none of the paper's."""
    try:
        with torch.random.fork_rng(devices=[]):  # the library draws from the global state
            torch.manual_seed(stream(seed, "weights"))
            model = FAMILIES[spec.family](spec, sizes)
            _equip(model, spec, phi)
    except ImportError as error:
        cure = "pip install 'lab-nonlinearities[text]'"
        raise LabError(f"GPT-Neo and RoBERTa need the library transformers; {cure}") from error
    return model


def _equip(model: GPTNeo | Roberta, spec: SmallLanguageModel, phi: nn.Module | None) -> None:
    """Put the activation in, and the layers that it needs."""
    make = {KAN: lambda channels: nn.Identity(), **ACTIVATIONS}
    activation = Slot() if phi is not None else make[cast(str, spec.activation)](spec.hidden)
    for (first, up), (second, down) in model.feed_forward:
        if spec.activation == KAN:
            setattr(first, up, KANLayer(spec.width, spec.hidden, spec.grid, spec.order))
            setattr(second, down, KANLayer(spec.hidden, spec.width, spec.grid, spec.order))
        elif spec.activation in GATED:
            layer = nn.Linear(spec.width, 2 * spec.hidden)
            cast(Any, model.net)._init_weights(layer)
            setattr(first, up, layer)
    for place in swap(model, PLACES[spec.family], activation):
        if phi is not None:
            model.get_submodule(place).phi = phi  # not a copy


def learned(model: Stacked) -> list[dict[str, Tensor]]:
    """What was learned of the activations, a dict for each layer: "beta" or "slope", (R, channels); of KANs the weights
    of both layers, e.g. "up.coefficients". Empty dicts where an activation has no parameters.
    """
    layers = []
    for (first, up), (second, down) in cast(GPTNeo | Roberta, model.model).feed_forward:
        activation = getattr(first, "act", None) or getattr(first, "intermediate_act_fn", None)
        parameters: dict[str, Tensor] = {}
        for name, module in (("", activation), ("up.", getattr(first, up)), ("down.", getattr(second, down))):
            if isinstance(module, (PReLU, Swish, ScaledGELU, ScaledGEGLU, KANLayer)):
                parameters |= {f"{name}{key}": value.detach() for key, value in module.named_parameters()}
        layers.append(parameters)
    return layers


@build.register(SmallLanguageModel)
def _(
    model: SmallLanguageModel, sizes: Sizes, specs: Sequence[RunSpec], modules: Sequence[nn.Module | None]
) -> nn.Module:
    if sizes.form != (wanted := FORMS[model.family]):
        raise ArgumentError(f"a {model.family} reads {wanted}, and this task has {sizes.form}; choose another family")
    phi = modules[0] if modules else None
    return Stacked([one(model, sizes, spec.seed, phi) for spec in specs], phi)


@check.register(SmallLanguageModel)
def _(model: SmallLanguageModel, spec: RunSpec) -> None:
    check_choice("family", model.family, FAMILIES)


class Stacked(nn.Module):
    """R modules of one shape as one: parameters (R, …), inputs (R, …) → outputs (R, …).

    The runs are computed one after the other. Parameters that are one tensor under two names stay one. Buffers are
    those of the first module: they must not depend on the run. phi: a non-linearity that all of them have; it stays one
    module, and one with a function for each run (a spline, a named one that learns) gives each run its own.

    >>> both = Stacked([nn.Linear(3, 2), nn.Linear(3, 2)])
    >>> both(torch.zeros(2, 5, 3)).shape, both.model.weight.shape
    (torch.Size([2, 5, 2]), torch.Size([2, 2, 3]))
    """

    def __init__(self, models: Sequence[nn.Module], phi: nn.Module | None = None):
        super().__init__()
        self.model, self.runs = models[0], len(models)
        of_phi = {id(parameter) for parameter in phi.parameters()} if phi is not None else set()
        each = phi.values.dim() == 2 if isinstance(phi, Spline) else getattr(phi, "functions", None) is not None
        stacked: dict[int, nn.Parameter] = {}
        for copies in zip(*(model.parameters() for model in models), strict=True):
            if id(copies[0]) in of_phi:
                stacked[id(copies[0])] = copies[0]
            else:
                whole = torch.stack([part.detach() for part in copies])
                stacked[id(copies[0])] = nn.Parameter(whole, requires_grad=copies[0].requires_grad)
        for module in self.model.modules():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    module._parameters[name] = stacked[id(parameter)]
        shared = set() if each else of_phi
        # what all runs share: by name, since a copy of the model has other tensors
        self.common = frozenset(name for name, parameter in _named(self.model) if id(parameter) in shared)

    def forward(self, *given: Tensor | None) -> Tensor:
        """What each run's model gives for its part of the inputs; None stays None."""
        parameters = {name: parameter.unbind() for name, parameter in _named(self.model) if name not in self.common}
        outputs = []
        for run in range(self.runs):
            weights = {name: parts[run] for name, parts in parameters.items()}
            inputs = tuple(None if part is None else part[run] for part in given)
            outputs.append(functional_call(self.model, weights, inputs, tie_weights=False))
        return torch.stack(outputs)


def _named(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Names and parameters of each module once, tied ones under each name: a swap does not restore what it finds
    twice, as it would with `tie_weights`."""
    for home, module in model.named_modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                yield f"{home}.{name}" if home else name, parameter
