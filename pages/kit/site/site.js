// Draws the pictures of `pictures.js` when they come into sight: charts with Vega, as Streamlit sets them up, and
// stages with the app's own modules. What a page answers to its hand is there for every position.
const DARK = matchMedia("(prefers-color-scheme: dark)");
const FONT = '"Source Sans", sans-serif';
/** Marks from which on Streamlit draws on a canvas. */
const MANY = 2000;
const BOTTOM = 20, TINY = 1e-9;

/** What Streamlit's theme gives to a chart. */
function theme() {
  const ink = INKS[DARK.matches ? "dark" : "light"];
  const words = { labelFontWeight: 400, labelFontStyle: "normal", titleFontWeight: 400, titleFontStyle: "normal",
    labelColor: ink.soft, titleColor: ink.soft };
  return {
    font: FONT, background: ink.page, fieldTitle: "verbal", autosize: { type: "fit", contains: "padding" },
    title: { align: "left", anchor: "start", color: ink.text, titleFontStyle: "normal", fontWeight: 600, fontSize: 16, orient: "top", offset: 26 },
    header: { ...words, titleFontSize: 16, labelFontSize: 12 },
    axis: { ...words, labelFontSize: 12, titleFontSize: 14, ticks: false, gridColor: ink.hair, domain: false, domainWidth: 1,
      domainColor: ink.hair, labelFlush: true, labelFlushOffset: 1, labelBound: false, labelLimit: 100, titlePadding: 16,
      labelPadding: 16, labelSeparation: 4, labelOverlap: true },
    legend: { ...words, labelFontSize: 14, titleFontSize: 14, titlePadding: 8, labelPadding: 16, columnPadding: 8, rowPadding: 4,
      padding: 8, symbolStrokeWidth: 4 },
    range: { category: ink.series, ramp: ink.ramp, heatmap: ink.ramp },
    view: { columns: 1, strokeWidth: 0, stroke: "transparent", continuousHeight: 350, continuousWidth: 400 },
    concat: { columns: 1 }, facet: { columns: 1 }, mark: { tooltip: { content: "encoding" }, color: ink.series[0] },
    bar: { binSpacing: 4, discreteBandSize: { band: 0.85 } },
    axisDiscrete: { grid: false }, axisXPoint: { grid: false }, axisTemporal: { grid: false }, axisXBand: { grid: false },
  };
}

const isPlain = (one) => one !== null && typeof one === "object" && !Array.isArray(one);

function merged(under, over) {
  const both = { ...under };
  for (const [key, value] of Object.entries(over ?? {})) {
    both[key] = isPlain(value) && isPlain(under[key]) ? merged(under[key], value) : value;
  }
  return both;
}

