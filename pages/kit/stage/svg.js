/** SVG and HTML elements, kept by name: a redraw changes attributes and makes no element twice. */

const NS = "http://www.w3.org/2000/svg";

/** A layer of an SVG, above those made before it: `put(name, tag, attributes, text)` makes or changes one element; `end()` drops the rest. */
export function layer(parent) {
  const group = parent.appendChild(document.createElementNS(NS, "g"));
  const elements = new Map();
  let used = new Set();
  return {
    put(name, tag, attributes = {}, text = null) {
      let element = elements.get(name);
      if (!element) {
        element = group.appendChild(document.createElementNS(NS, tag));
        elements.set(name, element);
      }
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      if (text !== null && element.textContent !== text) element.textContent = text;
      used.add(name);
      return element;
    },
    end() {
      for (const [name, element] of elements) {
        if (used.has(name)) continue;
        element.remove();
        elements.delete(name);
      }
      used = new Set();
    },
  };
}

/** The points of a line as an SVG path. */
export function path(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** A pointer's place in an element's own pixels, also where a projector's page is zoomed. */
export function pointer(element, event) {
  const box = element.getBoundingClientRect();
  return {
    x: ((event.clientX - box.left) * element.clientWidth) / box.width,
    y: ((event.clientY - box.top) * element.clientHeight) / box.height,
  };
}

/** Float32 numbers out of base64. */
export function floats(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

/** True where the reader asked for no motion. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
