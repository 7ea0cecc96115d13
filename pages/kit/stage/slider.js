/** A slider for hand and keys: an HTML element with the role, its value in words, and one callback. */

/**
 * Make `element` a slider over whole steps `low` to `high`.
 *
 * - `step(event)`: the step under a pointer.
 * - `change(step, isLast)`: called for every new step; `isLast` when the hand lets go, or after a key.
 * - `rise()`: steps that the arrow up takes; of a picture's pixels, row by row, less than none.
 *
 * Returns `show(step, words)`, which tells a screen reader where it stands, `reach(high)`, which changes the
 * last step, `isHeld()`, and `take(event)`, by which a pointer that went down elsewhere holds the handle.
 */
export function slider(element, { low, high, label, step, change, rise = () => 1 }) {
  let at = low;
  let isHeld = false;
  element.tabIndex = 0;
  element.setAttribute("role", "slider");
  element.setAttribute("aria-label", label);
  element.setAttribute("aria-valuemin", low);
  element.setAttribute("aria-valuemax", high);

  const move = (to, isLast) => {
    const next = Math.max(low, Math.min(high, Math.round(to)));
    if (next === at && !isLast) return;
    at = next;
    change(at, isLast);
  };
  const take = (event) => {
    if (event.button) return;
    element.setPointerCapture(event.pointerId);
    isHeld = true;
    move(step(event), false);
  };
  element.onpointerdown = take;
  element.onpointermove = (event) => isHeld && move(step(event), false);
  element.onpointerup = element.onpointercancel = () => {
    if (!isHeld) return;
    isHeld = false;
    move(at, true);
  };
  const keys = () => {
    const up = rise(), page = up * Math.max(1, Math.round((high - low) / 10 / Math.abs(up)));
    return { ArrowUp: up, ArrowRight: 1, ArrowDown: -up, ArrowLeft: -1, PageUp: page, PageDown: -page, Home: low - high, End: high - low };
  };
  element.onkeydown = (event) => {
    if (!(event.key in keys()) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const to = at + keys()[event.key];
    // Above its first row and below its last one, a picture has no pixel.
    if (rise() > 0 || (to >= low && to <= high) || ["Home", "End"].includes(event.key)) move(to, true);
  };
  return {
    isHeld: () => isHeld,
    take,
    reach(to) {
      high = to;
      element.setAttribute("aria-valuemax", to);
    },
    show(to, words) {
      at = to;
      element.setAttribute("aria-valuenow", to);
      element.setAttribute("aria-valuetext", words);
    },
  };
}
