"""The look of the lesson's panel, beside a page or below it on a telephone, and of a chapter on paper.

Streamlit lays the sidebar over a page that is narrower than 768 pixels. There the picture comes first and the
step second, so both stand in one column that scrolls as a whole.
"""

from html import escape

from pages.kit.lesson.library import Place

_LARGE = 1.3
"""For a projector, the panel's smallest text, of 14 pixels, has 18."""


def style(is_projected: bool) -> str:
    """HTML that gives the sidebar the panel's look while a panel is in it."""
    zoom, wide = (_LARGE, 420) if is_projected else (1, 400)
    here, column = ".stApp:has(.st-key-lesson_panel)", '[data-testid="stAppViewContainer"]'
    sidebar, content = '[data-testid="stSidebar"]', '[data-testid="stSidebarContent"]'
    main = '[data-testid="stMainBlockContainer"]'
    page = "" if is_projected else f"{here} {main} {{ padding: 28px 48px 24px !important; }}"
    return f"""<style>
{page}
{here} .st-key-view_stage {{ min-height: 0; }}
{here} {sidebar} {{
    width: {wide}px !important; min-width: {wide}px !important; max-width: {wide}px;
    transform: none !important; visibility: visible; transition: none; }}
{here} :is([data-testid="stSidebarHeader"], [data-testid="stExpandSidebarButton"], .st-key-toolbar_reset,
    div:has(> [data-testid="stSidebarResizeHandle"])) {{ display: none; }}
{here} [data-testid="stSidebarUserContent"] {{ padding: 28px 8px 0 !important; zoom: {zoom}; }}
.st-key-lesson_panel {{ gap: 16px; }}
.st-key-lesson_panel h3 {{ font-size: 20px; line-height: 26px; padding: 8px 0 0; margin-bottom: 16px; }}
.st-key-lesson_panel :is(h3, [data-testid="stAlert"]):focus {{ outline: none; }}
.st-key-lesson_panel [data-testid="stForm"] {{ padding: 0; }}
.st-key-lesson_ask p {{ font-size: 18px; line-height: 26px; font-weight: 650; }}
.st-key-lesson_panel [data-testid="stWidgetLabel"] p {{
    font-size: 15px; color: light-dark(#525c6a, #a9b3c1); }}
.st-key-lesson_panel [data-testid="stAlertContainer"] {{
    background: light-dark(#f0f2f5, #1b212b); color: light-dark(#14181f, #edf0f4); }}
.st-key-lesson_panel [data-testid="stElementToolbar"] {{ display: none; }}
.st-key-lesson_panel [data-testid="stSlider"] {{ padding-top: 8px; }}
{here} {sidebar} [data-testid="stElementContainer"]:has([data-testid="stVegaLiteChart"]) {{
    width: calc(100% / {zoom}) !important; }}
.st-key-lesson_foot {{ gap: 0 20px !important; padding-top: 8px;
    border-top: 1px solid light-dark(#dfe3e9, #2b3441); }}
.st-key-lesson_foot button {{ padding: 0 !important; color: light-dark(#525c6a, #a9b3c1); }}
.lesson-steps p {{ margin: 0 0 10px; font-size: 15px; color: light-dark(#525c6a, #a9b3c1); }}
.lesson-steps b {{ color: light-dark(#14181f, #edf0f4); font-weight: 650; }}
.lesson-steps div {{ display: flex; gap: 6px; }}
.lesson-steps i {{ flex: 1; height: 4px; border-radius: 2px; background: light-dark(#dfe3e9, #2b3441); }}
.lesson-steps i.done {{ background: light-dark(#14181f, #edf0f4); }}
.lesson-line, .st-key-lesson_first {{ display: none; margin: 0; }}
.lesson-line a {{ display: block; padding: 12px 0; font-size: 15px; line-height: 20px; font-weight: 600;
    text-decoration: none; color: light-dark(#14181f, #edf0f4); }}
@media (max-width: 768px) {{
    .lesson-line {{ display: block; }}
    .st-key-lesson_first {{ display: flex; position: relative; }}
    .st-key-lesson_first [data-testid="stMarkdownContainer"] {{ margin-bottom: 0 !important; }}
    .st-key-lesson_first .lesson-line {{ position: absolute; top: -12px; right: 0; }}
    .st-key-lesson_first .stMarkdown p {{
        font-size: 18px; line-height: 24px; font-weight: 650; margin: 8px 0 0 !important; }}
    {here} [data-testid="stMain"] h1 {{ font-size: 15px !important; line-height: 20px !important;
        padding: 12px 0 0 !important; font-weight: 400; color: light-dark(#525c6a, #a9b3c1); }}
    {here} .st-key-view_notice:has(.fp8-hidden) {{ display: none; }}
    {here} {column} {{ flex-direction: column; overflow-y: auto; }}
    {here} {sidebar} {{
        position: static; order: 1; width: 100% !important; min-width: 100% !important; max-width: 100%;
        height: auto !important; flex: none; }}
    {here} {content} {{ position: static; width: 100%; height: auto; overflow: visible;
        padding: 0 16px !important; }}
    {here} [data-testid="stSidebarUserContent"] {{ padding: 24px 0 0 !important; }}
    {here} {sidebar} ~ div {{ position: static; width: 100%; height: auto; flex: none; }}
    {here} [data-testid="stHeader"] {{ display: none; }}
    {here} [data-testid="stMain"] {{ position: static; height: auto; overflow: visible; }}
    {here} {main} {{ padding: 12px 16px 24px !important; }}
}}
</style>"""


