"""Facts of the page "Outliers" against errors that are counted anew."""

import ml_dtypes
import numpy as np
import pytest

from fp8core.inputs import InputKind, draw
from pages.kit.lesson.facts import fact

SMALL = {"outliers_size": "256x512"}


def test_one_scale_for_a_tensor_loses_as_many_elements_as_a_cast_does():
    x = draw(InputKind.OUTLIER_CHANNELS, (256, 512), 0).astype(ml_dtypes.bfloat16).astype(np.float32)
    codes = (x * (1 / (np.abs(x).max() / np.float32(448)))).astype(ml_dtypes.float8_e4m3fn)
    zeros = ((codes == 0) & (x != 0)).mean()
    assert fact("outliers.zeros_share", SMALL | {"recipes": ["per_tensor"]}) == pytest.approx(zeros, rel=0.05)
    steps = np.rint(x * (127 / np.abs(x).max()))
    assert fact("outliers.int8_zeros_share", SMALL) == pytest.approx((steps == 0).mean(), rel=1e-2)


def test_the_total_gains_where_small_channels_do_not():
    both = SMALL | {"recipes": ["per_tensor", "deepseek_v3"]}
    assert fact("outliers.sqnr_gain_db", both) == -fact("outliers.sqnr_loss_db", both)
    assert fact("outliers.sqnr_gain_db", both) > 8 > 1 > fact("outliers.median_gain_db", both)


def test_square_tiles_lie_alike_for_both_readers():
    settings = SMALL | {"readers_format": "e4m3", "readers_scale": "fp32"}
    assert fact("outliers.square_differ", settings) == 0
    assert fact("outliers.bare_differ", settings) > 0.9
    assert fact("outliers.bare_differ", settings | {"readers_scale": "e8m0_round_up"}) < 0.01


def test_two_roundings_of_one_size_add_up_as_the_root_of_two():
    anew = SMALL | {"reading": "made_anew"}
    assert fact("outliers.checkpoint_growth", anew) == pytest.approx(np.sqrt(2), rel=0.05)
    assert fact("outliers.checkpoint_growth", SMALL | {"reading": "as_made"}) == 1


def test_a_recipe_that_leaves_an_operand_in_bf16_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="leaves wgrad_a in bf16"):
        fact("outliers.sqnr_db", SMALL | {"recipes": ["rowwise_hp_wgrad"], "role": "wgrad_a"})


def test_copies_of_w_differ_where_a_scale_of_four_bits_is_no_power_of_two():
    shares = {
        name: fact("outliers.readers_differ", SMALL | {"recipes": [name], "outliers_data": "gaussian"})
        for name in ("nvfp4_1x16", "mxfp4", "nvfp4")
    }
    assert shares["nvfp4_1x16"] > 0.5 > 0.1 > shares["mxfp4"] > shares["nvfp4"] == 0
