"""The look of the lesson's panel, beside a page or above it on a telephone, and of a chapter on paper.

Streamlit lays the sidebar over a page that is narrower than 768 pixels. There a step is read first and its
page second, so both stand in one column that scrolls as a whole.
"""

_LARGE = 1.3
"""For a projector, the panel's smallest text, of 14 pixels, has 18."""


def style(is_projected: bool) -> str:
    """HTML that gives the sidebar the panel's look while a panel is in it."""
    zoom, wide = (_LARGE, 420) if is_projected else (1, 360)
    here, column = ".stApp:has(.st-key-lesson_panel)", '[data-testid="stAppViewContainer"]'
    sidebar, content = '[data-testid="stSidebar"]', '[data-testid="stSidebarContent"]'
    return f"""<style>
{here} {sidebar} {{
    min-width: {wide}px; max-width: {wide}px; transform: none !important; visibility: visible;
    transition: none; }}
{here} :is([data-testid="stSidebarHeader"], [data-testid="stExpandSidebarButton"],
    div:has(> [data-testid="stSidebarResizeHandle"])) {{ display: none; }}
{here} [data-testid="stSidebarUserContent"] {{ padding: 1.25rem 0.25rem 3rem; zoom: {zoom}; }}
.st-key-lesson_panel {{ border-bottom: 1px solid; padding-bottom: 1rem; gap: 0.75rem; }}
.st-key-lesson_panel :is(h3, [data-testid="stAlert"]):focus {{ outline: none; }}
.st-key-lesson_panel [data-testid="stForm"] {{ padding: 0.75rem; }}
.st-key-lesson_panel button[data-testid="stBaseButton-primaryFormSubmit"] {{
    color: var(--st-background-color, Canvas); }}
.st-key-lesson_panel [data-testid="stWidgetLabel"] p {{ font-size: 1rem; }}
.st-key-lesson_panel [data-testid="stElementToolbar"] {{ display: none; }}
.st-key-lesson_down {{ display: none; }}
@media (max-width: 768px) {{
    .st-key-lesson_down {{ display: block; }}
    {here} {column} {{ flex-direction: column; overflow-y: auto; }}
    {here} {sidebar} {{
        position: static; width: 100% !important; min-width: 100%; max-width: 100%; height: auto !important;
        flex: none; }}
    {here} {content} {{ position: static; width: 100%; height: auto; overflow: visible; }}
    {here} {sidebar} ~ div {{ position: static; width: 100%; height: auto; flex: none; }}
    {here} [data-testid="stHeader"] {{ display: none; }}
    {here} [data-testid="stMain"] {{ position: static; height: auto; overflow: visible; }}
    {here} [data-testid="stMainBlockContainer"] {{ padding-top: 1.5rem; }}
}}
</style>"""


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
    window.lessonGoesDown ||= document.addEventListener('click', (event) => {{
        if (!event.target.closest('.st-key-lesson_down a')) return;
        event.preventDefault();
        const main = document.querySelector('[data-testid="stMain"]');
        (main.querySelector('[data-testid="stVegaLiteChart"]') ?? main).scrollIntoView();
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
