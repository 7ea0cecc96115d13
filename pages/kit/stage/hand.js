/**
 * A gold handle over a chart.
 *
 * The chart has a rail: an invisible mark for each position of the handle. Its data are `at`, the position,
 * and `words`, for a screen reader. A chart with a slider follows the handle by itself: the handle moves the
 * slider's input. Otherwise Python hears of each position, and draws the chart anew.
 *
 * data: {rail: a part of the rail's class, label, way: "across", "up" or "both", at: the position without a
 * slider, play: what a button plays, which steps along the rail, grips: [a part of the class of marks that can
 * be dragged too, their rail]. On the handle's own rail a grip takes the handle along; on another one the
 * handle goes to the position under the pointer, notices: {position: the Notice there}, which the page shows
 * while the hand moves}. A chart may have a parameter `fall`, which
 * runs from 0 to 1 after a step: it shows what the step does.
 */

import { PLAY, player } from "./player.js";
import { slider } from "./slider.js";
import { isStill } from "./svg.js";

/** A hand that rests for so long is heard before it lets go. */
const SOON_MS = 120;
/** So long after the hand's last move Python has told the Notice. */
const HEARD_MS = 1500;
const STEP_MS = 400, FALL_MS = 380;

const CHEVRONS = {
  across: "M-2.5-4-6.5 0-2.5 4M2.5-4 6.5 0 2.5 4",
  up: "M-4-2.5 0-6.5 4-2.5M-4 2.5 0 6.5 4 2.5",
  both: "M-2-4.5 0-6.5 2-4.5M-2 4.5 0 6.5 2 4.5M-4.5-2-6.5 0-4.5 2M4.5-2 6.5 0 4.5 2",
};

