"""Contract: the address of a section that moved opens what took its place, and keeps all else it says."""

from urllib.parse import parse_qsl

import pytest

MOVED = {
    "accumulation?sum_show=measured": "accumulation?sum_show=units",
    "benchmarks?bench_show=table": "benchmarks",
    "design?design_show=knobs": "design?design_show=error",
    "design?design_show=text": "design",
    "formats?formats=range": "formats?formats=compare&axis=count",
    "formats?formats=run&run_beyond=saturate": "formats?formats=overflow&run_beyond=saturate",
    "fused?fused_show=cache": "why_fp8?why_show=memory&why_moment=cache",
    "fused?fused_show=memory": "why_fp8?why_show=memory",
    "glossary?glossary=concepts": "glossary",
    "loss?loss_show=inside&loss_inside=mxfp8": "loss?loss_of=layers&loss_inside=mxfp8",
    "loss?loss_show=sure": "loss?loss_of=ends",
    "outliers?outliers_show=crest&seed=3": "outliers?outliers_show=more&outliers_more=crest&seed=3",
    "outliers?outliers_show=tiles": "compare_recipes?differ_show=size",
    "rotations?rotations_show=bf16": "rotations?rotations_show=error",
    "rotations?rotations_show=matmul": "rotations?rotations_show=error&rotations_of=product",
    "start?start_format=e2m1": "start?start_format=mxfp4",
    "stochastic_rounding?part=weight": "stochastic_rounding?part=training",
    "tile_layouts?show=counts&recipe=mxfp8": "tile_layouts?show=copies&recipe=mxfp8",
    "why_fp8?why_show=cache&why_context=9": "why_fp8?why_show=memory&why_moment=cache&why_context=9",
}


@pytest.mark.usefixtures("stand_in_workers")
@pytest.mark.parametrize(("old", "new"), MOVED.items(), ids=MOVED)
def test_an_old_address_opens_what_took_its_place(open_app, old, new):
    """Only the page that took it over keeps its keys: see test_addresses.py."""
    (page, _, query), (_, _, wanted) = old.partition("?"), new.partition("?")
    at = open_app(f"pages/{page}.py", **dict(parse_qsl(query)))
    assert not at.exception
    assert not at.warning
    assert at.query_params == dict(parse_qsl(wanted))
