"""Passes over an operand before it is multiplied: dequantize it, or refold its scales."""
