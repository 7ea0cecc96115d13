/**
 * A left, B above, D in the corner, in tiles colored by scale; at the right one element of D, stretch by stretch.
 *
 * data: mnk, the elements of the picture. `b` and each of `cases[].a`, the tiles: float32[tiles, 6] as base64, the start
 * and stop along m or n, those along k, the shade from 0 to 1, the scale. The first case is the recipe's own; in
 * each further one the tiles of A are turned further. `sum`: the element of D in each case, stretch by stretch.
 * `at`: {row, column, stretch, turn, side}.
 */

import { floats, layer, pointer } from "./svg.js";
import { slider } from "./slider.js";
import { PLAY, player } from "./player.js";

const STEP_MS = 400;
const FIELDS = 6, SHADES = 5;
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

/** Where everything stands in a picture of this size. */
function places(width, height, [m, n, k]) {
  const isNarrow = width < 600, isFlat = height < 450;
  const picture = isNarrow ? width : Math.min(640, width * 0.6);
  const left = isNarrow ? 24 : 40, gap = isNarrow ? 40 : 62, size = (picture - left - gap) / 2;
  const top = 32, down = isNarrow || isFlat ? 54 : 70;
  const tall = isNarrow ? 284 : height - top - down - (isFlat ? 22 : 56);
  const right = left + size + gap, below = top + 0.53 * tall + down;
  const panel = (x, y, high, across, rows) => ({
    left: x, top: y, right: x + size, bottom: y + high,
    x: (at) => x + (size * at) / across, y: (at) => y + (high * at) / rows,
    column: (pixel) => Math.floor(((pixel - x) / size) * across), row: (pixel) => Math.floor(((pixel - y) / high) * rows),
    has: (point) => point.x >= x && point.x < x + size && point.y >= y && point.y < y + high,
  });
  return {
    isNarrow, isFlat,
    A: panel(left, below, 0.47 * tall, k, m), B: panel(right, top, 0.53 * tall, n, k), D: panel(right, below, 0.47 * tall, n, m),
    sum: isNarrow ? { left: 2, right: width - 66, top: below + 0.47 * tall + 54 } : { left: picture + 44, right: width - 74, top: 34 },
  };
}

/** Tiles as objects, of what `floats` reads. */
function tiles(text) {
  const all = floats(text), list = [];
  for (let i = 0; i < all.length; i += FIELDS) {
    const [start, stop, k0, k1, shade, scale] = all.subarray(i, i + FIELDS);
    list.push({ start, stop, k0, k1, shade, scale });
  }
  return list;
}

const within = (list, free, k) => list.find((one) => free >= one.start && free < one.stop && k >= one.k0 && k < one.k1);
const range = (start, stop) => (stop - start === 1 ? `${start}` : `${start}…${stop - 1}`);

