/**
 * Rows of numbers over a logarithmic axis, the windows of their format, and each row's growing sum.
 *
 * data: frames, float32[F, 4 · rows · k + 3 · windows] as base64: is lost, code, sum, exact sum of every number,
 * then top, smallest normal and zero edge of each window, as powers of two. There is a frame for each step of the
 * handle, or the one of `at`. `windows`: the first number of each and the one after its last. `sizes`: the numbers
 * before the pull, as powers of two. `top`, `tall`: the axis. `stops`: how many numbers of a row each step along K
 * has summed. `at`: {index, step, k} of the handle. A step is 1 / per of a power of two.
 */

import { floats, isStill, layer, path, pointer } from "./svg.js";
import { slider } from "./slider.js";
import { PLAY, player } from "./player.js";

const STEP_MS = 400;
const LARGE = 0.1;
/** Below this share of an earlier sum, a percentage says nothing. */
const NEAR_ZERO = 0.2;
/** Pixels for a number, below which it has no stem and no 0 of its own. */
const DENSE = 5;

/** How far a sum is off, in words, and whether it is much. `most`: the largest exact sum on the way there. */
export function off(sum, exact, most) {
  if (sum === 0) return ["0: all is lost", true];
  if (Math.abs(exact) < NEAR_ZERO * most) return ["exact is near 0", false];
  const ratio = sum / exact;
  if (ratio < 0) return ["the sign is wrong", true];
  const share = Math.abs(ratio - 1);
  const percent = 100 * share;
  if (percent < 0.05) return ["within 0.1%", false];
  return [`${percent < 9.95 ? percent.toFixed(1) : Math.round(percent)}% too ${ratio < 1 ? "small" : "large"}`, share >= LARGE];
}

/** The numbers of one frame. */
function frame({ rows, k, windows }, numbers, step) {
  const count = rows * k, width = 4 * count + 3 * windows.length;
  const start = numbers.length > width ? step * width : 0;
  const part = (at, size) => numbers.subarray(start + at, start + at + size);
  return {
    lost: part(0, count), codes: part(count, count), sums: part(2 * count, count),
    exact: part(3 * count, count), edges: part(4 * count, 3 * windows.length),
  };
}

/** Where everything stands in a picture of this size. */
function places(width, height, { rows, k: many, top: highest, tall }) {
  const lowest = highest - tall;
  const isNarrow = width < 640;
  const left = isNarrow ? 34 : 52;
  const right = width - (isNarrow ? 4 : Math.min(236, width * 0.26));
  const slot = (right - left) / (rows * many + 0.9 * rows - 0.1);
  const across = (row, k) => left + slot * (0.8 + row * (many + 0.9) + k);
  const top = 26, base = Math.round(height * 0.62);
  const y = (power) => top + ((highest - Math.max(lowest, Math.min(highest + 0.6, power))) / tall) * (base - top);
  return {
    isNarrow, left, right, slot, top, base, y, across,
    rowLeft: (row) => across(row, 0) - slot * 0.75, rowRight: (row) => across(row, many - 1) + slot * 0.75,
    power: (pixel) => highest - ((pixel - top) / (base - top)) * tall, highest, lowest,
    sumTop: base + 44, sumBase: height - 46, words: height - 16,
  };
}

