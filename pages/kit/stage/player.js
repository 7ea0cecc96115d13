/** Play and pause: calls `step()` every `ms` until it answers false. Reduced motion takes all steps at once. */

import { isStill } from "./svg.js";

export function player(button, { step, ms, label }) {
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
    if (timer) return stop();
    if (isStill()) {
      while (step());
      return undefined;
    }
    timer = setInterval(() => step() || stop(), ms);
    show();
    return undefined;
  };
  show();
  return { stop, isPlaying: () => Boolean(timer) };
}
