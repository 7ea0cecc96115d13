/** Play and pause: calls `step()` every `ms` until it answers false, then `rest()`, also after a pause. Reduced
 * motion takes all steps at once.
 */

import { isStill } from "./svg.js";

/** The button's HTML. */
export const PLAY = '<button class="play" type="button"><svg viewBox="0 0 36 36" aria-hidden="true"><circle cx="18" cy="18" r="16.5"/>'
  + '<path class="go" d="M14 11v14l11-7z"/><path class="rest" d="M14 12v12M22 12v12"/></svg></button>';

export function player(button, { step, ms, label, rest = () => {} }) {
  let timer = null;
  const show = () => {
    button.setAttribute("aria-label", timer ? `Pause: ${label}` : `Play: ${label}`);
    button.dataset.playing = Boolean(timer);
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    show();
  };
  button.onclick = () => {
    if (timer) {
      stop();
      rest();
    } else if (isStill()) {
      while (step());
      rest();
    } else {
      timer = setInterval(() => {
        if (step()) return;
        stop();
        rest();
      }, ms);
      show();
    }
  };
  show();
  return { stop, isPlaying: () => Boolean(timer) };
}
