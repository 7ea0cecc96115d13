"""Contract: a model's plain nn.Linear layers are converted; what stays, and why, is told once."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from kernels.layer import Float8Linear, convert_to_float8_training


def test_the_filter_sees_linear_layers_alone_and_decides():
    shared = nn.Linear(16, 16)
    model = nn.Sequential(shared, nn.ReLU(), nn.Sequential(nn.Linear(16, 16), shared), nn.Linear(16, 4))
    names = []

    def wanted(layer: nn.Linear, fqn: str) -> bool:
        names.append(fqn)
        return layer.in_features % 16 == 0 and fqn != "3"

    converted = convert_to_float8_training(model, recipe="mxfp8", module_filter_fn=wanted, emulate=True)
    assert converted is model
    kinds = [type(layer) for layer in (model[0], model[2][0], model[3])]
    assert kinds == [Float8Linear, Float8Linear, nn.Linear]
    assert model[0] is model[2][1]
    assert names == ["0", "2.0", "3"]
    assert isinstance(convert_to_float8_training(nn.Linear(4, 4), emulate=True), Float8Linear)


class Own(nn.Linear):
    """A subclass, as LoRA layers are."""


def of_every_kind() -> nn.ModuleDict:
    wrapped = nn.Linear(16, 16)
    wrapped.forward = lambda x: nn.functional.linear(x, wrapped.weight)
    return nn.ModuleDict(
        {
            "plain": nn.Linear(16, 16),
            "own": Own(16, 16),
            "lazy": nn.LazyLinear(16),
            "normed": parametrizations.weight_norm(nn.Linear(16, 16)),
            "wrapped": wrapped,
            "attention": nn.MultiheadAttention(16, 2),
        }
    )


def test_what_stays_is_told_once_with_its_reason():
    model = of_every_kind()
    with pytest.warns(UserWarning, match="5 layers stay as they are") as messages:
        convert_to_float8_training(model, emulate=True)
    assert len(messages) == 1
    for words in (
        "own is a Own, whose forward may differ",
        "lazy is lazy: run the model once",
        "normed is parametrized",
        "wrapped has a forward of its own",
        "attention.out_proj is a NonDynamicallyQuantizableLinear",
    ):
        assert words in str(messages[0].message)
    assert type(model["plain"]) is Float8Linear
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        is_plain = lambda layer, fqn: fqn == "plain"  # noqa: E731
        convert_to_float8_training(of_every_kind(), module_filter_fn=is_plain, emulate=True)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (nn.Sequential(nn.ReLU()), "the model has no nn.Linear"),
        (nn.Sequential(Own(4, 4)), "0 is a Own, whose forward may differ from nn.Linear's"),
        (nn.Sequential(Float8Linear(4, 4, emulate=True)), "0 is a Float8Linear already"),
        (Float8Linear(4, 4, emulate=True), "Float8Linear is a Float8Linear already"),
    ],
)
def test_a_model_in_which_nothing_is_converted_is_refused(model, sentence):
    with pytest.raises(ValueError, match=f"no layer was converted: {sentence}"):
        convert_to_float8_training(model, emulate=True)
    with pytest.raises(ValueError, match=r"module_filter_fn took no nn\.Linear"):
        convert_to_float8_training(model, module_filter_fn=lambda layer, fqn: False, emulate=True)


def test_an_encoder_layer_calls_its_converted_layers_in_inference():
    """torch's fused path would read the weights itself, in their own precision."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    x = torch.randn(2, 3, 16)
    stack = nn.TransformerEncoder(layer, 2).eval()
    for model in (layer, stack):
        with torch.no_grad():
            plain = model(x)
            with pytest.warns(UserWarning, match="NonDynamicallyQuantizableLinear"):
                convert_to_float8_training(model, recipe="mxfp4", emulate=True)
            y = model(x)
        assert 1e-3 < float((y - plain).norm() / plain.norm()) < 0.5
    padded = torch.tensor([[False, False, False], [False, False, True]])
    with torch.no_grad():
        one_by_one = x
        for each in stack.layers:
            one_by_one = each(one_by_one, src_key_padding_mask=padded)
        assert torch.equal(stack(x, src_key_padding_mask=padded), one_by_one)
