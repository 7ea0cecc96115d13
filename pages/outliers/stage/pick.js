/** Clicks on the error maps of the page: Python hears which map, and at which share of its width and height. */

export function stage(root, data, send) {
  const page = root.getRootNode().host.closest('[data-testid="stMain"]');
  let count = 0;

  const click = ({ clientX, clientY }) => {
    const boxes = [...page.querySelectorAll("svg.marks image")].map((image) => image.getBoundingClientRect());
    const map = boxes.findIndex((box) => box.left <= clientX && clientX < box.right && box.top <= clientY && clientY < box.bottom);
    if (map < 0) return;
    const box = boxes[map];
    count += 1; // the same place again is news, too
    send({ map, across: (clientX - box.left) / box.width, down: (clientY - box.top) / box.height, count });
  };
  page.addEventListener("click", click);
  return {
    update() {},
    end() { page.removeEventListener("click", click); },
  };
}
