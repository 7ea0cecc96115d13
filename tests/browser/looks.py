"""How a page is looked at: what it measures depends on its width, and hardly on its theme."""

LOOKS = (("light", 800), ("dark", 1280))
"""(theme, width): the narrowest screen and the usual one."""
THEMES = ("light", "dark")


def in_turn(sections: list[str]) -> list[tuple[str, str]]:
    """(section, theme): the themes take turns."""
    return [(section, THEMES[place % len(THEMES)]) for place, section in enumerate(sections)]
