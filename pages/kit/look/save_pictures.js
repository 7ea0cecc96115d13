// Lists the page's pictures and saves each as it is on the screen: as SVG, as PNG with twice the pixels, and
// the page's own picture as a card, under the page's finding. All of it happens in the browser. A picture's
// fonts come from where the page has them.
const STAGE = ".st-key-view_stage";
const CHART = '[data-testid="stMain"] [data-testid="stVegaLiteChart"]';
/** Drawings of a chart and of a stage, which has them in the shadow root of its component. */
const DRAWN = "svg.marks, canvas, img, .stage svg";
const LONGEST = 60;
const SHARPNESS = 2;
/** What CSS gives to letters, and to all that a stage draws. */
const LETTERS = ["font-size", "font-family", "font-weight", "paint-order", "stroke-linejoin"];
const STYLE = [...LETTERS, "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap",
    "opacity", "display", "text-anchor"];
const CARD = { width: 1200, height: 630, margin: 56, above: 36, gap: 16 };
/** Size and line of a finding, in pixels; of one that needs more lines than two, and of the words below. */
const HEADLINE = [52, 60], SMALLER = [42, 50], FOOT = 24;
const MOST_LINES = 2, BOLD = 650;

const look = (chosen) => getComputedStyle(document.querySelector(chosen));
const ground = () => look('[data-testid="stApp"]').backgroundColor;
const question = () => document.querySelector('[data-testid="stMain"] h1')?.innerText ?? "Picture";
/** The page's Notice, without what asks for a button that a picture lacks. */
function finding() {
    const words = document.querySelector(".st-key-view_notice p")?.innerText ?? "";
    return words.replace(/\s*Press .*?\.(?=\s|$)/, "").trim() || question();
}


function set(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
}

function element(tag, attributes, text = "") {
    const made = set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
    made.textContent = text;
    return made;
}

