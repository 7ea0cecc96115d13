/**
 * One pixel, rounded by a coin again and again: each result falls on its pile, and the mean finds its place.
 *
 * data: {height, at: {thrown}, x, low, high, nearest, ups: "0110…" of all throws, means, deviations: float32 as
 *   base64 after each throw, names: of x, low, high and nearest}.
 */

import { floats, layer, path } from "./svg.js";
import { PLAY, player } from "./player.js";

const MORE = 100, STEP_MS = 30, BUTTON = 44, TALL_NARROW = 400, FLAT = 390;
const LARGEST = 15, SMALLEST = 3;

export function stage(root, first, send) {
  root.innerHTML = `<svg role="img"></svg>${PLAY}`;
  const [svg, button] = root.children;
  button.append(`Throw ${MORE} more`);
  const marks = layer(svg);
  let data, means, deviations, thrown = first.at.thrown, goal = null;

  const play = player(button, {
    ms: STEP_MS, label: `throw ${MORE} more`, rest: () => send({ thrown }),
    step() {
      if (goal === null) {
        if (thrown >= data.ups.length) thrown = 0;
        goal = Math.min(thrown + MORE, data.ups.length);
      }
      thrown += 1;
      draw();
      if (thrown < goal) return true;
      goal = null;
      return false;
    },
  });

  function update(next, isOld) {
    if (!data || next.means !== data.means) [means, deviations] = [floats(next.means), floats(next.deviations)];
    data = next;
    if (!isOld && !play.isPlaying() && thrown !== data.at.thrown) [thrown, goal] = [data.at.thrown, null];
    draw();
  }

  function draw() {
    const width = root.clientWidth, height = width < 400 ? Math.min(data.height, TALL_NARROW) : data.height;
    if (!width) return;
    root.style.height = `${height}px`;
    const up = [...data.ups.slice(0, thrown)].filter((one) => one === "1").length;
    const base = Math.round(height * (height < FLAT ? 0.3 : 0.38));
    piles(width, base, [thrown - up, up]);
    mean(width, base + 66, height - BUTTON - 30);
    button.style.translate = `0 ${height - BUTTON + 4}px`;
    svg.setAttribute("aria-label", `${data.names.x}, thrown ${times(thrown)}: ${times(up)} ${data.names.high}`
      + (thrown ? `, mean ${means[thrown - 1].toFixed(3)}` : ""));
    marks.end();
  }
  const write = (name, x, y, kind, text) => marks.put(name, "text", { x, y, class: kind }, text);
  const times = (count) => (count === 1 ? "once" : `${count} times`);

  /** The two results, a dot a throw. */
  function piles(width, base, counts) {
    const half = width * 0.44, tall = base - 62;
    let pitch = LARGEST;
    const wide = () => Math.floor(half / pitch);
    while (pitch > SMALLEST && Math.ceil(Math.max(...counts) / wide()) * pitch > tall) pitch -= 0.25;
    const across = wide(), place = (x) => 8 + ((x - data.low) / (data.high - data.low || 1)) * (width - 16);
    write("head", 0, 14, "title", data.names.x);
    write("times", width, 14, "note end", `thrown ${times(thrown)}`);
    const next = [0, 0];
    [...data.ups.slice(0, thrown)].forEach((one, i) => {
      const side = Number(one), at = next[side]++, x = pitch * ((at % across) + 0.5), y = base - 10 - pitch * (Math.floor(at / across) + 0.5);
      marks.put(`coin${i}`, "circle", { cx: side ? width - x : x, cy: y, r: pitch * 0.42, class: side ? "coin up" : "coin" });
    });
    counts.forEach((count, side) => {
      const y = base - 18 - pitch * Math.ceil(count / across);
      write(`count${side}`, side ? width : 0, y, side ? "end" : "", times(count));
      const x = side ? width - 8 : 8;
      marks.put(`end${side}`, "line", { x1: x, x2: x, y1: base - 6, y2: base + 6, class: "tick" });
    });
    marks.put("base", "line", { x1: 0, x2: width, y1: base, y2: base, class: "base" });
    write("low", 0, base + 26, "note", data.names.low);
    write("high", width, base + 26, "note end", data.names.high);
    const at = place(data.x);
    marks.put("pixel", "circle", { cx: at, cy: base, r: 6, class: "pixel" });
    write("value", Math.max(90, Math.min(width - 90, at)), base + 26, "title middle", data.names.value);
  }

  /** The mean after each throw. */
  function mean(width, top, bottom) {
    const left = 34, right = width - 8, most = Math.max(MORE, thrown);
    const y = (value) => bottom - ((value - data.low) / (data.high - data.low || 1)) * (bottom - top - 24);
    const x = (count) => left + (count / most) * (right - left);
    write("mean", 0, top, "title", "The mean, throw by throw");
    marks.put("exact", "line", { x1: left, x2: right, y1: y(data.x), y2: y(data.x), class: "exact" });
    marks.put("nearest", "line", { x1: left, x2: right, y1: y(data.nearest), y2: y(data.nearest), class: "nearest" });
    const isAbove = data.nearest > data.x, isFar = Math.abs(y(data.nearest) - y(data.x)) > 34;
    write("never", right, y(data.nearest) + (isAbove ? [-8, 18] : [38, -8])[Number(isFar)], "lost end", data.names.nearest);
    write("tick", left - 6, y(data.x) + 5, "note end", data.names.value);
    for (const count of [most / 4, most / 2, (3 * most) / 4, most]) write(`at${count}`, x(count), bottom + 20, "small middle", Math.round(count));
    if (!thrown) return;
    const points = [...means.subarray(0, thrown)].map((value, i) => [x(i + 1), y(value)]);
    marks.put("line", "path", { d: path(points), class: "line" });
    const [endX, endY] = points.at(-1), isRight = endX > width / 2;
    marks.put("last", "circle", { cx: endX, cy: endY, r: 5, class: "last" });
    // Clear of the exact light's line where that is near.
    const near = Math.abs(y(data.x) - endY) < 40 ? y(data.x) : endY;
    const down = endY < top + 56 ? Math.max(endY, near) + 34 : Math.min(endY, near) - 14;
    write("figure", endX + (isRight ? 0 : 8), down, isRight ? "figure end" : "figure", means[thrown - 1].toFixed(3));
    write("spread", endX + (isRight ? -74 : 82), down, isRight ? "note end" : "note", `± ${deviations[thrown - 1].toFixed(3)}`);
  }

  const sizes = new ResizeObserver(draw);
  sizes.observe(root);
  update(first);
  return { update, end: () => { sizes.disconnect(); play.stop(); } };
}