export function stage(root, first, send) {
  root.innerHTML = '<svg role="img" class="picture"></svg><div class="verdict"></div>'
    + '<div class="handle"><svg viewBox="-22 -22 44 44" aria-hidden="true"><circle r="15" class="halo"/><circle r="11" class="gold"/>'
    + '<path transform="rotate(-45)" d="M-2.5-4-6.5 0-2.5 4M2.5-4 6.5 0 2.5 4"/></svg></div><div class="along"></div>'
    + PLAY;
  const [svg, verdict, handle, along, button] = root.children;
  const back = layer(svg), front = layer(svg);
  let data, cases, b, at, p, wait = null, hover = null;

  const post = () => {
    clearTimeout(wait);
    wait = null;
    send(at);
  };
  const set = (changes, isLast = true) => {
    at = { ...at, ...changes };
    draw();
    if (isLast) post();
    else wait ??= setTimeout(post, 160);
  };
  const play = player(button, {
    ms: STEP_MS, label: "sum along K", rest: post,
    step: () => {
      const last = data.sum.k.length;
      at.stretch = at.stretch >= last ? 1 : at.stretch + 1;
      draw();
      return at.stretch < last;
    },
  });
  const stretch = () => data.sum.k[at.stretch - 1];
  const tileOfA = () => within(cases[at.turn], at.row, stretch()[0]);

  /** The corner of A's tile under the handle in each case. */
  const corners = () => cases.map((list) => {
    const one = within(list, at.row, stretch()[0]);
    return [p.A.x(one.k1), p.A.y(one.stop - 0.5)];
  });

  /** The first step is the tile turned furthest, so that keys move the handle as they point. */
  const pull = slider(handle, {
    low: 0, high: 0, label: "Tiles of A, turned",
    step: (event) => {
      const { x, y } = pointer(svg, event);
      const far = corners().map(([cx, cy]) => (cx - x) ** 2 + (cy - y) ** 2);
      return cases.length - 1 - far.indexOf(Math.min(...far));
    },
    change: (step, isLast) => set({ turn: cases.length - 1 - step }, isLast),
  });
  const scrub = slider(along, {
    low: 1, high: 1, label: "Stretches of K that are summed",
    step: (event) => data.sum.k.filter(([start]) => start <= p.A.column(pointer(svg, event).x)).length,
    change: (step, isLast) => { play.stop(); set({ stretch: step }, isLast); },
  });

  const update = (next, isOld) => {
    if (!data || next.b !== data.b || next.cases.length !== data.cases.length || next.cases.some((one, i) => one.a !== data.cases[i].a)) {
      cases = next.cases.map((one) => tiles(one.a));
      b = tiles(next.b);
      hover = null;
    }
    data = next;
    root.style.setProperty("--height", `${data.height}px`);
    const isBusy = pull.isHeld() || scrub.isHeld() || play.isPlaying();
    if (!at || (!isBusy && !isOld)) at = { ...data.at };
    at.turn = Math.min(at.turn, cases.length - 1);
    at.stretch = Math.min(at.stretch, data.sum.k.length);
    pull.reach(cases.length - 1);
    scrub.reach(data.sum.k.length);
    drawTiles();
  };

  const target = (event) => {
    const point = pointer(svg, event);
    const side = ["A", "B", "D"].find((name) => p[name].has(point));
    if (!side) return null;
    const row = p[side].row(point.y), column = p[side].column(point.x);
    if (side === "D") return { side, row, column };
    const [free, k] = side === "A" ? [row, column] : [column, row];
    return { side, free, k, tile: within(side === "A" ? cases[at.turn] : b, free, k) };
  };
  svg.onclick = (event) => {
    const one = target(event);
    if (!one) return;
    play.stop();
    if (one.side === "D") return set({ row: one.row, column: one.column });
    return set({ side: one.side, [one.side === "A" ? "row" : "column"]: one.free,
      stretch: data.sum.k.filter(([start]) => start <= one.k).length });
  };
  svg.onpointermove = (event) => {
    const one = event.pointerType === "touch" || event.buttons ? null : target(event);
    if (one?.tile === hover?.tile && one?.side === hover?.side) return;
    hover = one;
    draw();
  };
  svg.onpointerleave = () => { hover = null; draw(); };

  function drawTiles() {
    const width = svg.clientWidth, height = svg.clientHeight;
    if (!width || !height) return;
    p = places(width, height, data.mnk);
    const rect = (name, panel, x0, x1, y0, y1, look) => {
      const [left, right, top, bottom] = [panel.x(x0), panel.x(x1), panel.y(y0), panel.y(y1)];
      const across = right - left > 4 ? 1 : 0, down = bottom - top > 4 ? 1 : 0;
      back.put(name, "rect", { x: left + across, y: top + down, width: right - left - 2 * across, height: bottom - top - 2 * down,
        rx: across && down ? 2 : 0, class: "tile", style: look });
    };
    const shade = ({ shade: share }) => {
      if (Number.isNaN(share)) return "";
      const step = Math.min(SHADES - 1, Math.floor(share * SHADES));
      return `fill:color-mix(in srgb, var(--ramp-${step + 1}) ${Math.round(100 * (share * SHADES - step))}%, var(--ramp-${step}))`;
    };
    cases[at.turn].forEach((one, i) => rect(`a${i}`, p.A, one.k0, one.k1, one.start, one.stop, shade(one)));
    b.forEach((one, i) => rect(`b${i}`, p.B, one.start, one.stop, one.k0, one.k1, shade(one)));
    data.parts[0].forEach(([m0, m1], row) =>
      data.parts[1].forEach(([n0, n1], column) => rect(`d${row}-${column}`, p.D, n0, n1, m0, m1, "")));
    back.end();
    turnOnScreen = at.turn;
    draw();
  }
  let turnOnScreen = null;

  function draw() {
    if (!p || !data) return;
    if (turnOnScreen !== at.turn) return drawTiles();
    axes();
    captions();
    outlines();
    data.sum.isOf[0] === at.row && data.sum.isOf[1] === at.column ? sum() : waiting();
    const isWide = cases.length > 1, [x, y] = corners()[at.turn];
    handle.hidden = !isWide;
    handle.style.translate = `${x}px ${y}px`;
    along.hidden = button.hidden = data.sum.k.length < 2;
    along.style.cssText = `left:${p.A.left}px;width:${p.A.right - p.A.left}px;top:${p.A.top - 30}px;height:28px`;
    button.style.translate = `${(p.A.right + p.D.left) / 2 - 14}px ${p.A.top - 30}px`;
    verdict.style.cssText = `top:${p.isNarrow ? 20 : p.B.top}px;width:${p.B.left - (p.isNarrow ? 38 : 56)}px`;
    const { html, words } = data.cases[at.turn];
    if (verdict.innerHTML !== html && verdict.dataset.html !== html) {
      verdict.innerHTML = html;
      verdict.dataset.html = html;
    }
    pull.show(cases.length - 1 - at.turn, words);
    scrub.show(at.stretch, `k = ${range(...stretch())}; ${data.sum.soFar[at.turn][at.stretch - 1]} so far`);
    svg.setAttribute("aria-label", data.alt);
    front.end();
  }

  const write = (name, x, y, words, kind = "") => front.put(name, "text", { x, y, class: kind }, words);
  const line = (name, x1, y1, x2, y2, kind) => front.put(name, "line", { x1, y1, x2, y2, class: kind });
  const box = (name, x0, x1, y0, y1, kind) => front.put(name, "rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, rx: 3, class: kind });

  function axes() {
    const { A, B } = p, [start, stop] = stretch();
    const over = A.top - 12, beside = B.left - (p.isNarrow ? 10 : 14), far = A.left - (p.isNarrow ? 8 : 12);
    front.put("ka", "path", { class: "axis k", d: `M${A.left} ${over - 4}v8m0-4H${A.right}m-7-4 7 4-7 4` });
    front.put("kb", "path", { class: "axis k", d: `M${beside - 4} ${B.top}h8m-4 0V${B.bottom}m-4-7 4 7 4-7` });
    front.put("ma", "path", { class: "axis m", d: `M${far - 4} ${A.top}h8m-4 0V${A.bottom}m-4 0h8` });
    front.put("nb", "path", { class: "axis n", d: `M${B.left} ${B.top - 12}v8m0-4H${B.right}m0-4v8` });
    line("ka2", A.x(start), over, A.x(stop), over, "thick");
    line("kb2", beside, B.y(start), beside, B.y(stop), "thick");
    const axis = (name, dim, x, y, turn) => {
      const text = front.put(name, "text", { x, y, ...(turn ? { transform: `rotate(-90 ${x} ${y})` } : {}) });
      if (text.dataset.words === data.axes[dim]) return;
      text.dataset.words = data.axes[dim];
      text.innerHTML = `<tspan class="${dim} bold">${dim.toUpperCase()}</tspan>${p.isNarrow && turn ? "" : ` = ${data.axes[dim]}`}`;
    };
    axis("kaw", "k", A.left, over - 8, false);
    axis("nbw", "n", B.left, B.top - 16, false);
    axis("maw", "m", far - 8, A.bottom, true);
    axis("kbw", "k", beside - 8, B.bottom, true);
  }

  function captions() {
    const own = (name, lines, panel) => lines.slice(0, p.isFlat || p.isNarrow ? 1 : 3).forEach(([long, brief], i) =>
      write(`${name}${i}`, panel.left, panel.bottom + 18 + 16 * i, p.isNarrow || p.isFlat ? brief : long, i ? "soft" : ""));
    own("ca", data.cases[at.turn].lines, p.A);
    own("cb", data.lines.b, p.B);
    own("cd", data.lines.d, p.D);
  }

  function outlines() {
    const { A, B, D } = p, [start, stop] = stretch(), tile = tileOfA(), other = within(b, at.column, start);
    const wide = (a0, a1) => (a1 - a0 < 6 ? [(a0 + a1) / 2 - 3, (a0 + a1) / 2 + 3] : [a0, a1]);
    const across = wide(D.x(at.column), D.x(at.column + 1)), down = wide(D.y(at.row), D.y(at.row + 1));
    box("band", D.left, D.right, ...down, "band");
    box("band2", ...across, D.top, D.bottom, "band");
    box("line", A.left - 2, A.right + 2, ...down, "line");
    box("line2", ...across, B.top - 2, B.bottom + 2, "line");
    if (hover?.side === "A" || hover?.side === "B") {
      const { tile: one } = hover, isA = hover.side === "A";
      if (isA) box("hover1", A.x(one.k0), A.x(one.k1), A.y(one.start), A.y(one.stop), "hover");
      else box("hover1", B.x(one.start), B.x(one.stop), B.y(one.k0), B.y(one.k1), "hover");
      if (isA) box("hover2", D.left, D.right, D.y(one.start), D.y(one.stop), "hover m");
      else box("hover2", D.x(one.start), D.x(one.stop), D.top, D.bottom, "hover n");
      if (isA) box("hover3", B.left, B.right, B.y(one.k0), B.y(one.k1), "hover k");
      else box("hover3", A.x(one.k0), A.x(one.k1), A.top, A.bottom, "hover k");
    }
    box("now", A.x(start), A.x(stop), A.y(tile.start), A.y(tile.stop), "now");
    box("now2", B.x(other.start), B.x(other.stop), B.y(start), B.y(stop), "now");
    box("element", ...wide(...across), ...wide(...down), "element");
  }

  function waiting() {
    write("title", p.sum.left, p.sum.top - 16, `D[${at.row}, ${at.column}]`, "bold");
  }

  /** The stretches as bars from one running sum to the next; where the scales do not leave, the wrong ones below. */
  function sum() {
    const { left, right, top } = p.sum, { k, exact } = data.sum, count = k.length, turn = at.turn;
    const isWrong = !data.cases[turn].isRight, good = data.sum.right[turn], bad = data.sum.pulled[turn];
    const running = (values) => values.reduce((all, value) => [...all, all.at(-1) + value], [0]);
    const goods = running(good), bads = running(bad);
    const every = [...goods, exact, ...(isWrong ? bads : [])], low = Math.min(...every), high = Math.max(...every);
    const x = (value) => left + ((value - low) / (high - low || 1)) * (right - left);
    const room = p.isNarrow ? 72 : p.isFlat ? 134 : clamp(svg.clientHeight - 320, 134, 264), step = Math.min(p.isNarrow ? 18 : 64, room / count);
    const bar = clamp(step * (p.isNarrow ? 0.7 : 0.32), 2, 15), end = top + step * count;
    const title = write("title", left, top - 16, `D[${at.row}, ${at.column}]`, "bold");
    if (!p.isNarrow) write("title2", left + title.getComputedTextLength(), top - 16, ", stretch by stretch", "soft");
    line("zero", x(0), top - 4, x(0), end + 4, "zero");
    line("exact", x(exact), top - 4, x(exact), end + 4, "exact");
    write("exactw", clamp(x(exact), left + (p.isNarrow ? title.getComputedTextLength() + 30 : 20), right), p.isNarrow ? top - 16 : end + 18, "exact", "soft middle");
    const reach = (name, from, to, y, kind, tall = bar) =>
      front.put(name, "rect", { x: Math.min(x(from), x(to)), width: Math.max(1.5, Math.abs(x(to) - x(from))), y, height: tall, rx: 2, class: kind });
    for (let i = 0; i < at.stretch; i++) {
      const y = top + step * i + (step - bar) / 2, isNow = i === at.stretch - 1 && !isWrong;
      reach(`bar${i}`, goods[i], goods[i + 1], isWrong ? y - bar / 2 : y, isWrong ? "bar right" : isNow ? "bar now" : "bar");
      if (isWrong) reach(`bad${i}`, bads[i], bads[i + 1], y + bar / 2 + 1, "bar wrong");
      if (i + 1 < at.stretch) line(`link${i}`, x(goods[i + 1]), y + bar / 2, x(goods[i + 1]), y + step + bar / 2, "link");
      if (step > 30 && !isWrong) {
        const wide = 7.2 * range(...k[i]).length + 24;
        write(`k${i}`, clamp(Math.min(x(goods[i]), x(goods[i + 1])), left, Math.max(left, right - wide)), y - 5, `k = ${range(...k[i])}`, isNow ? "note k bold" : "note");
      }
      if (step > 13) write(`adds${i}`, right + (p.isNarrow ? 64 : 74), y + bar / 2 + 5, data.sum.adds[turn][i], `end ${isWrong ? "lost bold" : isNow ? "k bold" : "soft"}`);
    }
    if (at.stretch < count && !isWrong) reach("rest", goods[at.stretch], goods[count], top + step * at.stretch + (step - bar) / 2, "rest");
    figures(isWrong, left, p.isNarrow ? end + 22 : end + (p.isFlat ? 46 : 56));
  }

  function figures(isWrong, left, y) {
    const { turn, stretch: number } = at, { k, soFar, steps, wrong, exactWords } = data.sum, last = number === k.length;
    const got = soFar[turn][number - 1], right = wrong[turn].right[number - 1], yet = last ? "" : ", so far";
    if (p.isNarrow) {
      if (isWrong) write("figure", left, y, `${wrong[turn].brief} ${got}${yet}`, "lost bold");
      else write("figure", left, y, last ? `All that is drawn of K: ${got}`
        : `${number} of ${k.length} stretches: ${got}; the last adds ${data.sum.adds[turn][number - 1]}`);
      return write("figure2", left, y + 20, isWrong ? `${wrong[turn].briefRight} ${right}${yet}` : `exact ${exactWords}`, "soft");
    }
    const gap = p.isFlat ? 19 : 24, big = p.isFlat ? 24 : 30;
    if (isWrong) {
      const { head, headRight, but } = wrong[turn];
      write("figure0", left, y, head + yet, "soft");
      write("figure1", left, y + big, got, "big lost");
      write("figure2", left, y + big + gap + 10, headRight + yet, "soft");
      write("figure3", left, y + 2 * big + gap + 10, right, "big");
      if (!p.isFlat) write("figure4", left, y + 2 * big + 2 * gap + 10, but, "soft");
      const foot = y + 2 * big + (p.isFlat ? 2 : 3) * gap + 14;
      front.put("key1", "rect", { x: left, y: foot - 9, width: 16, height: 8, rx: 2, class: "bar right" });
      write("key1w", left + 24, foot, "right", "soft");
      front.put("key2", "rect", { x: left + 84, y: foot - 9, width: 16, height: 8, rx: 2, class: "bar wrong" });
      return write("key2w", left + 108, foot, "scales pulled out", "soft");
    }
    write("figure0", left, y, last ? "All that is drawn of K" : `So far: ${number} of ${k.length} stretches`, "soft");
    write("figure1", left, y + big, got, "big");
    write("figure2", left + 150, y + big, `exact: ${exactWords}`, "soft");
    if (!p.isFlat) write("figure3", left, y + big + 2 * gap - 8, "This stretch", "soft");
    const start = y + big + (p.isFlat ? 2 : 3) * gap - (p.isFlat ? 0 : 8), wide = 7 * Math.max(...steps[turn][number - 1].map(([value]) => value.length)) + 8;
    steps[turn][number - 1].forEach(([value, words, kind], i) => {
      write(`step${i}`, left, start + gap * i, value, `${kind} bold`);
      write(`stepw${i}`, left + wide, start + gap * i, words, "soft");
    });
    const note = hover?.tile ? hoverWords() : p.isFlat ? "" : data.shade;
    write("hover", left, start + gap * 4.4, note, "soft");
    return null;
  }
  const hoverWords = () => {
    const { side, tile } = hover, [m, k] = [range(tile.start, tile.stop), range(tile.k0, tile.k1)];
    const scale = Number.isNaN(tile.scale) ? "no scale" : `scale ${Number(tile.scale.toPrecision(4))}`;
    return `${side}: ${side === "A" ? "m" : "n"} = ${m}, k = ${k}: ${scale}`;
  };

  const observer = new ResizeObserver(drawTiles);
  observer.observe(svg);
  update(first);
  return { update, end: () => { observer.disconnect(); play.stop(); clearTimeout(wait); } };
}