export function stage(root, first, send) {
  root.innerHTML = '<svg role="img"></svg><div class="handle"><svg viewBox="-22 -22 44 44" aria-hidden="true">'
    + '<circle r="15" class="halo"/><circle r="11" class="gold"/><path d="M-4-2.5 0-6.5 4-2.5M-4 2.5 0 6.5 4 2.5"/>'
    + `</svg></div><div class="along"></div>${PLAY}`;
  const [svg, handle, along, button] = root.children;
  const back = layer(svg), front = layer(svg);
  let data, numbers, at, ROWS, K, COUNT, wait = null, grip = 0;
  const post = () => send(at);

  const update = (next, isOld) => {
    if (!data || next.frames !== data.frames) numbers = floats(next.frames);
    data = next;
    [ROWS, K, COUNT] = [data.rows, data.k, data.rows * data.k];
    root.style.setProperty("--height", `${data.height}px`);
    const isBusy = pull?.isHeld() || scrub?.isHeld() || play?.isPlaying();
    if (!isBusy && !isOld) at = { ...data.at };
    scrub.reach(data.stops.length - 1);
    draw();
  };
  const tell = (isLast) => {
    clearTimeout(wait);
    wait = null;
    if (isLast) post();
  };
  const soon = () => {
    wait ??= setTimeout(() => { wait = null; post(); }, 160);
  };
  const change = (part) => (value, isLast) => {
    at[part] = value;
    if (isLast) grip = 0;
    play.stop();
    draw();
    isLast ? tell(true) : soon();
  };
  const at_y = (event) => {
    const p = places(svg.clientWidth, svg.clientHeight, data);
    const power = p.power(pointer(svg, event).y - grip);
    return (power - data.sizes[at.index] - data.low) * data.per;
  };
  const at_x = (event) => {
    const p = places(svg.clientWidth, svg.clientHeight, data);
    const { x } = pointer(svg, event);
    const row = data.names.findIndex((_, r) => x <= p.rowRight(r) + p.slot * 0.3 || r === ROWS - 1);
    const k = ((x - p.rowLeft(row)) / (p.rowRight(row) - p.rowLeft(row))) * K, far = data.stops.map((stop) => Math.abs(stop - k));
    return far.indexOf(Math.min(...far));
  };
  let pull, scrub, play;
  at = { ...first.at };
  pull = slider(handle, { low: 0, high: first.count - 1, label: "Size of the gold number", step: at_y, change: change("step") });
  scrub = slider(along, { low: first.lowest, high: 0, label: "How many numbers are summed", step: at_x, change: change("k") });
  play = player(button, {
    ms: STEP_MS, label: "sum along K", rest: post,
    step: () => {
      const last = data.stops.length - 1;
      at.k = at.k >= last ? 1 : at.k + 1;
      draw();
      return at.k < last;
    },
  });
  const dot = (event) => event.target.dataset?.index;
  /** A hand takes any number, or the edge that it pins: the handle goes there, and keeps its place under the pointer. */
  svg.onpointerdown = (event) => {
    const chosen = dot(event);
    if (chosen === undefined || event.button) return;
    if (Number(chosen) !== at.index) {
      at = { ...at, index: Number(chosen), step: -data.low * data.per };
      draw();
      post();
    }
    grip = pointer(svg, event).y - places(svg.clientWidth, svg.clientHeight, data).y(sizes()[at.index]);
    handle.onpointerdown(event);
  };
  // A finger that pulls a number does not scroll the page.
  svg.addEventListener("touchstart", (event) => dot(event) !== undefined && event.preventDefault(), { passive: false });

  function draw() {
    const width = svg.clientWidth, height = svg.clientHeight;
    if (!width || !height || !data) return;
    const p = places(width, height, data), size = sizes(), isShort = data.stops.length < 3;
    // Until Python has heard of another number in hand, all are drawn as before a pull.
    const f = frame(data, numbers, data.at.index === at.index ? at.step : -data.low * data.per);
    grid(p);
    windows(p, f, size);
    for (let i = 0; i < COUNT; i++) number(p, f, size, i);
    for (let row = 0; row < ROWS; row++) sum(p, f, row);
    margin(p, f, size);
    const x = p.across(Math.floor(at.index / K), at.index % K), y = p.y(size[at.index]);
    handle.style.translate = `${x}px ${y}px`;
    along.hidden = button.hidden = isShort;
    along.style.cssText = `left:${p.left}px;width:${p.right - p.left}px;top:${p.sumTop}px;height:${p.words - p.sumTop}px`;
    button.style.translate = `${p.isNarrow ? 0 : p.left - 52}px ${(p.sumTop + p.sumBase) / 2 - 18}px`;
    const lost = f.lost.reduce((all, one) => all + one, 0);
    pull.show(at.step, `2 to the power of ${size[at.index].toFixed(2)}; ${lost} of ${COUNT} numbers are 0`);
    scrub.show(at.k, `${summed()} of ${K}; ` + data.names.map((name, row) => `${name.toLowerCase()} ${error(f, row)[0]}`).join(", "));
    svg.setAttribute("aria-label", `${data.words.numbers}; ${lost} became 0`);
    back.end();
    front.end();
  }

  const sizes = () => data.sizes.map((size, i) => (i === at.index ? size + at.step / data.per + data.low : size));
  const summed = () => data.stops[at.k];
  const error = (f, row) => {
    if (!at.k) return ["no sum yet", false];
    const last = row * K + summed() - 1, most = Math.max(...f.exact.subarray(row * K, last + 1).map(Math.abs));
    return off(f.sums[last], f.exact[last], most);
  };

  function grid(p) {
    for (let power = 8 * Math.floor(data.top / 8); power > p.lowest; power -= 8) {
      back.put(`grid${power}`, "line", { x1: p.left, x2: p.right, y1: p.y(power), y2: p.y(power), class: "grid" });
      // Digits of Unicode's for an exponent would be 7 pixels high.
      const raised = power ? String(power).replace("-", "−") : "", y = p.y(power);
      back.put(`power${power}`, "text", { x: p.left - 8, y: y - 1, class: "tick raised end" }, raised);
      back.put(`tick${power}`, "text", { x: p.left - 8 - 5.5 * raised.length, y: y + 5, class: "tick end" }, power ? "2" : "1");
    }
    back.put("caption", "text", { x: p.left, y: 10, class: "tick" }, data.words.numbers);
    back.put("base", "line", { x1: p.left, x2: p.right, y1: p.base, y2: p.base, class: "base" });
  }

  function windows(p, f, size) {
    data.windows.forEach(([start, stop], row) => {
      const [top, normal, zero] = f.edges.subarray(3 * row, 3 * row + 3), [a, b] = [start, stop - 1].map((i) => Math.floor(i / K));
      const isAll = stop - start === COUNT, gap = p.slot * (stop - start) > 6 ? 1 : 0;
      const left = isAll ? p.left : start % K ? p.across(a, start % K) - p.slot / 2 + gap : p.rowLeft(a);
      const right = isAll ? p.right : stop % K ? p.across(b, stop % K) - p.slot / 2 - gap : p.rowRight(b);
      const low = Math.max(zero, p.lowest), mid = Math.max(normal, p.lowest);
      const rect = (name, upper, lower) => back.put(`${name}${row}`, "rect", {
        x: left, width: right - left, y: p.y(upper), height: Math.max(0, p.y(lower) - p.y(upper)), class: name });
      rect("win", top, mid);
      rect("sub", mid, low);
      if (top <= p.highest + 1) back.put(`top${row}`, "line", { x1: left, x2: right, y1: p.y(top), y2: p.y(top), class: "edge" });
      // A hand on the edge takes the number that pins it: within a power of two, where scales are such powers.
      const largest = size.reduce((best, power, i) => (i >= start && i < stop && power > size[best] ? i : best), start);
      if (Math.abs(top - size[largest]) < 1) {
        const grip = back.put(`grip${row}`, "rect", { x: left, width: right - left, y: p.y(top) - 9, height: 18, class: "grip" });
        grip.dataset.index = largest;
      }
      if (zero > p.lowest) back.put(`zero${row}`, "line", { x1: left, x2: right, y1: p.y(zero), y2: p.y(zero), class: "zero" });
      const lost = f.lost.subarray(start, stop).reduce((all, one) => all + one, 0);
      if (lost && p.slot < DENSE && right - left > 40) {
        front.put(`null${start}`, "text", { x: (left + right) / 2, y: p.base + 4.5, class: "null" }, `${lost} × 0`);
      }
    });
  }

  function number(p, f, size, i) {
    const row = Math.floor(i / K), k = i % K, x = p.across(row, k), y = p.y(size[i]);
    const isLost = Boolean(f.lost[i]), isRunning = summed() === k + 1 && (summed() < K || play.isPlaying());
    const isDense = p.slot < DENSE, r = isDense ? 1.5 : Math.min(6, p.slot * 0.27), small = isDense ? " small" : "";
    if (!isDense) front.put(`stem${i}`, "line", { x1: x, x2: x, y1: y, y2: p.base, class: isLost ? "stem lost" : "stem" });
    front.put(`dot${i}`, "circle", { cx: x, cy: y, r, class: `dot${isLost ? " lost" : ""}${small}` });
    if (!isDense) front.put(`null${i}`, "text", { x, y: p.base + 4.5, class: isLost ? "null" : "null off" }, "0");
    if (isRunning) front.put(`ring${row}`, "circle", { cx: x, cy: y, r: r + 4.5, class: "ring" });
    if (i === at.index) {
      const own = p.y(data.sizes[i]);
      front.put("trail", "line", { x1: x, x2: x, y1: y, y2: own, class: "trail" });
      if (Math.abs(own - y) > 3) front.put("origin", "circle", { cx: x, cy: own, r: Math.max(4, r), class: "origin" });
    }
    const hit = front.put(`hit${i}`, "rect", { x: x - p.slot / 2, width: p.slot, y: Math.min(y - 22, p.base - 44), height: 44, class: "hit" });
    hit.dataset.index = i;
    if (isRunning) bits(p, f, row, i);
  }

  /** The code of the number that K has reached, a square a bit. */
  function bits(p, f, row, i) {
    const letters = data.layout, side = Math.min(9, (p.rowRight(row) - p.rowLeft(row)) / (letters.length + 1));
    const wide = side * letters.length, middle = p.across(row, i % K) - wide / 2;
    const start = Math.max(p.rowLeft(row), Math.min(middle, p.rowRight(row) - wide - 38));
    front.put(`bits${row}`, "text", { x: start + wide + 4, y: p.base + 24, class: "tick" }, letters.length === 8 ? "byte" : `${letters.length} bits`);
    [...letters].forEach((letter, place) => {
      const isSet = (f.codes[i] >> (letters.length - 1 - place)) & 1;
      front.put(`bit${row}${place}`, "rect", { x: start + place * side, y: p.base + 15, width: side - 2, height: side - 2, rx: 1.5,
        class: `bit ${letter}${isSet ? " set" : ""}` });
    });
  }

  function sum(p, f, row) {
    const left = p.rowLeft(row), right = p.rowRight(row), middle = (p.sumTop + p.sumBase) / 2 + 4;
    const mine = (all) => all.subarray(row * K, row * K + K);
    const most = Math.max(...mine(f.exact).map(Math.abs), ...mine(f.sums).map(Math.abs), Number.MIN_VALUE);
    const usual = 1.5 * Math.max(...mine(frame(data, numbers, -data.low * data.per).exact).map(Math.abs));
    const reach = Math.max(usual, most), done = summed(), half = (p.sumBase - p.sumTop) / 2 - 6;
    const xy = (all) => [[left, middle], ...[...mine(all)].slice(0, done).map((value, k) => [
      left + ((k + 1) / K) * (right - left), middle - (value / reach) * half])];
    const fp8 = xy(f.sums), exact = xy(f.exact), x = left + (done / K) * (right - left);
    const [words, isMuch] = error(f, row);
    back.put(`middle${row}`, "line", { x1: left, x2: right, y1: middle, y2: middle, class: "grid" });
    back.put(`area${row}`, "path", { d: `${path([...fp8, ...exact.toReversed()])}Z`, class: "area" });
    back.put(`exact${row}`, "path", { d: path(exact), class: "exact" });
    back.put(`fp8${row}`, "path", { d: path(fp8), class: "fp8" });
    front.put(`kline${row}`, "line", { x1: x, x2: x, y1: p.sumTop - 8, y2: p.sumBase + 4, class: "k thin" });
    front.put(`kaxis${row}`, "path", { d: `M${left} ${p.sumBase + 4}H${right + 2}`, class: "k" });
    front.put(`karrow${row}`, "path", { d: `M${right} ${p.sumBase}l8 4-8 4z`, class: "karrow" });
    if (at.k) front.put(`kthick${row}`, "path", { d: `M${left + (data.stops[at.k - 1] / K) * (right - left)} ${p.sumBase + 4}H${x}`, class: "k thick" });
    if (!row) front.put("kname", "text", { x: left - 6, y: p.sumBase + 9, class: "kname end" }, "K");
    front.put(`end1${row}`, "circle", { cx: x, cy: exact.at(-1)[1], r: 4.5, class: "end1" });
    front.put(`end2${row}`, "circle", { cx: x, cy: fp8.at(-1)[1], r: 4.5, class: "end2" });
    if (!p.isNarrow) front.put(`row${row}`, "text", { x: left, y: p.words, class: "row" }, data.names[row]);
    front.put(`error${row}`, "text", { x: p.isNarrow ? (left + right) / 2 : left + 15 + 7 * data.names[row].length, y: p.words,
      class: `error${isMuch ? " much" : ""}${p.isNarrow ? " middle" : ""}` }, words);
    if (most > 2 * usual && numbers.length > 4 * COUNT + 3 * data.windows.length && !p.isNarrow) {
      const times = Number((most / usual).toPrecision(2)).toLocaleString("en");
      front.put(`smaller${row}`, "text", { x: left, y: p.sumBase - 6, class: "tick over" }, `drawn ${times} times smaller`);
    }
  }

  function margin(p, f, size) {
    const { words } = data, isRows = data.windows.length > 1;
    const top = f.edges[0], zero = f.edges[2];
    if (p.isNarrow) {
      const highest = Math.max(p.y(Math.max(...f.edges)), p.top);
      // Above the window there are no numbers; a window at the top has room inside, below the handle.
      const y = highest - p.top > 60 ? highest - 44 : highest + 38;
      const isUnder = p.across(Math.floor(at.index / K), at.index % K) < p.left + 170;
      const [x, side] = isUnder ? [p.right - 8, " end"] : [p.left + 8, ""];
      front.put("title", "text", { x, y, class: `title${side}` }, words.title);
      front.put("span", "text", { x, y: y + 18, class: `note${side}` }, words.span);
      const key = (name, x, kind, label) => {
        front.put(name, "line", { x1: x, x2: x + 18, y1: p.base + 33, y2: p.base + 33, class: kind });
        front.put(`${name}w`, "text", { x: x + 23, y: p.base + 37, class: "note" }, label);
      };
      key("key1", p.right - 136, "fp8", words.rounded);
      key("key2", p.right - 64, "exact", "exact");
    } else {
      const x = p.right + 26;
      const write = (name, lines, y, kind) => lines.forEach((line, i) => front.put(`${name}${i}`, "text", { x, y: y + i * 19, class: kind }, line));
      const head = isRows ? p.base - 76 : Math.min(Math.max(p.y(top), p.top) + 5, p.base - 120);
      write("title", [words.title], head, "title");
      write("pins", words.pins, head + 22, "note");
      const edge = Math.min(p.y(Math.max(zero, p.lowest)), p.base);
      if (!isRows) {
        const start = Math.max(p.y(Math.min(top, p.highest + 1)), p.top);
        // A window that is larger than the picture goes on: its bracket has no hook there.
        const isCut = top > p.highest + 1, goesOn = zero <= p.lowest;
        front.put("bracket", "path", { class: "bracket",
          d: `M${p.right + 6} ${start}${isCut ? "m8 0" : "h8"}V${edge}${goesOn ? "" : "h-8"}` });
        if (edge - head > 96) write("span", [words.span], (head + 44 + edge) / 2 + 4, "note");
        else if (goesOn) write("span", [words.span, "(it goes on below)"], head + 62, "note");
        if (edge - head > 66 && zero > p.lowest) write("below", words.below, edge - 6, "note");
      }
      write("each", words.sums, p.sumTop + 4, "note");
      front.put("key1", "line", { x1: x, x2: x + 22, y1: p.sumTop + 50, y2: p.sumTop + 50, class: "fp8" });
      front.put("key1w", "text", { x: x + 30, y: p.sumTop + 55, class: "note" }, words.rounded);
      front.put("key2", "line", { x1: x, x2: x + 22, y1: p.sumTop + 72, y2: p.sumTop + 72, class: "exact" });
      front.put("key2w", "text", { x: x + 30, y: p.sumTop + 77, class: "note" }, "exact");
    }
    if (at.step === -data.low * data.per) {
      const all = size.map((power, i) => [p.across(Math.floor(i / K), i % K), p.y(power)]), [x, y] = all[at.index];
      // The words rise until no number is below them.
      const near = all.filter(([dx]) => Math.abs(dx - x) < 34).map(([, dy]) => dy).sort((one, other) => other - one);
      const above = near.reduce((foot, dy) => (dy > foot - 22 && dy < foot + 10 ? dy - 12 : foot), y - 24);
      front.put("pull", "text", { x: Math.min(Math.max(x, p.left + 28), p.right - 28), y: above, class: "pull over middle" }, "pull up");
    }
  }

  const seen = new ResizeObserver(draw);
  seen.observe(svg);
  update(first);
  if (!isStill()) handle.animate([{ marginTop: "-22px" }, { marginTop: "-28px" }, { marginTop: "-22px" }], { duration: 400, delay: 900, iterations: 2 });
  return { update, end: () => { seen.disconnect(); play.stop(); clearTimeout(wait); } };
}
