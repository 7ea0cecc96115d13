"""What the sections of the page "Outliers" tell the reader to notice is true of the numbers."""

import pytest

from fp8core.inputs import InputKind
from fp8core.linear import LayerTensor
from pages.sections.outliers import lines, map
from pages.sections.outliers.chosen import Asked
from pages.sections.outliers.measures import measured
from pages.sections.outliers.source import Source


def asked_of(kind: InputKind) -> Asked:
    source = Source(kind=kind.value, shape=(512, 1024), seed=0, tensor=LayerTensor.X)
    return Asked(keys=("mxfp8", "nvfp4"), role="fprop_a", source=source)


def channels_notice(kind: InputKind) -> str:
    asked = asked_of(kind)
    parts = {key: measured(key, asked.role, asked.source) for key in asked.keys}
    channels = {key: part.error.channels for key, part in parts.items()}
    spreads = {key: lines.spread(asked.titles[key], part, channels[key]) for key, part in parts.items()}
    return lines.notice(asked, channels, spreads, "channel")


@pytest.mark.parametrize(
    ("kind", "is_theirs"), [(InputKind.OUTLIER_CHANNELS, True), (InputKind.REAL_DOWN_EARLY, False)]
)
def test_the_total_belongs_to_the_outliers_only_where_they_hold_nearly_all_of_the_energy(kind, is_theirs):
    told = channels_notice(kind)
    assert "channels of 1,024 hold" in told
    assert ("almost theirs alone" in told) == is_theirs


def test_the_recipes_name_stands_before_what_it_is_best_in():
    asked = asked_of(InputKind.OUTLIER_CHANNELS)
    parts = {key: measured(key, asked.role, asked.source) for key in asked.keys}
    assert "**MXFP8** has the best total: 3" in map.notice(asked, parts)
    assert "**MXFP8** has the least error in its worst channel: 3" in channels_notice(
        InputKind.OUTLIER_CHANNELS
    )
