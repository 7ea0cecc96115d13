// Lists the page's charts and saves each as it is on the screen: as SVG, or as PNG with twice the pixels.
// All of it happens in the browser. A picture's fonts come from where the page has them.
const PLACES = '[data-testid="stMain"] [data-testid="stVegaLiteChart"]';
const LONGEST = 60;
const SHARPNESS = 2;

const ground = () => getComputedStyle(document.querySelector('[data-testid="stApp"]')).backgroundColor;

function told(place, number) {
    const words = (place.getAttribute("aria-label") || `Picture ${number}`).trim();
    return words.length > LONGEST ? words.slice(0, words.lastIndexOf(" ", LONGEST)) + " …" : words;
}

function fileName(words) {
    return words.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 50) || "picture";
}

function size(svg) {
    const [, , width, height] = svg.getAttribute("viewBox").split(/[ ,]+/).map(Number);
    return { width, height };
}

/** A copy of the drawing with its ground, and with the sizes of text that the page's style gives it. */
function drawing(svg, scale = 1) {
    const copy = svg.cloneNode(true);
    const { width, height } = size(svg);
    const shown = [...svg.querySelectorAll("text")];
    copy.querySelectorAll("text").forEach((text, at) => {
        const seen = getComputedStyle(shown[at]);
        text.setAttribute("font-size", seen.fontSize);
        text.setAttribute("font-family", seen.fontFamily);
    });
    copy.setAttribute("width", width * scale);
    copy.setAttribute("height", height * scale);
    copy.removeAttribute("style");
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ width: "100%", height: "100%", fill: ground() })) {
        rect.setAttribute(name, value);
    }
    copy.prepend(rect);
    return copy;
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

function text(copy) {
    return new XMLSerializer().serializeToString(copy);
}

function save(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function painted(width, height, source) {
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width);
    canvas.height = Math.round(height);
    const paper = canvas.getContext("2d");
    paper.fillStyle = ground();
    paper.fillRect(0, 0, canvas.width, canvas.height);
    paper.drawImage(source, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
}

async function png(place) {
    const canvas = place.querySelector("canvas");
    if (canvas) return painted(canvas.clientWidth * SHARPNESS, canvas.clientHeight * SHARPNESS, canvas);
    const svg = place.querySelector("svg.marks");
    const { width, height } = size(svg);
    const copy = drawing(svg, SHARPNESS);
    const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
    style.textContent = await fonts(copy).catch(() => "");
    copy.prepend(style);
    const picture = new Image();
    picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text(copy));
    await picture.decode();
    return painted(width * SHARPNESS, height * SHARPNESS, picture);
}

function row(place, number) {
    const words = told(place, number);
    const item = document.createElement("li");
    const label = document.createElement("span");
    label.textContent = words;
    item.append(label);
    const svg = place.querySelector("svg.marks");
    const ways = { PNG: async () => save(await png(place), `${fileName(words)}.png`) };
    if (svg) {
        ways.SVG = async () => save(new Blob([text(drawing(svg))], { type: "image/svg+xml" }), `${fileName(words)}.svg`);
    }
    for (const [kind, way] of Object.entries(ways).reverse()) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = kind;
        button.setAttribute("aria-label", `Save as ${kind}: ${words}`);
        button.onclick = way;
        item.append(button);
    }
    return item;
}

export default function ({ parentElement }) {
    const places = [...document.querySelectorAll(PLACES)].filter((place) => place.querySelector("svg.marks, canvas"));
    const list = parentElement.querySelector("ul");
    list.replaceChildren(...places.map((place, at) => row(place, at + 1)));
    parentElement.querySelector("p").hidden = places.length > 0;
}
