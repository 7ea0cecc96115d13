"""A gold handle in a chart: where it is, and what the address says."""

from urllib.parse import parse_qs, urlsplit

HANDLE = ".handle"


def value_in(url: str, key: str) -> str | None:
    """The value of a control in an address; None where it has its default."""
    return parse_qs(urlsplit(url).query).get(key, [None])[0]


def position(page) -> tuple[int, str]:
    """The handle's position, as a number and in words."""
    handle = page.locator(HANDLE)
    return int(handle.get_attribute("aria-valuenow")), handle.get_attribute("aria-valuetext")


def center(page) -> tuple[float, float]:
    box = page.locator(HANDLE).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
