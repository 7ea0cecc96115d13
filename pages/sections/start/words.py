"""The introduction of the page "Start"."""

from pages.sections.start.numbers import EIGHT, SIXTEEN

INTRODUCTION = (
    "**How does FP8 training work?** A neural network trains by multiplying large matrices. In FP8, "
    f"the numbers that are multiplied have {EIGHT.bits} bits instead of {SIXTEEN[0].bits}, and tensor cores "
    "multiply them faster. So few bits are enough only with the right **scales**."
)
