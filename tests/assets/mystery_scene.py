"""Draws `assets/mystery.png`: a room in which nearly everything is darker than half of white.

    .venv/bin/python -m tests.assets.mystery_scene

Light, not bytes: 0 is black, 1 is white, and the sRGB curve comes last. Rounded to the nearer of black and
white only a lamp's glint is left; the ball, its shadow and the word on the wall are all below one half.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fp8core.experiments.pictures import to_bytes

PATH = Path(__file__).resolve().parents[2] / "assets" / "mystery.png"
SIZE = 224
SAMPLES = 4
HORIZON = 0.70
BALL, RADIUS = (0.72, 0.715), 0.16
LAMP = np.array([-0.45, -0.72, 0.53])
STROKE = 0.036

Field = NDArray[np.float64]


def light() -> Field:
    """float64[224, 224]: the light of each pixel, the mean of its samples."""
    at = (np.arange(SIZE * SAMPLES) + 0.5) / (SIZE * SAMPLES)
    x, y = np.meshgrid(at, at)
    scene = _room(x, y)
    scene = np.where(_to_word(x - 0.045, y - 0.01) < STROKE, 0.40 - 0.10 * np.abs(x - 0.42), scene)
    inside, ball = _ball(x, y)
    scene = np.where(inside, ball, scene)
    return scene.reshape(SIZE, SAMPLES, SIZE, SAMPLES).mean(axis=(1, 3))


def _room(x: Field, y: Field) -> Field:
    """A wall in a pool of light above a floor that brightens toward the reader, with the ball's shadow."""
    wall = 0.03 + 0.15 * np.exp(-((x - 0.40) ** 2 + (y - 0.30) ** 2) / 0.10)
    depth = np.clip((y - HORIZON) / (1 - HORIZON), 0, 1)
    floor = 0.16 + 0.24 * depth * np.exp(-((x - 0.30) ** 2) / 0.22)
    shadow = np.exp(-((((x - 0.84) / 0.20) ** 2 + ((y - 0.868) / 0.045) ** 2) ** 2))
    return np.where(y < HORIZON, wall, floor * (1 - 0.85 * shadow))


def _ball(x: Field, y: Field) -> tuple[NDArray[np.bool_], Field]:
    """Where the ball is, and its light: diffuse, a little from the floor, and the lamp's glint."""
    u, v = (x - BALL[0]) / RADIUS, (y - BALL[1]) / RADIUS
    inside = u**2 + v**2 < 1
    w = np.sqrt(np.clip(1 - u**2 - v**2, 0, None))
    facing = u * LAMP[0] + v * LAMP[1] + w * LAMP[2]
    mirrored = 2 * facing * w - LAMP[2]
    glint = 0.75 * np.clip(mirrored, 0, 1) ** 30
    return inside, 0.02 + 0.40 * np.clip(facing, 0, 1) + 0.06 * np.clip(v, 0, 1) + glint


def _to_word(x: Field, y: Field) -> Field:
    """Distance to the middle of the strokes of the word YES."""
    y_strokes = [((0.11, 0.14), (0.20, 0.31)), ((0.29, 0.14), (0.20, 0.31)), ((0.20, 0.31), (0.20, 0.48))]
    e_strokes = [((0.38, 0.14), (0.38, 0.48))]
    e_strokes += [
        ((0.38, level), (right, level)) for level, right in ((0.14, 0.53), (0.31, 0.50), (0.48, 0.53))
    ]
    segments = [_to_segment(x, y, *ends) for ends in y_strokes + e_strokes]
    # S: two circles one above the other, each open at one side.
    top = _to_arc(x, y, (0.70, 0.225), 0.085, lambda u, v: (u < 0) | (v < 0) & (v < -0.5 * u))
    bottom = _to_arc(x, y, (0.70, 0.395), 0.085, lambda u, v: (u > 0) | (v > 0) & (v > -0.5 * u))
    return np.minimum.reduce([*segments, top, bottom])


def _to_segment(x: Field, y: Field, start: tuple[float, float], end: tuple[float, float]) -> Field:
    dx, dy = end[0] - start[0], end[1] - start[1]
    along = np.clip(((x - start[0]) * dx + (y - start[1]) * dy) / (dx**2 + dy**2), 0, 1)
    return np.hypot(x - start[0] - along * dx, y - start[1] - along * dy)


def _to_arc(x: Field, y: Field, center: tuple[float, float], radius: float, has) -> Field:
    u, v = x - center[0], y - center[1]
    return np.where(has(u, v), np.abs(np.hypot(u, v) - radius), np.inf)


if __name__ == "__main__":
    Image.fromarray(to_bytes(light())).save(PATH, optimize=True)
