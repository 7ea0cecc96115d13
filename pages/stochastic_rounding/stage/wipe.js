/**
 * Pictures in two versions each, and one hand that pulls the line between both versions across all of them.
 *
 * data: {rows, columns, height, at: {share, row, column}, label, hint, mark: "ring" or "gold",
 *   panels: [{left, right, below: addresses of images, title, other, words, others, lost}]}.
 * `share` percent of each picture are its left version. `title` and `words` stand at the left, above and below;
 * `other` and `others` at the right. A click on a picture takes its pixel.
 */

import { layer, pointer } from "./svg.js";
import { slider } from "./slider.js";
import { sender } from "./sender.js";

const HEAD = 26, FOOT = 26, GAP = 16, MOST_GAP = 40, NARROW = 640, HINT = 22, SMALLEST = 160;
const IMAGES = ["left", "right", "below"];

export function stage(root, first, send) {
  root.innerHTML = '<div class="pictures"></div><svg role="img"></svg><div class="handle across">'
    + '<svg viewBox="-22 -22 44 44" aria-hidden="true"><circle r="15" class="halo"/><circle r="11" class="gold"/>'
    + '<path d="M-2.5-4-6.5 0-2.5 4M2.5-4 6.5 0 2.5 4"/></svg></div>';
  const [pictures, svg, handle] = root.children;
  const marks = layer(svg), out = sender(send);
  let data = first, at = { ...first.at }, images = [];

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

  function update(next) {
    data = next;
    if (!out.isOld(data.at) && !hand?.isHeld()) at = { ...data.at };
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
      if (isLast) out.post(at);
    },
  });
  root.onclick = (event) => {
    if (handle.contains(event.target)) return;
    const { x, y } = pointer(svg, event), p = places();
    data.panels.forEach((_, i) => {
      const column = Math.floor(((x - p.left(i)) / p.wide) * data.columns), row = Math.floor(((y - p.top(i)) / p.tall) * data.rows);
      if (column < 0 || row < 0 || column >= data.columns || row >= data.rows) return;
      at = { ...at, row, column };
      draw();
      out.post(at);
    });
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
      if (data.mark) {
        const middle = { cx: x + ((at.column + 0.5) / data.columns) * p.wide, cy: y + ((at.row + 0.5) / data.rows) * p.tall };
        marks.put(`around${i}`, "circle", { ...middle, r: 8, class: "around" });
        marks.put(`ring${i}`, "circle", { ...middle, r: 8, class: data.mark });
      }
    });
    if (data.hint) marks.put("hint", "text", { x: 0, y: p.height - 4, class: "note" }, data.hint);
    marks.end();
    handle.style.translate = `${p.left(0) + (at.share / 100) * p.wide}px ${p.top(0) + p.tall / 2}px`;
    hand.show(at.share, `${at.share}% ${data.names[0]}, ${100 - at.share}% ${data.names[1]}`);
    svg.setAttribute("aria-label", data.alt);
  }

  const sizes = new ResizeObserver(draw);
  sizes.observe(root);
  update(first);
  return { update, end: () => sizes.disconnect() };
}
