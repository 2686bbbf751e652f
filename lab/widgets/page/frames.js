// When a view draws: right after the event that asks for it, for until the next frame the page has nothing else to do. What
// is asked for once more before that frame is drawn in it, and only once.
export function drawing(draw) {
  let drawn = false, asked = false; // since the last frame
  const now = () => {
    asked = false;
    drawn = true;
    requestAnimationFrame(() => { drawn = false; if (asked) now(); });
    draw();
  };
  return () => {
    if (!asked && !drawn) queueMicrotask(() => { if (asked && !drawn) now(); }); // several changes of one event: one draw
    asked = true;
  };
}
