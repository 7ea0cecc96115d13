/** Tells Python what the hand has set, and knows which of its answers are of moves before. */

/** Milliseconds after which an answer counts whatever was sent: a reset is no answer. */
const PATIENCE_MS = 1500;

export function sender(send) {
  let awaited = null;
  return {
    post(state) {
      awaited = { state, until: performance.now() + PATIENCE_MS };
      send({ ...state });
    },
    /** Python answers in order: until it has heard of the last move, its answers are old. */
    isOld(state) {
      const isOld = awaited && performance.now() < awaited.until
        && Object.keys(awaited.state).some((part) => awaited.state[part] !== state[part]);
      if (!isOld) awaited = null;
      return Boolean(isOld);
    },
  };
}
