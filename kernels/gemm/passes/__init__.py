"""Passes over an operand before it is multiplied: dequantize, refold, widen."""
