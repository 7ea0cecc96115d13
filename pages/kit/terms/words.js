// Explains a word of the glossary where the page uses it first: a dotted line below it, and its sentence under a
// mouse, after a tap, or by keys from a button at the page's end. Streamlit owns the page's elements, so none of
// them changes: a word in HTML becomes a highlight of the browser's, and a picture gets a path with the lines below
// its words.
// `TERMS`, [names, sentence] each, stands before this script.
/** A page, and the step of a lesson beside it. Each has a word's first use. */
const PLACES = '[data-testid="stMain"], .st-key-lesson_panel';
const SKIPPED = "a:not(.fp8-term), h1, .st-key-lesson_panel :is(h3, button, label), code, pre, textarea, .katex, .handle, .st-key-view_code summary, [data-testid=stIconMaterial]";
const PRESSED = "a, button, label, summary, [role=radio], [role=slider], [role=option], [role=button]";
const MOVED = { subtree: true, childList: true, characterData: true, attributeFilter: ["x", "y", "transform"] };
const REST_MS = 250, HOVER_MS = 150, FINGER = 10, BELOW = 1.5, LINE = "fp8-line";

/** Each name in small letters, with its term. A plural is known as well. */
const known = new Map(TERMS.flatMap((term) => term[0].map((name) => [`${name}s`.toLowerCase(), term])));
TERMS.forEach((term) => term[0].forEach((name) => known.set(name.toLowerCase(), term)));
const longestFirst = [...known.keys()].sort((one, other) => other.length - one.length);
const WORDS = new RegExp(`(?<![\\w\\\\-])(?:${longestFirst.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})(?![\\w-])`, "gi");

const sheet = new CSSStyleSheet();
sheet.replaceSync(`@media screen { ::highlight(fp8-words) {
    text-decoration: underline dotted 1px light-dark(#78828f, #76818f); text-underline-offset: 0.2em } }`);
const seenRoots = new WeakSet();
let marks = [], rest;

/** Once the page is at rest, its words are marked anew. A line below what moves would stay behind. */
const observer = new MutationObserver((changes) => {
    const pictures = changes.map(({ target }) => (target instanceof Text ? target.parentElement : target)?.closest?.("svg:not(svg svg)"));
    new Set(pictures).forEach((picture) => picture?.querySelector(`:scope > .${LINE}`)?.remove());
    observer.takeRecords();
    clearTimeout(rest);
    rest = setTimeout(mark, REST_MS);
});

function watch(root) {
    if (seenRoots.has(root)) return;
    seenRoots.add(root);
    root.adoptedStyleSheets.push(sheet);
    observer.observe(root, MOVED);
}

/** The texts in an element, also those of stages, in the order in which they are read. */
function* texts(element) {
    const kept = (node) => node instanceof Element && node.matches(SKIPPED) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, kept);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (node instanceof Text) yield node;
        else if (node.shadowRoot) {
            watch(node.shadowRoot);
            yield* texts(node.shadowRoot);
        }
    }
}

function mark() {
    marks = [];
    for (const place of document.querySelectorAll(PLACES)) markIn(place, new Set());
    CSS.highlights.set("fp8-words", new Highlight(...marks.filter((one) => !one.picture).map((one) => one.range)));
    key.hidden = !marks.length;
    Map.groupBy(marks, (one) => one.picture).forEach((words, picture) => picture && underline(picture, words));
    observer.takeRecords();
}

function markIn(place, seen) {
    for (const text of texts(place)) {
        for (const word of text.data.matchAll(WORDS)) {
            const term = known.get(word[0].toLowerCase()), element = text.parentElement;
            const isAnotherWord = word[0].length === 1 && word[0] !== term[0][0]; // k is no K
            if (seen.has(term) || isAnotherWord) continue;
            // A live range: where its text changes, it is empty at once, and the line goes.
            const range = new Range();
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            const picture = element.closest("svg:not(svg svg)"), isUpright = picture && element.getScreenCTM().b;
            if (isUpright || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || boxOf(range).width < 3) continue;
            seen.add(term);
            if (!element.closest(".fp8-term")) marks.push({ term, range, picture });
        }
    }
}

function boxOf({ startContainer, startOffset, endOffset }) {
    const range = new Range();
    if (endOffset > startContainer.length) return range.getBoundingClientRect();
    range.setStart(startContainer, startOffset);
    range.setEnd(startContainer, endOffset);
    return range.getBoundingClientRect();
}

