"""Conversion of a model: its nn.Linear layers become Float8Linear, as torchao's verb of that name does."""

from collections.abc import Callable

from torch import nn

from fp8core.recipes import Recipe
from kernels.layer.module import Float8Linear

ModuleFilter = Callable[[nn.Module, str], bool]


def convert_to_float8_training(
    module: nn.Module,
    *,
    recipe: str | Recipe = "deepseek_v3",
    module_filter_fn: ModuleFilter | None = None,
    emulate: bool = False,
    cache_weights: bool = False,
) -> nn.Module:
    """Put a Float8Linear in the place of each nn.Linear of a model, and return the model.

    - module_filter_fn(module, fqn): True for the layers to convert, by their full name, such as
      "layers.0.mlp.up". Left out, all are converted.
    - recipe, emulate, cache_weights: as Float8Linear has them.

    The model is changed in place, parameters and hooks stay. A layer that occurs twice stays one layer. A
    subclass of nn.Linear stays as it is, since its forward may differ. A model that is an nn.Linear itself
    comes back as a new layer. Raises ValueError where no layer was converted: the model would train in its
    own precision without a word.
    """
    made: dict[nn.Module, Float8Linear] = {}
    for name, layer in module.named_modules(remove_duplicate=False):
        wanted = module_filter_fn is None or module_filter_fn(layer, name)
        if type(layer) is nn.Linear and wanted and layer not in made:
            made[layer] = Float8Linear.from_linear(
                layer, recipe, emulate=emulate, cache_weights=cache_weights
            )
    if not made:
        raise ValueError("no layer was converted: module_filter_fn took none, or the model has no nn.Linear")
    if module in made:
        return made[module]
    for parent in list(module.modules()):
        for name, child in parent._modules.items():
            if child in made:
                setattr(parent, name, made[child])
    return module
