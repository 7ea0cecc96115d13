"""The model that is trained: a decoder over bytes.

pieces.py     norms, positions, SwiGLU, cross-entropy; attention.py: attention products, the embedding
decoder.py    the decoder, whose linear layers run in a recipe
plain.py      the same model as a plain loop in bf16, for torch.compile
"""

from kernels.train.model.decoder import Decoder, Tap

__all__ = ["Decoder", "Tap"]