def progress(place: Place) -> str:
    """HTML of where a step is in its chapter: in words, and a stroke for each step."""
    steps = len(place.chapter.steps)
    strokes = "".join(f"<i{' class=done' * (number < place.number)}></i>" for number in range(steps))
    title, _, step = place.words.partition(" · ")
    return (
        f'<div class="lesson-steps"><p><b>{escape(title)}</b> · {escape(step)}</p>'
        f'<div aria-hidden="true">{strokes}</div></div>'
    )


def link_to_step(words: str) -> str:
    """HTML of the link above the page on a telephone: it leads down to the step."""
    return f'<p class="lesson-line"><a href="#step">{escape(words)} ↓</a></p>'


def link_to_picture() -> str:
    """HTML of the line below the step on a telephone: it leads up to the picture."""
    return '<p class="lesson-line"><a href="#picture">↑ To the picture</a></p>'


def led_to(key: str, is_answered: bool) -> str:
    """HTML that leads the keyboard to the title of a new step, or to what an answer just revealed.

    It runs when one of the arguments is another one. Without it, the panel stays scrolled to where the button
    of the last step was, and the focus is lost with a button that is gone.
    """
    target = '[data-testid="stAlert"]' if is_answered else "h3"
    scroll = "" if is_answered else _TO_THE_TOP
    return f"""<script>/* {key} */
(() => {{
    {scroll}
    window.lessonLeads ||= document.addEventListener('click', (event) => {{
        const link = event.target.closest('.lesson-line a');
        if (!link) return;
        event.preventDefault();
        const target = link.hash === '#step' ? '.st-key-lesson_panel' : '[data-testid="stMain"]';
        document.querySelector(target).scrollIntoView();
    }}) || true;
    const seek = (tries) => {{
        const target = document.querySelector('.st-key-lesson_panel {target}');
        if (!target) return tries && setTimeout(() => seek(tries - 1), 100);
        target.tabIndex = -1;
        target.focus({{ preventScroll: {str(not is_answered).lower()} }});
    }};
    seek(20);
}})();
</script>"""


_TO_THE_TOP = """["stSidebarContent", "stAppViewContainer", "stMain"].forEach(
        name => document.querySelector(`[data-testid=${name}]`)?.scrollTo(0, 0));"""


PAPER = """<style>
.st-key-paper hr { margin: 0.5rem 0; }
.st-key-paper [class*="st-key-paper_step"] { break-inside: avoid; }
.st-key-paper ul { list-style: none; padding-left: 0.25rem; }
.answer_line { border-bottom: 1px solid currentColor; height: 2.2rem; }
@page { margin: 16mm; }
@media print {
    .st-key-paper { zoom: 0.85; }
    html, body, #root, .stApp, .stApp * { color: black !important; background: transparent !important; }
    [data-testid="stSidebar"], [data-testid="stHeader"], [data-testid="stToolbar"],
    [data-testid="stDecoration"], [data-testid="stStatusWidget"], button,
    .st-key-paper_controls, [class*="st-key-frame_"] { display: none !important; }
    html, body, #root, .stApp, [data-testid="stAppViewContainer"], [data-testid="stAppViewContainer"] > div,
    [data-testid="stMain"], [data-testid="stMainBlockContainer"] {
        position: static !important; display: block !important; overflow: visible !important;
        height: auto !important; width: auto !important; max-width: none !important; zoom: 1 !important;
        padding: 0 !important; margin: 0 !important; }
}
</style>"""
"""A browser prints what it sees of a box that scrolls: on paper nothing scrolls."""
