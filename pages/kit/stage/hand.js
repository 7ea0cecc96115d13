/**
 * A gold handle over a chart.
 *
 * The chart has a rail: an invisible mark for each position of the handle. Its data are `at`, the position,
 * and `words`, for a screen reader. A chart with a slider follows the handle by itself: the handle moves the
 * slider's input. Otherwise Python hears of each position, and draws the chart anew.
 *
 * data: {rail: a part of the rail's class, label, way: "across", "up" or "both", at: the position without a
 * slider, play: what a button plays, which steps along the rail}.
 */

import { PLAY, player } from "./player.js";
import { slider } from "./slider.js";

/** A hand that rests for so long is heard before it lets go. */
const SOON_MS = 120;
const STEP_MS = 400;

const CHEVRONS = {
  across: "M-2.5-4-6.5 0-2.5 4M2.5-4 6.5 0 2.5 4",
  up: "M-4-2.5 0-6.5 4-2.5M-4 2.5 0 6.5 4 2.5",
  both: "M-2-4.5 0-6.5 2-4.5M-2 4.5 0 6.5 2 4.5M-4.5-2-6.5 0-4.5 2M4.5-2 6.5 0 4.5 2",
};

export function stage(root, first, send) {
  root.innerHTML = `<div class="handle ${first.way}"><svg viewBox="-22 -22 44 44" aria-hidden="true"><circle r="15" class="halo"/>`
    + `<circle r="11" class="gold"/><path d="${CHEVRONS[first.way]}"/></svg></div>${first.play ? PLAY : ""}`;
  const [handle, button] = root.children;
  const place = root.getRootNode().host.closest('[class*="st-key-slid_"]');
  let data = first, frame = null, index = 0, hand = null, wait = null, chosen = null;

  const input = () => place.querySelector('.vega-bind input[type="range"]');
  const along = (mark) => (data.way === "up" ? -mark.__data__.y : mark.__data__.x);
  /** The rail from left to right, or upward: arrow keys move the handle as they point. */
  const marks = () =>
    [...place.querySelectorAll(`svg.marks [class*="${data.rail}"] path`)].sort((one, other) => along(one) - along(other));
  const datum = (mark) => mark.__data__.datum;
  const center = (mark) => {
    const box = mark.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };

  /** The rail's mark that is nearest to a pointer. */
  const nearest = ({ clientX, clientY }) => {
    const distances = marks().map(center).map(([x, y]) => {
      const across = data.way === "up" ? 0 : x - clientX, up = data.way === "across" ? 0 : y - clientY;
      return across * across + up * up;
    });
    return distances.indexOf(Math.min(...distances));
  };

  const play = button && player(button, {
    ms: STEP_MS, label: first.play,
    step() {
      const last = marks().length - 1;
      change(index < last ? index + 1 : 0, false);
      return index < last;
    },
  });
  const change = (to, isLast) => {
    const mark = marks()[to], target = input();
    if (!mark) return;
    index = to;
    if (target) {
      target.value = datum(mark).at;
      target.dispatchEvent(new Event("input", { bubbles: true }));
    } else {
      clearTimeout(wait);
      chosen = datum(mark).at;
      wait = setTimeout(() => send({ at: chosen }), isLast ? 0 : SOON_MS);
    }
    stand();
  };

  const pulled = (to, isLast) => {
    play?.stop();
    change(to, isLast);
  };

  /** Put the handle where the slider stands. */
  function stand() {
    frame = null;
    const every = marks();
    handle.hidden = !every.length;
    if (handle.hidden) return;
    hand ??= slider(handle, { low: 0, high: 0, label: data.label, step: nearest, change: pulled });
    hand.reach(every.length - 1);
    // Under a finger the handle stays, unless Python has drawn another rail below it.
    if (!hand.isHeld() || (chosen !== null && (!every[index] || datum(every[index]).at !== chosen))) {
      const at = Number(input()?.value ?? chosen ?? data.at);
      const far = every.map((mark) => Math.abs(datum(mark).at - at));
      index = far.indexOf(Math.min(...far));
    }
    const box = root.getBoundingClientRect(), zoom = box.width / root.clientWidth || 1;
    const [x, y] = center(every[index]);
    handle.style.translate = `${(x - box.left) / zoom}px ${(y - box.top) / zoom}px`;
    hand.show(index, datum(every[index]).words);
    if (button) button.style.translate = `0 ${(y - box.top) / zoom - 22}px`;
  }
  const soon = () => { frame ??= requestAnimationFrame(stand); };
  const changes = new MutationObserver(soon), sizes = new ResizeObserver(soon);
  changes.observe(place, { subtree: true, childList: true, attributes: true, attributeFilter: ["transform", "d", "width"] });
  sizes.observe(place);
  soon();
  return {
    update(next) {
      data = next;
      if (data.at === chosen && !hand?.isHeld()) chosen = null;
      soon();
    },
    end() { play?.stop(); changes.disconnect(); sizes.disconnect(); cancelAnimationFrame(frame); },
  };
}
