// What a page's browser does of itself. `PAGES`, the names of all pages, stands before this script.

// Streamlit would look for the server below the page's own name first, and get two answers 404.
const folder = new URL(".", location.href);
if (PAGES.includes(location.pathname.slice(folder.pathname.length))) window.__streamlit = { BACKEND_BASE_URL: folder.href };

// A part of the foot that opens below the window comes into sight, once its height stands still.
const STILL_MS = 300;
addEventListener("toggle", ({ target }) => {
    if (!target.open || !target.closest(".st-key-view_foot")) return;
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
    let wait = null;
    const sizes = new ResizeObserver(() => {
        clearTimeout(wait);
        wait = setTimeout(() => {
            sizes.disconnect();
            target.scrollIntoView({ block: "nearest", behavior });
        }, STILL_MS);
    });
    sizes.observe(target);
}, true);

// Presented, the list of pages lies over the page: a choice closes it.
addEventListener("click", ({ target }) => {
    const list = target.closest('[data-testid="stSidebar"]');
    if (!list || !target.closest("a") || getComputedStyle(list).position !== "fixed") return;
    list.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
});
