"""Contract: python -m kernels.layer --model trains a Llama of transformers in bf16 and in recipes."""

import pytest
import torch

from kernels.layer.__main__ import WAYS, Llama, contest, main


def test_each_model_learns_and_the_recipe_s_loss_is_near_bf16_s():
    pytest.importorskip("transformers")
    tiny = Llama(layers=1, width=128, hidden=128, vocabulary=256)
    every = contest(tiny, ("bf16", "mxfp8"), WAYS[1], 16, 8, torch.device("cpu"))
    assert [each.name for each in every] == ["bf16", "mxfp8", "mxfp8, SwigluMlp"]
    plain, *others = every
    for each in every:
        assert len(each.losses) >= 8
        assert each.step_ms > 0
        assert each.losses[-1] < each.losses[0]
    for each in others:
        assert abs(float(plain.losses[-1] - each.losses[-1])) < 0.05 * float(plain.losses[-1])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--layers", "0"), "--layers is a whole number from 1 to 2147483647, got 0"),
        (("--tokens", "0"), "--tokens is a whole number from 1 to 2147483647, got 0"),
    ],
)
def test_sizes_that_no_model_has_are_refused(arguments, sentence, capsys):
    assert main(["--model", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_a_missing_package_is_named(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    assert main(["--model"]) == 1
    assert "the model is transformers' Llama" in capsys.readouterr().err


def test_only_the_asked_ways_run_and_a_full_gpu_is_said_in_a_sentence(monkeypatch, capsys):
    ways = []

    def contest(sizes, recipes, way, *rest):
        ways.append(way)
        raise torch.OutOfMemoryError

    monkeypatch.setattr("kernels.layer.__main__.contest", contest)
    assert main(["--model", "--way", "compiled"]) == 2
    assert ways == ["compiled"]
    assert "the GPU is full; each recipe trains two models: name fewer" in capsys.readouterr().err
