"""The controls of a step of decoding: the model, the context, and how many sequences there are at once."""

from pages.kit.sourced import sourced
from pages.kit.widgets import Choice, ChoiceStyle, Whole

OWN = "own"

MODEL = Choice(
    key="why_model",
    label="Model",
    options={name: model.title for name, model in sourced().models.items()} | {OWN: "Your own sizes"},
    default="llama31_8b",
    style=ChoiceStyle.SELECT,
)
LAYERS = Whole(key="why_layers", label="Layers", low=1, high=256, default=32)
KV_HEADS = Whole(
    key="why_kv_heads",
    label="KV heads",
    low=1,
    high=256,
    default=8,
    help="Heads that keep keys and values. Several heads of queries may share one.",
)
HEAD_DIM = Whole(key="why_head_dim", label="Numbers in a head", low=16, high=512, default=128)
BILLIONS = Whole(
    key="why_billions", label="Weights, in billions", low=1, high=2000, default=8, help="Parameters."
)
CONTEXT = Choice(
    key="why_context",
    label="Context",
    options={k: f"{1 << k:,} tokens" for k in range(7, 21)},
    default=13,
    style=ChoiceStyle.SELECT,
    help="Tokens of a sequence so far.",
)
BATCH = Whole(
    key="why_batch",
    label="Sequences at once",
    low=1,
    high=1024,
    default=16,
    help="All of them read the same weights, and each reads a cache of its own.",
)
OWN_SIZES = (LAYERS, KV_HEADS, HEAD_DIM, BILLIONS)
"""The sizes of a model of the reader's own."""
