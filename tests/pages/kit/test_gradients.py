"""Two pages that round the same gradients tell the same shares."""

import pytest

from pages.formats.controls import TITLES
from pages.formats.gradients import GRADIENT_FORMATS, gradient_fates
from pages.why_fp8.history import shares


@pytest.mark.parametrize("name", GRADIENT_FORMATS)
def test_formats_and_why_fp8_lose_as_many_gradients_at_every_loss_scale(name):
    assert shares()[name] == [one.zero + one.overflow for one in gradient_fates()[TITLES[name]]]