/** The views of a picture in the reader's theme. */
function views(picture) {
  if (!DARK.matches) return picture.views;
  const copy = structuredClone(picture.views);
  for (const [path, value] of picture.dark) {
    const at = path.slice(0, -1).reduce((node, key) => node[key], copy);
    at[path.at(-1)] = value;
  }
  return copy;
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const rows = (columns) => {
  const [names, values] = [Object.keys(columns), Object.values(columns)];
  return (values[0] ?? []).map((_, row) => Object.fromEntries(names.map((name, at) => [name, values[at][row]])));
};

async function chart(place, part) {
  const width = place.clientWidth, spec = structuredClone(part.spec);
  const datasets = Object.fromEntries(Object.entries(part.columns).map(([name, columns]) => [name, rows(columns)]));
  spec.datasets = { ...spec.datasets, ...datasets };
  spec.description = part.alt;
  spec.config = merged(theme(), spec.config);
  spec.width = width;
  for (const view of spec.vconcat ?? []) if (!view.hconcat && !view.vconcat) view.width = width;
  spec.padding = { bottom: BOTTOM, ...spec.padding };
  const renderer = Math.max(...Object.values(datasets).map((all) => all.length)) > MANY ? "canvas" : "svg";
  const tooltip = { theme: DARK.matches ? "dark" : "light" };
  const { view } = await vegaEmbed(place, spec, { mode: "vega-lite", actions: false, defaultStyle: false, renderer, tooltip });
  await view.resize().runAsync();
}

/** A stage as Streamlit mounts it: `update` draws it anew. */
function stage(place, part, send) {
  const { css, draw } = MODULES[part.module], root = place.attachShadow({ mode: "open" });
  // A click on another number, or on an element of D, would ask Python.
  root.innerHTML = `<style>${css} .hit, .stage > svg { pointer-events: none; }</style><div class="stage"></div>`;
  const update = (data) => draw({ parentElement: root, data, setStateValue: (_, move) => send(move) });
  return { update, end: update(part.data) };
}

/** The element for a part. The app's style and its modules find it, and the container of a slider, by class. */
function container(picture, { key, slid, share }) {
  const name = `st-key-${slid}`;
  const found = [...picture.children].find((one) => one.className === name);
  const outer = slid ? found ?? picture.appendChild(element("div", { class: name })) : picture;
  const inner = outer.appendChild(element("div", { class: `st-key-${key}` }));
  (slid ? outer : inner).style.flexBasis = `${100 * share}%`;
  return inner;
}

function shown(section, picture) {
  const place = section.querySelector(".picture"), finding = section.querySelector(".finding");
  let at = picture.first, moved = null, stages = [], drawn = 0;
  const answer = (position) => {
    const { positions = [], findings, finding: opening } = picture.views[at];
    moved = position ?? moved;
    const isThere = (one) => moved !== null && (String(one) === moved || Math.abs(one - moved) < TINY);
    finding.innerHTML = findings?.[positions.findIndex(isThere)] ?? opening;
  };
  const send = (move) => {
    const position = move.step ?? move.turn;
    if (position === undefined) return;
    for (const { data } of picture.views.flatMap(({ parts }) => parts)) {
      if (data?.at) Object.assign(data, { at: { ...data.at, ...move }, heard: move.number });
    }
    answer(picture.views[at].positions?.[position]);
  };
  place.addEventListener("input", ({ target }) => answer(target.value));

  async function draw() {
    const now = ++drawn, input = () => place.querySelector(".vega-bind input");
    place.replaceChildren();
    stages.forEach(({ end }) => end());
    stages = [];
    for (const part of views(picture)[at].parts) {
      if (part.card) {
        place.replaceChildren(element("img", { src: `${picture.page}.png`, alt: finding.innerText, width: 1200, height: 630 }));
        return;
      }
      const inner = container(place, part);
      if (part.module) stages.push(stage(inner, part, send));
      else await chart(inner, part);
      if (now !== drawn) return;
    }
    if (moved !== null && input()?.type === "range") {
      input().value = moved;
      input().dispatchEvent(new Event("input", { bubbles: true }));
    }
  }

  function switches() {
    const chosen = () => picture.switches.map(({ options }, which) => Math.floor(at / stride(which)) % options.length);
    const stride = (which) => picture.switches.slice(which + 1).reduce((all, { options }) => all * options.length, 1);
    const groups = picture.switches.map(({ label, options }, which) => {
      const buttons = options.map((name, option) => {
        const button = element("button", { type: "button", role: "radio" }, name);
        button.onclick = () => {
          at += (option - chosen()[which]) * stride(which);
          show();
          const parts = views(picture)[at].parts.filter((part) => part.module);
          parts.forEach((part, index) => stages[index].update(part.data));
          answer();
        };
        return button;
      });
      return element("div", { role: "radiogroup", "aria-label": label }, ...buttons);
    });
    const show = () => groups.forEach((group, which) =>
      [...group.children].forEach((button, option) => button.setAttribute("aria-checked", option === chosen()[which])));
    show();
    if (groups.length) place.before(element("div", { class: "switches" }, ...groups));
  }

  switches();
  let width = 0;
  const fit = () => {
    // A page that a browser hides has no width.
    if (!place.clientWidth || place.clientWidth === width) return;
    width = place.clientWidth;
    draw();
  };
  DARK.addEventListener("change", () => width && draw());
  new IntersectionObserver(([{ isIntersecting }], seen) => {
    if (!isIntersecting) return;
    seen.disconnect();
    new ResizeObserver(fit).observe(place);
  }, { rootMargin: "600px" }).observe(section);
}

const sections = [...document.querySelectorAll("section")];
document.fonts.load(`16px ${FONT}`).finally(() => PICTURES.forEach((picture, at) => shown(sections[at], picture)));
