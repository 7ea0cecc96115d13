"""convert_to_float8_training, named as in torchao."""

import warnings
from collections.abc import Callable

from torch import nn
from torch.nn.utils import parametrize

from fp8core.recipes import Recipe
from kernels.layer.float8_linear import Float8Linear

_MOST_NAMES = 5


def convert_to_float8_training(
    module: nn.Module,
    *,
    recipe: str | Recipe = "deepseek_v3",
    module_filter_fn: Callable[[nn.Linear, str], bool] | None = None,
    emulate: bool = False,
) -> nn.Module:
    """Replace each nn.Linear of a model by a Float8Linear, in place, and return the model.

    - module_filter_fn(layer, fqn): True for the layers to convert; fqn is such as "layers.0.mlp.up".
    - recipe, emulate: those of Float8Linear.

    Parameters and hooks stay; a layer that occurs twice stays one. A model that is an nn.Linear itself comes
    back as a new layer. One UserWarning names the layers that must stay: a Float8Linear, a lazy or
    parametrized layer, a subclass of nn.Linear, since its forward may differ. Raises ValueError if no layer
    was converted.
    """
    converted: dict[nn.Module, Float8Linear] = {}
    reasons: dict[str, str] = {}
    for name, layer in module.named_modules(remove_duplicate=False):
        if not isinstance(layer, nn.Linear) or layer in converted:
            continue
        if module_filter_fn is not None and not module_filter_fn(layer, name):
            continue
        reason = _reason(layer)
        if reason is None:
            converted[layer] = Float8Linear.from_linear(layer, recipe, emulate=emulate)
        else:
            reasons[name or type(module).__name__] = reason
    if not converted:
        nothing = "module_filter_fn took no nn.Linear" if module_filter_fn else "the model has no nn.Linear"
        raise ValueError(f"no layer was converted: {_sentence(reasons) or nothing}")
    if reasons:
        warnings.warn(f"{len(reasons)} layers stay as they are: {_sentence(reasons)}", stacklevel=2)
    if module in converted:
        return converted[module]
    for parent in list(module.modules()):
        for name, child in parent._modules.items():
            if child in converted:
                setattr(parent, name, converted[child])
                if isinstance(parent, nn.TransformerEncoderLayer):
                    # torch's fused inference path reads the weights itself. This has it call the layers.
                    parent.activation_relu_or_gelu = 0
    for stack in module.modules():
        layers = stack.modules() if isinstance(stack, nn.TransformerEncoder) else ()
        if any(isinstance(each, Float8Linear) for each in layers):
            # That path alone takes nested tensors.
            stack.use_nested_tensor = False
    return module


def _reason(layer: nn.Linear) -> str | None:
    if isinstance(layer, Float8Linear):
        return "is a Float8Linear already"
    if isinstance(layer, nn.LazyLinear):
        return "is lazy: run the model once, then convert it"
    if parametrize.is_parametrized(layer):
        return "is parametrized: a kernel reads the weight, not what makes it"
    if "forward" in layer.__dict__:
        return "has a forward of its own: convert it before that is set"
    if type(layer) is not nn.Linear:
        return f"is a {type(layer).__name__}, whose forward may differ from nn.Linear's"
    return None


def _sentence(reasons: dict[str, str]) -> str:
    shown = [f"{name} {reason}" for name, reason in list(reasons.items())[:_MOST_NAMES]]
    more = [f"and {len(reasons) - _MOST_NAMES} more"] if len(reasons) > _MOST_NAMES else []
    return "; ".join([*shown, *more])
