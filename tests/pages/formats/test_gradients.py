"""Section "fp16 or bf16": the shares are those of counting."""

import numpy as np

from pages.formats.gradients import gradient_fates
from pages.kit.gradients import gradients
from pages.kit.lesson.facts import fact
from tests.pages.texts import notice


def test_the_shares_of_vanishing_gradients_are_those_of_counting():
    x = np.abs(gradients())
    fates = gradient_fates()
    for k in (0, 8, 20):
        assert fates["fp16"][k].zero == (x * 2.0**k <= 2.0**-25).mean()
        assert fates["E4M3"][k].overflow == (x * 2.0**k > 464).mean()
        assert fact("formats.fp16_zero_share", {"loss_scale": k}) == fates["fp16"][k].zero
        assert fact("formats.e5m2_zero_share", {"loss_scale": k}) == fates["E5M2"][k].zero
    assert fates["bf16"][0].zero == 0


def test_the_notice_has_the_share_under_its_loss_scale(open_app):
    at = open_app("pages/formats.py", formats="gradients", loss_scale="8")
    assert not at.exception
    assert f"{gradient_fates()['fp16'][8].zero:.1%}" in notice(at)
    assert "2⁸" in notice(at)
    (chart,) = at.get("vega_lite_chart")
    assert f"fp16 {gradient_fates()['fp16'][8].zero:.1%}" in chart.proto.alt
