"""Section "The scale's own format": the effect of four rules on the largest number of a block."""

from fp8core.formats import FORMATS
from pages.kit.chart import room
from pages.kit.chart_slider import chart_with_slider
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.scale_rules import recipe_rules, scale_rules
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.terms.explain import draw_text
from pages.kit.view import here
from pages.scaling.charts.rules import AMAX, BLOCK
from pages.scaling.controls import BLOCK_AMAX, BLOCK_KIND, BLOCK_SIZE, ELEMENT
from pages.scaling.role import draw_role
from pages.scaling.rules_data import BLOCKS, SLIDER, Blocks, landings, rules_spec
from pages.scaling.words import closed_form, rules_alt, rules_intro, rules_notice, rules_table

SOURCES = (
    "Sources: OCP Microscaling Formats 1.0, section 6.3 (floor); arXiv 2506.08027, section 3 (round up)."
)


def show(controls: Controls) -> None:
    """Draw the section for the blocks that the controls hold."""
    view = here()
    name = controls.draw(ELEMENT, view.control)
    size, kind = controls.draw(BLOCK_SIZE), controls.draw(BLOCK_KIND)
    blocks = (name, size, kind, draw_role(controls, kind), controls.draw(SEED))
    draw_notice(rules_notice(landings(blocks)))
    _picture(controls, blocks)
    draw_text(rules_intro(name), view.know)
    view.know.markdown(
        f"Bars: {BLOCKS:,} blocks of {size} numbers. Triangles: one block. The slider moves its amax through "
        "two octaves."
    )
    view.know.markdown(rules_table(landings(blocks)))
    view.know.markdown(closed_form(FORMATS[name]))
    view.know.markdown(scale_rules())
    view.know.markdown(f"**Rules of recipes that go further**\n\n{recipe_rules()}")
    view.know.caption(SOURCES)


def _picture(controls: Controls, blocks: Blocks) -> None:
    low, _, step = SLIDER
    chart_with_slider(
        controls,
        BLOCK_AMAX,
        name="scaling_rules",
        drawn=(blocks, theme()),
        at=low + round((controls.value(BLOCK_AMAX) - low) / step) * step,
        spec_at=lambda start: rules_spec(blocks, start, theme(), room()),
        param=BLOCK,
        field=AMAX,
        alt_at=lambda _: rules_alt(blocks[0], landings(blocks)),
        is_rigid=True,
    )
