/**
 * Pictures in two versions each, and one hand that pulls the line between both versions across all of them.
 *
 * data: {rows, columns, height, at: {share, row, column, strokes}, label, hint, mark: the name of a pixel that
 *   has a ring, brush: {color, wide, longest},
 *   panels: [{left, right, below: addresses of images, title, other, words, others, lost}]}.
 * `share` percent of each picture are its left version. `title` and `words` stand at the left, above and below;
 * `other` and `others` at the right. A click on a picture takes its pixel, and so does a drag, unless there is a
 * `brush`: then it paints. `strokes` are of points, "rrcc" in hex each, with "-" between them; `longest` together.
 */

import { layer, path, pointer } from "./svg.js";
import { slider } from "./slider.js";

const SOON_MS = 120, DOT = 3, HIT = 44, HEAD = 26, FOOT = 26, GAP = 16, MOST_GAP = 40, NARROW = 640, HINT = 22, SMALLEST = 160;
const IMAGES = ["left", "right", "below"];

export function stage(root, first, send) {
  root.innerHTML = '<div class="pictures"></div><svg role="img"></svg><div class="handle across">'
    + '<svg viewBox="-22 -22 44 44" aria-hidden="true"><circle r="15" class="halo"/><circle r="11" class="gold"/>'
    + '<path d="M-2.5-4-6.5 0-2.5 4M2.5-4 6.5 0 2.5 4"/></svg></div><div class="handle both"></div>'
    + '<button class="clean" type="button">Wipe clean</button>';
  const [pictures, svg, handle, mark, clean] = root.children;
  root.insertBefore(mark, handle);
  const marks = layer(svg);
  let data = first, at = { ...first.at }, images = [], drag = null, wait = null, isAside = false;

  /** Where the pictures stand. */
  function places() {
    const width = root.clientWidth, count = data.panels.length, isNarrow = width < NARROW && count > 1;
    const across = isNarrow ? 2 : count, down = Math.ceil(count / across), aspect = data.rows / data.columns;
    const hint = data.hint ? HINT : 0, high = (levels) => (data.height - hint) / down / levels - HEAD - FOOT;
    const levels = data.panels[0].below && !isNarrow && high(2) / aspect >= SMALLEST ? 2 : 1;
    const room = isNarrow ? Infinity : high(levels);
    const wide = Math.min((width - GAP * (across - 1)) / across, room / aspect), tall = wide * aspect;
    const step = levels * (HEAD + tall + FOOT), gap = across > 1 ? Math.min(MOST_GAP, (width - across * wide) / (across - 1)) : 0;
    return {
      wide, tall, levels, below: HEAD + tall + FOOT, height: down * step + hint,
      left: (i) => (i % across) * (wide + gap), top: (i) => HEAD + Math.floor(i / across) * step,
    };
  }

  function update(next, isOld) {
    data = next;
    if (!isOld && !hand?.isHeld() && !spot?.isHeld() && !drag && !wait) at = { ...data.at };
    spot?.reach(data.rows * data.columns - 1);
    const wanted = data.panels.flatMap((panel) => IMAGES.filter((name) => panel[name]).map((name) => [name, panel[name]]));
    while (images.length > wanted.length) images.pop().remove();
    wanted.forEach(([name, source], i) => {
      images[i] ??= pictures.appendChild(new Image());
      images[i].className = name;
      images[i].alt = "";
      images[i].draggable = false;
      if (images[i].getAttribute("src") !== source) images[i].src = source;
    });
    draw();
  }

  const share = (event) => ((pointer(svg, event).x - places().left(0)) / places().wide) * 100;
  const hand = slider(handle, {
    low: 0, high: 100, label: first.label, step: share,
    change(value, isLast) {
      at.share = value;
      draw();
      if (isLast) send(at);
    },
  });
  /** The pixel under a pointer, in a picture or at its edge. */
  function pixel(event, i) {
    const { x, y } = pointer(svg, event), p = places(), within = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
    return [within((y - p.top(i)) / p.tall, data.rows), within((x - p.left(i)) / p.wide, data.columns)];
  }

  const tell = () => {
    clearTimeout(wait);
    wait = null;
    send(at);
  };
  /** A hand that rests is heard before it lets go. */
  function take([row, column], isLast) {
    at = { ...at, row, column };
    draw();
    clearTimeout(wait);
    if (isLast) tell();
    else wait = setTimeout(tell, SOON_MS);
  }
  const spot = slider(mark, {
    low: 0, high: first.rows * first.columns - 1, label: first.mark, rise: () => -data.columns,
    step(event) {
      const [row, column] = pixel(event, 0);
      return row * data.columns + column;
    },
    change: (to, isLast) => take([Math.floor(to / data.columns), to % data.columns], isLast),
  });

  const hex = (points) => points.flat().map((one) => one.toString(16).padStart(2, "0")).join("");
  const points = (stroke) => (stroke.match(/..../g) ?? []).map((one) => [parseInt(one.slice(0, 2), 16), parseInt(one.slice(2), 16)]);
  /** Paint a stroke; of too many, the first ones go. */
  function paint(stroke) {
    const every = [...at.strokes.split("-").filter(Boolean), stroke];
    while (every.join("-").length > data.brush.longest) every.shift();
    at = { ...at, strokes: every.join("-") };
    tell();
  }
  clean.onclick = () => {
    at = { ...at, strokes: "" };
    draw();
    tell();
  };
  mark.addEventListener("keydown", (event) => {
    if (event.key !== " " || !data.brush) return;
    event.preventDefault();
    paint(hex([[at.row, at.column]]));
    draw();
  });
  pictures.onpointerdown = (event) => {
    const { x, y } = pointer(svg, event), p = places();
    const i = data.panels.findIndex((_, one) => x >= p.left(one) && x < p.left(one) + p.wide && y >= p.top(one) && y < p.top(one) + p.tall);
    if (event.button || i < 0) return;
    pictures.setPointerCapture(event.pointerId);
    drag = { i, points: [pixel(event, i)] };
  };
  pictures.onpointermove = (event) => {
    if (!drag) return;
    const now = pixel(event, drag.i), [row, column] = drag.points.at(-1);
    if (Math.hypot(now[0] - row, now[1] - column) < DOT) return;
    // As many points as fit: a longer stroke ends.
    if (!data.brush) drag.points = [drag.points[0], now];
    else if (drag.points.length < data.brush.longest / 4) drag.points.push(now);
    if (data.brush) draw();
    else take(now, false);
  };
  pictures.onpointerup = () => {
    if (!drag) return;
    const { points: every } = drag;
    drag = null;
    if (data.brush && every.length > 1) paint(hex(every));
    else take(every.at(-1), true);
  };
  pictures.onpointercancel = () => {
    drag = null;
    draw();
  };

  function draw() {
    const p = places();
    if (!(p.wide > 0)) return;
    root.style.height = `${p.height}px`;
    let next = 0;
    data.panels.forEach((panel, i) => {
      const x = p.left(i), y = p.top(i), cut = x + (at.share / 100) * p.wide;
      for (const name of IMAGES) {
        if (!panel[name]) continue;
        const { style } = images[next++];
        style.cssText = `left:${x}px;top:${y + (name === "below" ? p.below : 0)}px;width:${p.wide}px;height:${p.tall}px`;
        if (name === "right") style.clipPath = `inset(0 0 0 ${at.share}%)`;
        if (name === "below" && p.levels === 1) style.display = "none";
      }
      const write = (name, across, down, kind, text) => marks.put(`${name}${i}`, "text", { x: across, y: down, class: kind }, text);
      write("title", x, y - 10, "title", panel.title);
      write("words", x, y + p.tall + 18, panel.lost ? "lost" : "note", panel.words);
      if (panel.other) write("other", x + p.wide, y - 10, "title end", panel.other);
      if (panel.others) write("others", x + p.wide, y + p.tall + 18, "note end", panel.others);
      if (panel.below && p.levels === 2) write("below", x, y + p.below - 8, "note", panel.under);
      for (const kind of ["halo", "cut"]) marks.put(`${kind}${i}`, "line", { x1: cut, x2: cut, y1: y - 4, y2: y + p.tall + 4, class: kind });
      // What Python has not yet rounded: the stroke itself.
      const fresh = [at.strokes !== data.at.strokes ? points(at.strokes.split("-").at(-1)) : [], drag?.points ?? []];
      fresh.forEach((stroke, n) => {
        if (!data.brush || !stroke.length) return;
        const spots = [...stroke, stroke.at(-1)].map(([row, column]) => [x + ((column + 0.5) / data.columns) * p.wide, y + ((row + 0.5) / data.rows) * p.tall]);
        marks.put(`fresh${n}`, "path", { d: path(spots), class: "fresh", stroke: data.brush.color, "stroke-width": (data.brush.wide * p.wide) / data.columns });
      });
      if (data.mark) {
        const middle = { cx: x + ((at.column + 0.5) / data.columns) * p.wide, cy: y + ((at.row + 0.5) / data.rows) * p.tall };
        marks.put(`around${i}`, "circle", { ...middle, r: 8, class: "around" });
        marks.put(`ring${i}`, "circle", { ...middle, r: 8, class: "ring" });
      }
    });
    const [middle, isPainted] = [p.left(0) + p.wide / 2, Boolean(data.brush && at.strokes)];
    if (data.brush && !isPainted) marks.put("paint", "text", { x: middle, y: HEAD - 10, class: "note middle" }, "Paint on it");
    clean.hidden = !isPainted;
    clean.style.translate = `${middle}px ${HEAD - 37}px`;
    mark.hidden = !data.mark;
    mark.setAttribute("aria-label", data.mark);
    handle.setAttribute("aria-label", data.label);
    const [left, top] = [((at.column + 0.5) / data.columns) * p.wide, ((at.row + 0.5) / data.rows) * p.tall], cut = (at.share / 100) * p.wide;
    mark.style.translate = `${p.left(0) + left}px ${p.top(0) + top}px`;
    spot.show(at.row * data.columns + at.column, `row ${at.row}, column ${at.column}`);
    if (data.hint) marks.put("hint", "text", { x: 0, y: p.height - 4, class: "note" }, data.hint);
    marks.end();
    // The line's handle makes room for a mark near it: a finger would take the wrong one.
    if (!hand.isHeld() && !spot.isHeld()) isAside = Boolean(data.mark) && Math.abs(left - cut) < HIT && Math.abs(top - p.tall / 2) < HIT;
    const high = !isAside ? p.tall / 2 : top < p.tall / 2 ? p.tall - HIT / 2 : HIT / 2;
    handle.style.translate = `${p.left(0) + cut}px ${p.top(0) + high}px`;
    hand.show(at.share, `${at.share}% ${data.names[0]}, ${100 - at.share}% ${data.names[1]}`);
    svg.setAttribute("aria-label", data.alt);
  }

  const sizes = new ResizeObserver(draw);
  sizes.observe(root);
  update(first);
  return { update, end: () => { sizes.disconnect(); clearTimeout(wait); } };
}
