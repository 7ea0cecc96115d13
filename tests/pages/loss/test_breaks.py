"""Contract: each change has its reason, its figure and its picture."""

from dataclasses import replace

import pytest

from kernels.train.sizes import HEAD
from kernels.train.variants import VARIANTS
from pages.loss import runs
from pages.loss.breaks import PICTURES
from pages.loss.evidence import evidence
from pages.loss.inside import numbers
from pages.loss.sourced import sourced
from tests.pages.addresses import refused
from tests.pages.loss.page import PAGE, texts
from tests.pages.loss.rows import all_rows, row, write


def test_each_change_has_its_finding_at_scale_and_its_picture() -> None:
    assert set(sourced().at_scale) == set(PICTURES) == set(VARIANTS)
    wrong = {name: refused(VARIANTS[name].page, PICTURES[name][1]) for name in VARIANTS}
    assert not any(wrong.values()), wrong


@pytest.mark.parametrize("name", [next(iter(VARIANTS)), next(reversed(VARIANTS))])
def test_a_change_is_shown_with_its_reason_and_what_it_did(open_app, recorded, name) -> None:
    told = texts(open_app(PAGE, loss_show="breaks", loss_change=name))
    assert VARIANTS[name].reason in told
    assert sourced().at_scale[name].url in told
    assert "At the end, " in told
    failed = name == next(iter(VARIANTS))
    assert ("The run with this change **failed**. Step 121" in told) == failed
    assert ("With this change the loss ends" in told) != failed


def test_the_figure_behind_a_reason_is_the_median_of_all_layers(recorded) -> None:
    (group,) = runs.groups()
    told = {name: evidence(variant, group) for name, variant in VARIANTS.items()}
    assert (
        "the median of underflows% of dy in Dgrad over 24 layers is **1.25**, without"
        in told["unscaled_gradients"]
    )
    assert "the median of SQNR of dw in Wgrad over 24 layers is **23.8** dB" in told["no_rotation"]
    assert not any("is 0 before" in each for each in told.values())
    assert evidence(VARIANTS["mx_floor"], None) == ""


def test_the_head_in_four_bits_stands_beside_the_other_layers_of_its_run(tmp_path, monkeypatch) -> None:
    rows = [one for one in all_rows() if one.job.recipe == "bf16"]
    changed = row(VARIANTS["head_in_four_bits"].job, 3.0)
    monkeypatch.setattr(runs, "TRAIN", write(tmp_path / "none", [*rows, changed]))
    assert evidence(VARIANTS["head_in_four_bits"], runs.groups()[0]) == ""
    last = changed.statistics[-1]
    changed = replace(changed, statistics=(replace(last, layers=(*last.layers[:-1], HEAD)),))
    monkeypatch.setattr(runs, "TRAIN", write(tmp_path / "head", [*rows, changed]))
    told = evidence(VARIANTS["head_in_four_bits"], runs.groups()[0])
    assert "Dgrad is **2.4** in the head; its median over the 23 other layers is **1.2**." in told


def test_layers_whose_tensor_is_zero_before_are_counted_apart(tmp_path, monkeypatch) -> None:
    rows = [one for one in all_rows() if one.job.recipe == "bf16"]
    broken = row(VARIANTS["unscaled_gradients"].job, 90.0)
    last = broken.statistics[-1]
    copies = [
        replace(one, amax=(0.0, *one.amax[1:]), underflows_percent=(0.0,) + (100.0,) * 23)
        if one.tensor == "dy"
        else one
        for one in last.copies
    ]
    broken = replace(broken, statistics=(replace(last, copies=tuple(copies)),))
    shown = numbers(broken.statistics[0], "underflows_percent")["dy in Dgrad"]
    assert list(shown) == [None] + [100.0] * 23
    monkeypatch.setattr(runs, "TRAIN", write(tmp_path, [*rows, broken]))
    told = evidence(VARIANTS["unscaled_gradients"], runs.groups()[0])
    assert "of dy in Dgrad over 23 layers is **100**. In 1 other layer dy is 0" in told
