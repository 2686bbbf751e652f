"""The functions of torch.nn, with its default settings."""

from torch import nn

from lab.nonlinearity.table import named_function

ROWS: dict[str, tuple] = {  # class: formula, source, infimum and supremum
    "Identity": ("x", 'the "Linear" MLP of the transformers paper, Table 3'),
    "GELU": ("x Φ(x), Φ of the standard normal distribution", "Hendrycks & Gimpel 2016, Sec. 2", -0.169971),
    "ReLU": ("max(0, x)", "Nair & Hinton 2010", 0.0),
    "SiLU": ("x σ(x)", "Elfwing et al. 2018; Hendrycks & Gimpel 2016", -0.278465),
    "Tanh": ("tanh x", "LeCun et al. 1998", -1.0, 1.0),
    "Sigmoid": ("σ(x) = 1 / (1 + exp(-x))", "Rumelhart et al. 1986", 0.0, 1.0),
    "ELU": ("x for x > 0, else exp(x) - 1", "Clevert et al. 2016, Eq. 15, α = 1", -1.0),
    "SELU": ("1.0507 (x for x > 0, else 1.67326 (exp(x) - 1))", "Klambauer et al. 2017, Eq. 2", -1.758099),
    "CELU": ("max(0, x) + min(0, exp(x) - 1)", "Barron 2017, α = 1", -1.0),
    "LeakyReLU": ("max(0, x) + 0.01 min(0, x)", "Maas et al. 2013, Eq. 2"),
    "ReLU6": ("min(max(0, x), 6)", "Krizhevsky 2010", 0.0, 6.0),
    "Softplus": ("ln(1 + exp x)", "Dugas et al. 2001", 0.0),
    "Softsign": ("x / (1 + |x|)", "Bergstra et al. 2009", -1.0, 1.0),
    "Mish": ("x tanh(ln(1 + exp x))", "Misra 2019", -0.308843),
    "Hardswish": ("x min(max(0, x + 3), 6) / 6", "Howard et al. 2019, Sec. 5.2", -0.375),
    "Hardtanh": ("min(max(-1, x), 1)", "Collobert 2004", -1.0, 1.0),
    "Hardsigmoid": ("min(max(0, x + 3), 6) / 6", "Howard et al. 2019, Sec. 5.2", 0.0, 1.0),
    "LogSigmoid": ("ln σ(x)", "torch.nn", float("-inf"), 0.0),
    "Tanhshrink": ("x - tanh x", "torch.nn"),
}
UNLAWFUL = {"Hardsigmoid": {"second derivative": "torch has none for it"}}

for name, (formula, source, *ends) in ROWS.items():
    limits = dict(zip(("low", "high"), ends, strict=False))
    row = named_function(name.lower(), formula, source, **limits, unlawful=UNLAWFUL.get(name, {}))
    row(getattr(nn, name))
