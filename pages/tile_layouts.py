"""Which elements share one scale?

One large number spoils the scale for all that share it. So let fewer share it.
"""

from fp8core.inputs import InputKind, rules
from fp8core.linear import LayerShape
from pages.kit.shared_controls import INPUT, SEED
from pages.kit.shell import open_page
from pages.tile_layouts import copies as tile_copies
from pages.tile_layouts import overview as tile_overview
from pages.tile_layouts import picture as tile_picture
from pages.tile_layouts import row as tile_row
from pages.tile_layouts import rule as tile_rule
from pages.tile_layouts.facts import CONTROLS, LAYER_CONTROLS, SHOW
from pages.tile_layouts.rule import exact_rules

ONE_SCALE = (
    "Eight bits have too little range for many raw numbers. So each group of elements is divided by one "
    "**scale**, and the largest element just fits. Later the result is multiplied by the scale. Elements "
    "that share one scale are a **tile**. A corner of each tensor is drawn. An outer scale follows that "
    "corner, not the whole tensor."
)
SECTIONS = {
    "picture": tile_picture,
    "row": tile_row,
    "overview": tile_overview,
    "copies": tile_copies,
    "rule": tile_rule,
}

view, controls = open_page("Which elements share one scale?", *CONTROLS)
view.know.markdown(ONE_SCALE)
with view.below:
    layer = LayerShape(*map(controls.value, LAYER_CONTROLS))
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls, layer)
    for setting in (INPUT, SEED, *LAYER_CONTROLS):
        controls.draw(setting)
kind = InputKind(controls.value(INPUT))
corner = " A narrow corner of x still has two outlier channels." * (kind is InputKind.OUTLIER_CHANNELS)
view.know.markdown(f"Numbers: {rules(kind)}.{corner}")
exact_rules()
