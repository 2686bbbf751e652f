"""Models with swapped activations in a folder, and back: what `save_pretrained` and `from_pretrained` cannot do; and
models without torch.compile, DataParallel and their like around them, which change the names of all that is inside."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from lab.errors import ArgumentError, LabError, check_path, described, shortened, shown
from lab.nonlinearity import document
from lab.nonlinearity.activations import places_in
from lab.nonlinearity.channels import ChannelSpline, LazyChannelSpline
from lab.nonlinearity.functions import MARK, named, row_of
from lab.nonlinearity.shapes import Polynomial
from lab.nonlinearity.spline import ScaledSpline, Spline
from lab.nonlinearity.swap import settle
from lab.nonlinearity.table import TABLE, Learnable

FUNCTIONS, WEIGHTS = "functions.json", "swapped.safetensors"  # a name that `from_pretrained` does not take for its own
WRAPPERS = {  # of torch, and the name of what is inside
    "OptimizedModule": "_orig_mod",  # torch.compile
    **dict.fromkeys(("DataParallel", "DistributedDataParallel", "AveragedModel"), "module"),
    "CheckpointWrapper": "_checkpoint_wrapped_module",
}
SHARDED = ("FullyShardedDataParallel",)


def save_swapped(model: nn.Module, folder: str | Path) -> Path:
    """Write a model after `lab.swap` to a folder, for `load_swapped`: its functions and their places, its weights, and
    of a Hugging Face model its configuration. Returns the folder.

    A library's own `save_pretrained` and `from_pretrained` lose the function: the configuration names the old
    activation, and that is built. Shared and tied parts stay so. What torch.compile or DataParallel wrapped is written
    as the plain model, and fits into either. Functions can be those of the lab (`lab.Spline`,
    polynomials) and named ones ("relu"). Raises ArgumentError for other functions, LabError where the folder cannot be
    written.

    >>> import tempfile
    >>> from lab.nonlinearity.swap import swap
    >>> model = nn.Sequential(nn.Linear(1, 8), nn.GELU(), nn.Linear(8, 1))
    >>> names = swap(model, nn.GELU, "transformers/memorize")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fresh = nn.Sequential(nn.Linear(1, 8), nn.GELU(), nn.Linear(8, 1))
    ...     load_swapped(fresh, save_swapped(model, folder))[1]
    Spline((361,) knots on [-20, 20])
    """
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"model is {described(model)}; give a torch.nn.Module")
    folder = check_path("folder", folder)
    with without_wrappers(model) as plain:
        _write(plain, folder)
    return folder


def _write(model: nn.Module, folder: Path) -> None:
    from safetensors.torch import save_model

    functions: dict[int, dict[str, Any]] = {}  # by the identity of the module
    places: dict[str, int] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        inside = any(name.startswith(f"{place}.") for place in places)  # a part of what is saved as one
        if not inside and (isinstance(module, (Spline, Polynomial)) or getattr(module, MARK, False)):
            if id(module) not in functions:
                frozen = [key for key, weight in module.named_parameters() if not weight.requires_grad]
                functions[id(module)] = _said(name, module) | {"frozen": frozen}
            places[name] = list(functions).index(id(module))
    if not places:
        raise ArgumentError(f"there is nothing of the lab in this {type(model).__name__}; lab.swap puts something in")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part in (getattr(model, "config", None), getattr(model, "generation_config", None)):
            if part is not None and hasattr(part, "save_pretrained"):
                part.save_pretrained(folder)
        save_model(model, str(folder / WEIGHTS))
        content = {"functions": list(functions.values()), "places": places}
        document.write(folder / FUNCTIONS, content)  # last: it says that all is there
    except OSError as error:
        raise LabError(f"{folder} cannot be written ({error.strerror or error}); name another folder") from error


def load_swapped(model: type[nn.Module] | Callable[[], nn.Module] | nn.Module, folder: str | Path) -> nn.Module:
    """The model that `save_swapped` wrote to a folder, with its functions; `save_swapped` has an example.

    model: a Hugging Face class (GPT2LMHeadModel, AutoModelForCausalLM), which is built from the configuration in the
        folder and returned in evaluation mode; or a module built like the one that was saved, before its swap; or a
        function without arguments that builds such a module.

    Raises LabError where the folder holds no such model, or functions and weights do not fit this one.
    """
    folder = check_path("folder", folder)
    try:
        content = document.read(folder / FUNCTIONS)
        most = (folder / WEIGHTS).stat().st_size  # of values: all of them are among the weights
        functions = [_function(said, most) for said in content["functions"]]
        places = {str(name): functions[index] for name, index in content["places"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:  # torch's own, too
        what = f"{FUNCTIONS}: {shortened(str(error), 100)}"
        raise LabError(f"there is no swapped model in {folder} ({what}); lab.save_swapped writes one") from error
    model = _built(model, folder)
    with without_wrappers(model) as plain:
        _fill(plain, folder, places)
    return model


def _fill(model: nn.Module, folder: Path, places: dict[str, nn.Module]) -> None:
    from safetensors.torch import load_file, load_model

    there, targets = {place.name: place for place in places_in(model)}, []
    for name, phi in places.items():
        if name not in there:
            cure = "build it as the one that was saved"
            raise LabError(f"this {type(model).__name__} has no place {shown(name)}; {cure}")
        targets.append(there[name])
        setattr(phi.train(there[name].parent.training), MARK, True)
    settle(model, targets, list(places.values()))
    try:
        stored = load_file(folder / WEIGHTS)
        for named_tensors in (model.named_parameters, model.named_buffers):
            for name, tensor in named_tensors(remove_duplicate=False):
                if name in stored:  # half precision stays half
                    tensor.data = tensor.data.to(stored[name].dtype)
        load_model(model, folder / WEIGHTS)
    except Exception as error:  # whatever safetensors and torch raise at a damaged file, and at another model's
        words = f"the weights in {folder} do not fit this {type(model).__name__} ({shortened(str(error), 150)})"
        raise LabError(f"{words}; build it as the one that was saved") from error


def _said(name: str, module: nn.Module) -> dict:
    """What JSON can say of a function; the values of splines are among the weights."""
    if isinstance(module, ScaledSpline):
        return {"kind": "scaled", "phi": _said(name, module.phi)}
    if isinstance(module, LazyChannelSpline) and module.has_uninitialized_params():
        raise ArgumentError(f"{name} has no channels before the first call; call the model on an example, then save it")
    if isinstance(module, Spline):
        shape, learnable = list(module.values.shape), module.values.requires_grad
        return {"kind": "spline", **module.configuration, "shape": shape, "learnable": learnable}
    if isinstance(module, Polynomial):
        of = {"coefficients": list(module.coefficients), "basis": module.basis}
        return {"kind": "polynomial", "low": module.low, "high": module.high, **of}
    if row := row_of(module):
        several = isinstance(module, Learnable) and module.functions is not None
        said = {"functions": module.functions, "dim": module.dim} if several else {}
        return {"kind": "named", "name": row.name} | said
    cure = "save model.state_dict(), and to load it build the model, swap, load_state_dict"
    raise ArgumentError(f"{name} is a {type(module).__name__}, which no file of the lab can describe as it is; {cure}")


def _function(said: dict, most: int) -> nn.Module:
    """As `_made`, with the parameters frozen that were."""
    phi = _made(said, most)
    for name, weight in phi.named_parameters() if "frozen" in said else ():  # which older files lack
        weight.requires_grad_(name not in said["frozen"])
    return phi


def _made(said: dict, most: int) -> nn.Module:
    """The function that `_said` describes, a spline with zeros in the place of its values. most: of these."""
    if math.prod(said.get("shape", ())) > most or said.get("functions", 0) > most:
        raise ValueError("more values than there are weights")
    if said["kind"] == "scaled":
        return ScaledSpline(cast(Spline, _made(said["phi"], most)))
    if said["kind"] == "spline":
        given = torch.zeros(said["shape"]), said["low"], said["high"], said["learnable"]
        return ChannelSpline(*given, dim=said["dim"]) if "dim" in said else Spline(*given)
    if said["kind"] == "polynomial":
        return Polynomial(said["coefficients"], said["low"], said["high"], said["basis"])
    return TABLE[said["name"]].make(said["functions"], dim=said["dim"]) if "dim" in said else named(said["name"])


def _built(model: Any, folder: Path) -> nn.Module:
    if isinstance(model, nn.Module):
        return model
    cure = "give a Hugging Face class, a module, or a function that builds one"
    if not callable(model):
        raise ArgumentError(f"model is {described(model)}; {cure}")
    name = getattr(model, "__name__", type(model).__name__)
    of_library = hasattr(model, "from_config") or getattr(model, "config_class", None) is not None
    if of_library and not (folder / "config.json").is_file():  # the library would build its default model
        raise ArgumentError(f"{name} needs a config.json, and {folder} has none; give a module that is built as before")
    try:
        if hasattr(model, "from_config"):  # one of transformers' Auto classes
            from transformers import AutoConfig

            built = model.from_config(AutoConfig.from_pretrained(folder, local_files_only=True)).eval()
        elif of_library:
            built = model(model.config_class.from_pretrained(folder, local_files_only=True)).eval()
        else:
            built = model()
    except Exception as error:
        words = f"{name} failed to build a model ({type(error).__name__}: {shortened(str(error), 150)})"
        raise ArgumentError(f"{words}; give one that is built, or a function that builds it") from error
    if not isinstance(built, nn.Module):
        raise ArgumentError(f"{name} gave {described(built)}; give a function that builds a torch.nn.Module")
    return built


@contextmanager
def without_wrappers(model: nn.Module) -> Iterator[nn.Module]:
    """Within the block the model as `unwrapped`; then wrapped as it was.

    >>> with without_wrappers(nn.DataParallel(nn.Sequential(nn.Linear(1, 1)))) as plain:
    ...     list(plain.state_dict())
    ['0.weight', '0.bias']
    """
    changed: list[tuple[nn.Module, str, nn.Module]] = []
    try:
        yield unwrapped(model, changed)
    finally:
        for parent, name, child in changed:
            parent._modules[name] = child


def unwrapped(model: nn.Module, changed: list[tuple[nn.Module, str, nn.Module]] | None = None) -> nn.Module:
    """The model without wrappers around it or, in the model itself, around its parts. ArgumentError for a wrapper that
    keeps parts of weights. changed: gets parents, names and wrappers.

    >>> type(unwrapped(nn.DataParallel(nn.Linear(1, 1)))).__name__
    'Linear'
    """
    plain = _inside(model)
    for parent in list(plain.modules()):
        for name, child in list(parent._modules.items()):
            if child is not None and (inner := _inside(child)) is not child:
                parent._modules[name] = inner
                if changed is not None:
                    changed.append((parent, name, child))
    return plain


def _inside(module: nn.Module) -> nn.Module:
    kind = type(module).__name__
    if kind in SHARDED:
        raise ArgumentError(f"the model is wrapped by {kind}, which keeps parts of weights; give the module inside it")
    inner = module._modules.get(WRAPPERS[kind]) if kind in WRAPPERS else None
    return module if inner is None else _inside(inner)
