"""Every text to copy of the pages: those of published recipes, and those in the pages' folders."""

from collections.abc import Iterator

from pages.kit.in_code.texts import CodeText, page_texts, published


def of_recipes() -> Iterator[tuple[str, CodeText]]:
    """The texts of recipes in the words of other libraries: a name for each, and the text."""
    for name, texts in published().items():
        yield from ((f"{text.library}, {name}", text) for text in texts)


def written() -> Iterator[tuple[str, CodeText]]:
    """The texts in the pages' folders: a name for each, and the text."""
    for page, shown in page_texts().items():
        for text in shown.texts:
            yield f"{page}, {text.library}, {text.title}", text


def python_of(library: str) -> dict[str, str]:
    """The Python of every text in the words of a library, by a name."""
    return {
        name: one.code
        for texts in (of_recipes(), written())
        for name, one in texts
        if one.library == library and one.code and one.language == "python"
    }
