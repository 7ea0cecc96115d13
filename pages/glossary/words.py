"""The controls, all words at a glance, and each word: its sentence, other names, source, and page."""

from functools import lru_cache
from html import escape

from pages.kit.controls import Controls
from pages.kit.inert import quoted
from pages.kit.terms.explain import TERM as TERM_KEY
from pages.kit.terms.explain import Term, glossary, link
from pages.kit.view import draw_notice, here, stage
from pages.kit.widgets import Select, Text

EVERY = ""

FIND = Text(
    key="find",
    label="Search",
    longest=60,
    default="",
    placeholder="Search: scale",
    help="Terms whose names or sentences hold all of these words.",
)
TERM = Select(
    key=TERM_KEY,
    label="One term",
    options={EVERY: "All terms"} | {slug: term.term for slug, term in glossary().items()},
)

ALL_CONTROLS = (FIND, TERM)

KNOW = (
    "On the other pages, a dotted line under a word shows its sentence. The link below each entry opens the "
    "page that shows it, with the controls set."
)
NOTHING = "No word or sentence here contains {}."
_INDEX = """<style>
.index { container-type: inline-size; }
.index div { columns: 5 124px; column-gap: 2cqw; font-size: clamp(13px, 1.42cqw, 15px);
    line-height: clamp(15.4px, 3.5cqw - 12.6px, 25px); }
.index a { display: block; text-decoration-color: light-dark(#a7b0bc, #5d6878) !important; }
@media (max-width: 640px) {
    .index div { columns: auto; display: flex; flex-wrap: wrap; gap: 0 18px; font-size: 15px;
        line-height: 36px; } }
</style>"""


def show(controls: Controls) -> None:
    field = here().control.container(width=280)
    controls.draw(FIND, field, on_change=lambda: controls.preset(**{TERM.key: EVERY}))
    controls.draw(TERM, on_change=lambda: controls.preset(**{FIND.key: ""}))
    text, slug = controls.value(FIND), controls.value(TERM)
    terms = search(text) if slug == EVERY else (glossary()[slug],)
    here().know.markdown(KNOW)
    if len(terms) == len(glossary()):
        draw_notice(f"Point at one of **{len(terms)} words**, or tap it. It shows its sentence.")
        stage().html(_index())
    else:
        words = f"**{len(terms)} of {len(glossary())} words** match."
        draw_notice(words if terms else NOTHING.format(quoted(text)))
    place = stage()
    for term in terms:
        place.html(entry(term))
        place.page_link(f"pages/{term.page}.py", icon=":material/arrow_forward:", query_params=term.params)


def search(text: str) -> tuple[Term, ...]:
    """Terms whose names or sentence hold every word of `text`; matches by name come first."""
    words = text.casefold().split()

    def holds(texts: tuple[str, ...]) -> bool:
        return all(word in " ".join(texts).casefold() for word in words)

    terms = [term for term in glossary().values() if holds((*term.every_name, term.says))]
    return tuple(sorted(terms, key=lambda term: not holds(term.every_name)))


@lru_cache(maxsize=1)
def _index() -> str:
    words = "".join(link(term, address=f"#{term.slug}") for term in glossary().values())
    return f'{_INDEX}<div class="index"><div>{words}</div></div>'


@lru_cache(maxsize=256)
def entry(term: Term) -> str:
    names = f"<b>Also:</b> {escape(', '.join(term.names))}. " if term.names else ""
    return (
        f'<h2 id="{term.slug}" style="padding:0;margin:0.5rem 0 0;font-size:1.25rem;scroll-margin-top:4rem">'
        f"{escape(term.term)}</h2>"
        f'<p style="margin:0.25rem 0">{escape(term.says)}</p>'
        f'<p style="margin:0;font-size:0.875rem">{names}<b>Source:</b> {escape(term.source)}.</p>'
    )
