"""The optimizer with a rate for each run, against torch's AdamW for each run alone; and what does not decay."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import lab
from lab.kinds import optimizer, sizes
from lab.models.hyper import HyperTransformer
from lab.nonlinearity.spline import Spline
from lab.spec import AdamTrapezoid, AdamWCosine, HyperModel
from lab.tasks import Logic
from lab.training import streams  # noqa: F401  the task is known by it
from lab.training.optimizers import RunAdamW, decaying, factor
from tests.training import own

TASK = Logic(length=4)


def model(runs=2):
    spec = HyperModel(layers=1, heads=2, width=8, key_width=4, mlp_width=8)
    return HyperTransformer(spec, sizes(TASK, 0), list(range(runs)), nn.ReLU(), nn.GELU())


def test_each_run_is_torchs_adamw_with_its_own_rate_and_decay():
    rates, decays, decays_at_all = (0.1, 0.003, 0.02), (0.0, 0.1, 0.3), (True, False)
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(3, *shape, generator=generator).double() for shape in ((4, 2), (5,))]
    ours = [nn.Parameter(w.clone()) for w in start]
    stacked = RunAdamW(ours, decays, decays_at_all, (0.8, 0.95))
    alone = []
    for run, decay in enumerate(decays):
        weights = [nn.Parameter(w[run].clone()) for w in start]
        groups = [{"params": [w], "weight_decay": decay * d} for w, d in zip(weights, decays_at_all, strict=True)]
        alone.append((weights, torch.optim.AdamW(groups, lr=0.0, betas=(0.8, 0.95))))
    for step in range(7):
        gradients = [torch.randn(w.shape, generator=generator).double() for w in start]
        stacked.rates = [rate / (step + 1) for rate in rates]
        for weight, gradient in zip(ours, gradients, strict=True):
            weight.grad = gradient
        stacked.step()
        for run, (weights, theirs) in enumerate(alone):
            for group, weight, gradient in zip(theirs.param_groups, weights, gradients, strict=True):
                group["lr"], weight.grad = rates[run] / (step + 1), gradient[run]
            theirs.step()
    for run, (weights, _) in enumerate(alone):
        for one, other in zip(ours, weights, strict=True):
            torch.testing.assert_close(one[run], other, rtol=1e-12, atol=1e-12)


def names(flags):
    trained = [name for name, p in model().named_parameters() if p.requires_grad]
    return {name for name, flag in zip(trained, flags, strict=True) if flag}


def test_biases_norms_and_relative_positions_do_not_decay():
    decayed = names(decaying(model()))
    assert decayed == {
        "embedding.weight",
        "head.weight",
        "blocks.0.mlp.up.weight",
        "blocks.0.mlp.down.weight",
        *(f"blocks.0.attention.{part}.weight" for part in ("query", "key", "value", "out")),
    }


def test_the_reference_code_lets_its_matrices_decay():
    more = names(decaying(model(), tables=True)) - names(decaying(model()))
    assert more == {"blocks.0.attention.relative", *(f"blocks.0.attention.{p}.bias" for p in ("query", "key", "value"))}


def mixed(seed):
    return own.seeded(lambda seed: Mixed(), seed)


class Mixed(nn.Module):
    """A norm over two axes, one of another name, a bias that is a matrix, a table of functions; and weights that no
    loss, or every second one, depends on."""

    def __init__(self):
        super().__init__()
        self.norm, self.own, self.act = nn.LayerNorm([3, 2]), OwnNorm(), nn.GELU()
        self.first, self.lazy, self.unused, self.out = (nn.Linear(6, 6) for _ in range(4))
        self.table_bias = nn.Parameter(torch.randn(3, 2))

    def forward(self, x):
        x = self.own(self.norm(x.view(-1, 3, 2))) + self.table_bias
        x = self.act(self.first(x.flatten(1)))
        if self.training:
            self.count = getattr(self, "count", 0) + 1
        return self.out(self.lazy(x) if getattr(self, "count", 0) % 2 else x)[:, :2]


class OwnNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3, 2))

    def forward(self, x):
        return self.scale * x


@pytest.mark.parametrize(
    ("name", "rule", "given", "decay"),
    [
        ("adamw", torch.optim.AdamW, {"decay": 5.0}, 5.0),
        ("adam", torch.optim.Adam, {}, 0.0),
        ("sgd", torch.optim.SGD, {"momentum": 0.9}, 0.0),
    ],
)
def test_of_models_of_ones_own_matrices_and_kernels_decay_where_they_have_a_gradient(name, rule, given, decay):
    data, phi = own.signs(), Spline.from_function(torch.tanh, -4.0, 4.0, 9, learnable=True)
    settings = {"steps": 7, "rate": 0.01, "schedule": "constant", "batch": None, "seeds": 1, "progress": False}
    functions = {"GELU": None, "tanh": phi}
    result = lab.compare(
        data,
        mixed,
        nn.GELU,
        functions,
        optimizer=name,
        per_channel=True,
        **given,
        **settings,
    )
    rows = torch.cat([data.rows["train"], data.rows["search"]])
    for function in functions:
        model = mixed(0)
        if function == "tanh":
            lab.swap(model, nn.GELU, phi, per_channel=True)
            model.eval()(data.inputs[:2])
            model.train()
        decays = {layer.weight for layer in (model.first, model.lazy, model.unused, model.out)}
        groups = [{"params": [w], "weight_decay": decay * (w in decays)} for w in model.parameters()]
        theirs = rule(groups, lr=0.01, **{"momentum": 0.9} if name == "sgd" else {})
        for _ in range(7):
            theirs.zero_grad()
            F.cross_entropy(model(data.inputs[rows]), data.targets[rows]).backward()
            theirs.step()
        mine = dict(result.model(function).named_parameters())
        for parameter, wanted in model.named_parameters():
            torch.testing.assert_close(mine[parameter], wanted, rtol=2e-3, atol=2e-4, msg=parameter)
        assert torch.equal(mine["unused.weight"], mixed(0).unused.weight)


def test_what_does_not_decay_stays_where_gradients_are_zero():
    made = model()
    with torch.no_grad():
        for p in made.parameters():
            p.fill_(1.0)
    recipes = [AdamWCosine(10, 0.1, 8, decay=d, warmup=0) for d in (0.0, 0.5)]
    stepper = optimizer(recipes[0], recipes, made)
    stepper.set_rates(recipes, 0)
    for p in made.parameters():
        p.grad = torch.zeros_like(p)
    stepper.step()
    shrunk = names(decaying(made))
    for name, p in made.named_parameters():
        assert (p[0] == 1).all()
        torch.testing.assert_close(p[1], torch.full_like(p[1], 0.95 if name in shrunk else 1.0))


@pytest.mark.parametrize("step", [0, 3, 8])
def test_rates_are_each_runs_own(step):
    recipes = [AdamWCosine(10, 0.1, 8, warmup=2), AdamWCosine(10, 0.3, 8, warmup=4)]
    stepper = optimizer(recipes[0], recipes, model())
    stepper.set_rates(recipes, step)
    wanted = {0: (0.0, 0.0), 3: (0.1 * (0.1 + 0.45 * (1 + 3**0.5 / 2)), 0.3 * 0.75), 8: (0.01, 0.03)}
    assert stepper.rates == pytest.approx(wanted[step])


def test_a_plain_recipe_is_plain_adam_bit_for_bit():
    recipe, made, twin = AdamTrapezoid(10, 0.1, 8, betas=(0.8, 0.95)), model(2), model(2)
    stepper = optimizer(recipe, [recipe], made)
    theirs = torch.optim.Adam(twin.parameters(), lr=0.0, betas=(0.8, 0.95), fused=True)
    generator = torch.Generator().manual_seed(0)
    for step in range(5):
        stepper.set_rates([recipe], step)
        theirs.param_groups[0]["lr"] = 0.1 * factor(recipe, step)
        for mine, other in zip(made.parameters(), twin.parameters(), strict=True):
            mine.grad = torch.randn(mine.shape, generator=generator)
            other.grad = mine.grad.clone()
        stepper.step()
        theirs.step()
    for mine, other in zip(made.parameters(), twin.parameters(), strict=True):
        assert torch.equal(mine, other)
    stepper.zero_grad()
    assert all(weight.grad is None for weight in made.parameters())
