"""When the page's views draw: right after what asked for it, and at most once a frame."""

from tests.widgets.node import needs_node, node

FRAMES = """
import { drawing } from "./frames.js";
const seen = [], waiting = [];
globalThis.requestAnimationFrame = (act) => waiting.push(act);
const frame = () => waiting.splice(0).forEach((act) => act());
const event = async (...values) => {
  for (const value of values) { state = value; later(); }
  await null;
  seen.push("|");
};
let state = 0;
const later = drawing(() => { seen.push(state); });
await event(1, 2, 3);  // three changes of one event
await event(4);
await event(5);        // both before the next frame
frame();
frame();               // nothing was asked for
await event(6);
console.log(JSON.stringify(seen));
"""


@needs_node
def test_a_view_draws_after_its_event_and_once_a_frame():
    """What is seen last is what was asked for last."""
    assert node(FRAMES, None) == [3, "|", "|", "|", 5, 6, "|"]