/** An empty picture on the page's ground, which reaches beyond a size that ends within a pixel. */
function sheet(width, height) {
    const svg = element("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
    svg.append(element("rect", { x: -1, y: -1, width: width + 2, height: height + 2, fill: ground() }));
    return svg;
}

const canvas = (width, height) => Object.assign(document.createElement("canvas"), { width, height });

function shortened(words) {
    return words.length > LONGEST ? words.slice(0, words.lastIndexOf(" ", LONGEST)) : words;
}

function fileName(words) {
    return shortened(words).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "picture";
}

/** What is drawn in a place, from back to front; buttons are no part of a picture. */
function drawings(place) {
    const roots = [place, ...[...place.querySelectorAll("*")].flatMap((one) => one.shadowRoot ?? [])];
    return roots.flatMap((root) => [...root.querySelectorAll(DRAWN)])
        .filter((one) => !one.closest("button") && one.getBoundingClientRect().width);
}

/** A copy that looks the same without the page's style. */
function copied(drawn) {
    if (drawn instanceof HTMLElement) {
        const pixels = canvas(drawn.naturalWidth ?? drawn.width, drawn.naturalHeight ?? drawn.height);
        pixels.getContext("2d").drawImage(drawn, 0, 0);
        return element("image", { href: pixels.toDataURL() });
    }
    const copy = drawn.cloneNode(true);
    const [chosen, names] = drawn.matches(".marks") ? ["text", LETTERS] : ["*", STYLE];
    const seen = [...drawn.querySelectorAll(chosen)].map((one) => getComputedStyle(one));
    copy.querySelectorAll(chosen).forEach((one, at) => {
        set(one, Object.fromEntries(names.map((name) => [name, seen[at].getPropertyValue(name)])));
    });
    copy.removeAttribute("style");
    if (!copy.hasAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${drawn.clientWidth} ${drawn.clientHeight}`);
    copy.querySelector(":scope > .fp8-line")?.remove(); // the line below words that are explained
    return copy;
}

/** All that is drawn in a place as one SVG on the page's ground. */
function picture(place) {
    const drawn = drawings(place), boxes = drawn.map((one) => one.getBoundingClientRect());
    const whole = boxes.filter((_, at) => !drawn[at].closest(".handle"));
    const left = Math.min(...whole.map((box) => box.left)), top = Math.min(...whole.map((box) => box.top));
    const width = Math.max(...whole.map((box) => box.right)) - left;
    const height = Math.max(...whole.map((box) => box.bottom)) - top;
    const svg = sheet(width, height);
    drawn.forEach((one, at) => {
        const box = boxes[at], place = { x: box.left - left, y: box.top - top, width: box.width, height: box.height };
        svg.append(set(copied(one), { ...place, overflow: "visible" }));
    });
    return svg;
}

/** Words in lines of about one length, no longer than `width`. */
function lines(words, pen, width) {
    const fill = (limit) => words.split(/\s+/).reduce((all, word) => {
        const longer = [...all.slice(0, -1), `${all.at(-1)} ${word}`.trim()];
        return pen.measureText(longer.at(-1)).width > limit ? [...all, word] : longer;
    }, [""]);
    let limit = width;
    while (fill(limit - FOOT).length === fill(width).length) limit -= FOOT;
    return fill(limit);
}

/** The page's picture under its finding, with its name and its address. */
function card(place, address) {
    const { width, height, margin, above, gap } = CARD, room = width - 2 * margin;
    const app = look('[data-testid="stApp"]'), family = look('[data-testid="stMain"] h1').fontFamily;
    const svg = sheet(width, height), pen = canvas(1, 1).getContext("2d");
    const write = (words, x, y, size, attributes) => svg.append(
        element("text", { x, y, "font-size": size, "font-family": family, fill: app.color, ...attributes }, words));

    const inLines = ([size]) => {
        pen.font = `${BOLD} ${size}px ${family}`;
        return lines(finding(), pen, room);
    };
    const large = inLines(HEADLINE);
    const [headline, [size, line]] = large.length > MOST_LINES ? [inLines(SMALLER), SMALLER] : [large, HEADLINE];
    headline.forEach((words, at) => write(words, margin, above + (at + 0.75) * line, size, { "font-weight": BOLD }));

    const top = above + headline.length * line + gap, foot = height - above + FOOT / 4;
    const below = { x: margin, y: top, width: room, height: foot - FOOT - gap - top };
    svg.append(set(picture(place), { ...below, preserveAspectRatio: "xMinYMid meet" }));

    const name = document.querySelector('meta[property="og:site_name"]')?.content ?? "";
    const soft = { fill: look('[data-testid="stMain"] h1').color, opacity: 0.7 };
    pen.font = `${BOLD} ${FOOT}px ${family}`;
    const after = margin + pen.measureText(`${name}  `).width;
    pen.font = `${FOOT}px ${family}`;
    const left = width - margin - after, asked = finding() === question() ? "" : question();
    write(name, margin, foot, FOOT, { "font-weight": BOLD });
    if (pen.measureText(`${asked}  ${address}`).width < left) write(asked, after, foot, FOOT, soft);
    const small = Math.min(FOOT, (FOOT * left) / pen.measureText(address).width);
    write(address, width - margin, foot, small, { ...soft, "text-anchor": "end" });
    return svg;
}

/** The page's own fonts that the drawing names, as a style: a picture in a picture sees no font of the page. */
async function fonts(copy) {
    const named = [...copy.querySelectorAll("text")].map((text) => text.getAttribute("font-family")).join();
    const rules = [];
    for (const sheet of document.styleSheets) {
        for (const rule of sheet.cssRules) {
            const family = rule.style?.getPropertyValue("font-family").replace(/["']/g, "");
            const upright = rule.style?.getPropertyValue("font-style") !== "italic";
            if (rule instanceof CSSFontFaceRule && upright && named.includes(family)) rules.push(rule);
        }
    }
    return (await Promise.all(rules.map(embedded))).join("\n");
}

async function embedded(rule) {
    const source = rule.style.getPropertyValue("src");
    const address = source.match(/url\("?([^")]+)"?\)/)?.[1];
    if (!address || address.startsWith("data:")) return rule.cssText;
    const loaded = performance.getEntriesByType("resource").map((entry) => entry.name);
    const known = loaded.find((name) => name.endsWith("/" + address.split("/").pop()));
    if (!known) return ""; // The page has not needed it: no letter is drawn with it.
    const answer = await fetch(known, { cache: "force-cache" });
    const letters = await new Promise((done) => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result);
        answer.blob().then((blob) => reader.readAsDataURL(blob));
    });
    return rule.cssText.replace(/url\([^)]*\)/, `url("${letters}")`);
}

function text(svg) {
    return new XMLSerializer().serializeToString(svg);
}

function save(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function png(svg, sharpness) {
    const [width, height] = ["width", "height"].map((name) => Math.round(svg.getAttribute(name) * sharpness));
    set(svg, { width, height });
    svg.prepend(element("style", {}, await fonts(svg).catch(() => "")));
    const image = new Image();
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text(svg));
    await image.decode();
    const paper = canvas(width, height);
    paper.getContext("2d").drawImage(image, 0, 0);
    return new Promise((done) => paper.toBlob(done, "image/png"));
}

function row(place, number, address) {
    const isPages = place.matches(STAGE);
    const told = place.matches(CHART) ? place : place.querySelector(CHART) ?? drawings(place)[0];
    const words = (told.getAttribute("aria-label") || `Picture ${number}`).trim();
    const short = shortened(words);
    const name = () => fileName(isPages ? finding() : words);
    const ways = {
        SVG: async () => save(new Blob([text(picture(place))], { type: "image/svg+xml" }), `${name()}.svg`),
        PNG: async () => save(await png(picture(place), SHARPNESS), `${name()}.png`),
    };
    if (isPages) ways.Card = async () => save(await png(card(place, address()), 1), `${name()}-card.png`);
    const item = document.createElement("li");
    const label = document.createElement("span");
    label.textContent = short === words ? words : `${short} …`;
    item.append(label);
    for (const [kind, way] of Object.entries(ways).reverse()) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = kind;
        button.setAttribute("aria-label", `Save as ${kind}: ${label.textContent}`);
        button.onclick = way;
        item.append(button);
    }
    return item;
}

export default function ({ parentElement }) {
    const host = parentElement.getRootNode().host ?? parentElement;
    /** The link that stands in the popover, without its scheme. */
    const address = () => {
        const link = host.closest('[data-testid="stPopoverBody"]')?.querySelector("code")?.innerText ?? location.href;
        return link.trim().replace(/^https?:\/\//, "");
    };
    const places = [...document.querySelectorAll(`${STAGE}, ${CHART}`)]
        .filter((place) => !place.parentElement.closest(STAGE) && drawings(place).length);
    const list = parentElement.querySelector("ul");
    list.replaceChildren(...places.map((place, at) => row(place, at + 1, address)));
    parentElement.querySelector("p").hidden = places.length > 0;
}
