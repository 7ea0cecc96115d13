"""How far colors stand out from each other. Source: WCAG 2.2, relative luminance and contrast ratio."""

from PIL import ImageColor


def contrast(one: str, other: str) -> float:
    """The ratio of two colors in CSS, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: str) -> float:
    parts = (part / 255 for part in ImageColor.getrgb(color)[:3])
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