export function stage(root, first, send) {
  root.innerHTML = `<div class="handle ${first.way}" hidden><svg viewBox="-22 -22 44 44" aria-hidden="true"><circle r="15" class="halo"/>`
    + `<circle r="11" class="gold"/><path d="${CHEVRONS[first.way]}"/></svg></div>${first.play ? PLAY : ""}`;
  const [handle, button] = root.children;
  const place = root.getRootNode().host.closest('[class*="st-key-slid_"]');
  let data = first, frame = null, index = 0, hand = null, wait = null, chosen = null, falling = null, grip = null, untold = null, left = null;

  const input = () => (data.at === null ? place.querySelector('.vega-bind input[type="range"]:not([name="fall"])') : null);
  const chart = () => place.querySelector('[data-testid="stVegaLiteChart"]');
  const put = (target, value) => {
    target.value = value;
    target.dispatchEvent(new Event("input", { bubbles: true }));
  };
  function fall(isMoving) {
    const target = place.querySelector('.vega-bind input[name="fall"]'), began = performance.now();
    cancelAnimationFrame(falling);
    if (!target || (!isMoving && target.value === "1")) return;
    const frame = (now) => {
      const share = isMoving && !isStill() ? Math.max(0, Math.min(1, (now - began) / FALL_MS)) : 1;
      put(target, share);
      if (share < 1) falling = requestAnimationFrame(frame);
    };
    frame(began);
  }
  /** A chart of another width is drawn anew, at the hand's position, and its slider at the first one. */
  const catchUp = (target) => {
    if (left && left.chart !== chart()) left = null;
    if (left && target && target.value !== left.at && !hand?.isHeld()) put(target, left.at);
  };
  const along = (mark) => (data.way === "up" ? -mark.__data__.y : mark.__data__.x);
  /** The rail from left to right, or upward: arrow keys move the handle as they point. */
  const marks = (rail = data.rail) =>
    [...place.querySelectorAll(`svg.marks [class*="${rail}"] path`)].sort((one, other) => along(one) - along(other));
  const datum = (mark) => mark.__data__.datum;
  const center = (mark) => {
    const box = mark.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };

  /** The rail's mark that is nearest to a pointer. */
  const nearest = ({ clientX, clientY }, rail = data.rail) => {
    const distances = marks(rail).map(center).map(([x, y]) => {
      const across = data.way === "up" ? 0 : x - clientX, up = data.way === "across" ? 0 : y - clientY;
      return across * across + up * up;
    });
    return distances.indexOf(Math.min(...distances));
  };

  /** The position under a pointer: of the grip that it holds, or on the rail itself. */
  const step = (event) => {
    if (!grip) return nearest(event);
    const to = nearest({ clientX: event.clientX + grip.across, clientY: event.clientY + grip.up }, grip.rail);
    if (grip.rail === data.rail) return to;
    const { at } = datum(marks(grip.rail)[to]);
    return marks().findIndex((mark) => datum(mark).at === at);
  };
  const grab = (event) => {
    const [, rail] = data.grips.find(([part]) => event.target.closest(`[class*="${part}"]`)) ?? [];
    if (!rail || !hand || handle.hidden) return;
    const [x, y] = rail === data.rail ? center(marks()[index]) : [event.clientX, event.clientY];
    grip = { rail, across: x - event.clientX, up: y - event.clientY };
    hand.take(event);
  };
  if (first.grips.length) {
    place.addEventListener("pointerdown", grab);
    place.style.touchAction = data.way === "up" ? "pan-x" : "pan-y";
  }

  const play = button && player(button, {
    ms: STEP_MS, label: first.play,
    step() {
      const last = marks().length - 1;
      fall(true);
      change(index < last ? index + 1 : 0, false);
      return index < last;
    },
  });
  const change = (to, isLast) => {
    const mark = marks()[to], target = input();
    if (!mark) return;
    index = to;
    if (target) {
      left = { at: String(datum(mark).at), chart: chart() };
      put(target, datum(mark).at);
    }
    else {
      clearTimeout(wait);
      chosen = datum(mark).at;
      wait = setTimeout(() => {
        wait = null;
        send({ at: chosen });
      }, isLast ? 0 : SOON_MS);
    }
    stand();
  };

  const pulled = (to, isLast) => {
    play?.stop();
    // Under a finger nothing is eased; a key shows what its step does.
    fall(isLast && to !== index);
    change(to, isLast);
    if (isLast) grip = null;
  };

  /** Python's Notice of a position, over the one that stands there until Python has heard of the hand. */
  const tell = (words) => {
    const place = document.querySelector('.st-key-view_notice [data-testid="stMarkdownContainer"]');
    if (!place || !words) return;
    const live = place.querySelector(".fp8-live") ?? place.appendChild(Object.assign(document.createElement("p"), { className: "fp8-live" }));
    live.replaceChildren(...words.split("**").map((part, number) => (number % 2 ? Object.assign(document.createElement("strong"), { textContent: part }) : part)));
    clearTimeout(untold);
    untold = setTimeout(hush, HEARD_MS);
  };
  const hush = () => {
    if (hand?.isHeld()) untold = setTimeout(hush, HEARD_MS);
    else document.querySelector(".fp8-live")?.remove();
  };

  /** Put the handle where the slider stands. */
  function stand() {
    frame = null;
    const every = marks();
    handle.hidden = !every.length;
    if (handle.hidden) return;
    catchUp(input());
    hand ??= slider(handle, { low: 0, high: 0, label: data.label, step, change: pulled });
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
    if (hand.isHeld()) tell(data.notices[datum(every[index]).at]);
    if (button) button.style.translate = `0 ${(y - box.top) / zoom - 22}px`;
  }
  const soon = () => { frame ??= requestAnimationFrame(stand); };
  const changes = new MutationObserver(soon), sizes = new ResizeObserver(soon);
  changes.observe(place, { subtree: true, childList: true, attributes: true, attributeFilter: ["transform", "d", "width"] });
  sizes.observe(place);
  soon();
  return {
    update(next, isOld) {
      data = next;
      if (!isOld && wait === null && !hand?.isHeld()) chosen = null;
      soon();
    },
    end() { play?.stop(); place.removeEventListener("pointerdown", grab); changes.disconnect(); sizes.disconnect(); cancelAnimationFrame(frame); },
  };
}
