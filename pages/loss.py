"""Which recipes train as well as bf16?

Eight bits are fast, and a little wrong. Does a training run suffer?
"""

from pages.kit.shell import open_page
from pages.loss import breaks as loss_breaks
from pages.loss import curves as loss_curves
from pages.loss import elsewhere as loss_elsewhere
from pages.loss import train as loss_train
from pages.loss.controls import ALL_CONTROLS, ENDS, LAYERS, LOSS, SHOW

SECTIONS = {
    "curves": loss_curves,
    "train": loss_train,
    "breaks": loss_breaks,
    "elsewhere": loss_elsewhere,
}
MOVED = {
    (SHOW.key, old): (None, {SHOW.key: "curves", LOSS.key: loss})
    for old, loss in (("inside", LAYERS), ("sure", ENDS))
}

view, controls = open_page("Does the loss notice?", *ALL_CONTROLS, moved=MOVED)
with view.below:
    SECTIONS[controls.draw(SHOW, view.sections)].show(controls)
