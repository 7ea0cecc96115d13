"""How a page is looked at."""

THEMES = ("light", "dark")
DRAW_MS = 60_000


def settled(page) -> None:
    """Wait until the page has drawn and no run is going on."""
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=DRAW_MS)
    page.wait_for_selector('[data-testid="stMain"] h1', timeout=DRAW_MS)


def listening(page) -> None:
    """Wait until the page has settled and its charts hear the pointer."""
    settled(page)
    page.wait_for_timeout(400)


UNREADABLE = """() => [...document.querySelectorAll('svg.marks')].flatMap(svg => {
    const inside = svg.getBoundingClientRect(), found = [];
    const seen = text => text.textContent.trim() && getComputedStyle(text).opacity !== '0';
    const words = [...svg.querySelectorAll('text')].filter(seen);
    const boxes = words.map(text => text.getBoundingClientRect());
    words.forEach((word, i) => {
        const box = boxes[i], said = word.textContent, size = parseFloat(getComputedStyle(word).fontSize);
        const outside = box.left < inside.left - 1 || box.right > inside.right + 1;
        if (outside || said.endsWith('…')) found.push(said + ' is cut');
        if (size < 11) found.push(said + ' has ' + size + ' px');
        boxes.slice(i + 1).forEach((other, j) => {
            const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
            const tall = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
            if (wide > 3 && tall > 4) found.push(said + ' over ' + words[i + 1 + j].textContent);
        });
    });
    return found;
})"""
"""Words of the page's charts that are cut off, smaller than 11 pixels, or over other words."""

TELEPHONE = 380
"""The width of a telephone's screen."""
