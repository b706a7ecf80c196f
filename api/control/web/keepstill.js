// What is in an element that is scrolled stays where it is on the screen when something above the element grows, shrinks, comes or goes: the
// element is scrolled by as much, but not so far that what must stay in sight leaves it.

// keepStill does so for what comes and goes above `scrolled`. Each of `above` is hidden now. inSight() returns the elements that must stay.
export function keepStill(scrolled, above, inSight) {
  const heights = () => Math.round(above.reduce((sum, of) => sum + of.getBoundingClientRect().height, 0)); // pages are scrolled by whole pixels
  let height = 0;
  let back = 0; // by how much less it was scrolled
  const observer = new ResizeObserver(() => {
    const by = heights() - height;
    if (by === 0) {
      return;
    }
    height += by;
    if (by > 0) {
      room(); // first, so that there is something to scroll
      scrolled.scrollTop += by;
      const hidden = scrolled.getBoundingClientRect().top - Math.min(...inSight().map((of) => of.getBoundingClientRect().top));
      if (hidden > 0) {
        scrolled.scrollTop -= hidden;
        back += hidden;
      }
    } else {
      scrolled.scrollTop += by + back;
      back = 0;
      room();
    }
  });
  above.forEach((of) => observer.observe(of));

  // room is what lies beneath the page, for the style sheet: as much can be scrolled away at the top.
  function room() {
    scrolled.style.setProperty("--above", `${height}px`);
  }
}