function underline(picture, words) {
    const line = picture.querySelector(`:scope > .${LINE}`) ?? picture.appendChild(document.createElementNS(picture.namespaceURI, "path"));
    const inverse = picture.getScreenCTM().inverse();
    const at = (x, y) => { const point = new DOMPoint(x, y).matrixTransform(inverse); return `${point.x} ${point.y}`; };
    const ways = words.map(({ range }) => boxOf(range)).map(({ left, right, bottom }) => `M${at(left, bottom - BELOW)}L${at(right, bottom - BELOW)}`);
    const look = { class: LINE, d: ways.join(""), fill: "none", stroke: "#78828f", "stroke-dasharray": "1.5 1.5", "pointer-events": "none" };
    for (const [name, value] of Object.entries(look)) line.setAttribute(name, value);
}

/** The word at a point of the window, and its box; what lies over a word hides it. */
function wordAt(x, y, reach = 1) {
    for (const { term, range } of marks) {
        const box = boxOf(range);
        if (x < box.left - reach || x > box.right + reach || y < box.top - reach || y > box.bottom + reach) continue;
        const element = range.startContainer.parentElement;
        const host = element.getRootNode().host ?? element.closest("svg:not(svg svg)") ?? element;
        const over = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
        if (over && (host.contains(over) || over.contains(host))) return { term, box };
    }
}

const tip = Object.assign(document.createElement("div"), { className: "fp8-tip", role: "tooltip", popover: "manual" });
const OFFER = "Explain the words on this page", key = document.createElement("button");
Object.assign(key, { className: "fp8-key", textContent: OFFER, type: "button" });
let hover, tipBox, at = null;

/** What stands outside of the app has its light or dark colors, too. */
function follow(element) {
    element.style.colorScheme = getComputedStyle(document.querySelector('[data-testid="stApp"]')).colorScheme;
}

function show(word) {
    tipBox = word?.box;
    if (!word) return tip.isConnected && tip.hidePopover();
    document.body.append(tip);
    tip.textContent = word.term[1];
    follow(tip);
    tip.showPopover();
    const { width, height } = tip.getBoundingClientRect(), { left, right, top, bottom } = word.box, { clientWidth, clientHeight } = document.documentElement;
    tip.style.left = `${Math.max(8, Math.min((left + right - width) / 2, clientWidth - width - 8))}px`;
    tip.style.top = `${bottom + height + 12 > clientHeight ? top - height - 6 : bottom + 6}px`;
}

const isOn = ({ left, right, top, bottom }, x, y) => x > left - 3 && x < right + 3 && y > top - 3 && y < bottom + 3;
addEventListener("pointermove", ({ clientX: x, clientY: y, movementX, movementY, pointerType, buttons }) => {
    // A mouse at rest is told of what scrolls below it: it must not hide what the keyboard asks for.
    if (pointerType !== "mouse" || !(movementX || movementY)) return;
    clearTimeout(hover);
    if (tipBox && (buttons || !isOn(tipBox, x, y))) show();
    if (!buttons && !tipBox) hover = setTimeout(() => show(wordAt(x, y)), HOVER_MS);
}, { passive: true });
addEventListener("pointerdown", () => show(), true);
addEventListener("scroll", () => show(), true);
addEventListener("keydown", (press) => press.key === "Escape" && show());
key.onkeydown = (press) => {
    const step = { Enter: 1, " ": 1, ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[press.key];
    if (!step || !marks.length) return;
    press.preventDefault();
    clearTimeout(hover);
    at = ((at === null ? Math.min(step, 0) : at + step) + marks.length) % marks.length;
    const { term, range } = marks[at];
    range.startContainer.parentElement.scrollIntoView({ block: "nearest" });
    // What scrolls hides the sentence: it is shown once that is over.
    requestAnimationFrame(() => requestAnimationFrame(() => {
        show({ term, box: boxOf(range) });
        key.textContent = `${range}, ${at + 1} of ${marks.length}`;
        key.ariaDescription = term[1];
    }));
};
key.onfocus = () => follow(key);
key.onblur = () => {
    at = null;
    key.textContent = OFFER;
    key.ariaDescription = null;
    show();
};
addEventListener("click", (tap) => {
    const isPressed = tap.composedPath().some((one) => one instanceof Element && one.matches(PRESSED));
    if (tap.pointerType === "touch" && !isPressed) show(wordAt(tap.clientX, tap.clientY, FINGER));
}, true);

if ("highlights" in CSS && Map.groupBy) {
    document.body.append(key);
    watch(document);
    mark();
}
