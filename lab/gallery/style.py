"""How the pages of the gallery look."""

from __future__ import annotations

from lab.widgets import modules

STYLE = """
body { max-width: 1120px; }
.faint { color: var(--faint); }
.site { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; align-items: baseline; padding: .2rem 0 .6rem; }
.site a { text-decoration: none; } .site a:hover { text-decoration: underline; }
.site a:first-child { font-weight: 700; color: var(--ink); }
.lead { font-size: 1.1rem; max-width: 46rem; margin: .2rem 0 .8rem; }
.hero h1 { font-size: clamp(1.5rem, 4.2vw, 2.3rem); line-height: 1.15; margin: .4rem 0 .5rem; max-width: 26em; }
.stage { border: 1px solid var(--line); border-radius: 8px; padding: .7rem .9rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .8rem; margin: 1rem 0;
  padding: 0; list-style: none; }
.facts b { display: block; font-size: 1.7rem; line-height: 1.2; }
.bar { display: flex; height: 12px; border-radius: 6px; overflow: hidden; margin: .5rem 0; gap: 2px; }
.holds { --verdict: #009E73; } .fails { --verdict: #D55E00; }
.holds.stand-in { --verdict: #8fd4be; } .fails.stand-in { --verdict: #ecb387; }
.open { --verdict: #E69F00; } .absent { --verdict: #9a9a9a; }
.bar span { background: var(--verdict); min-width: 2px; }
.count { white-space: nowrap; }
.dot { display: inline-block; width: .75em; height: .75em; border-radius: 50%; background: var(--verdict); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(250px, 100%), 1fr)); gap: 1rem; }
.card { border: 1px solid var(--line); border-radius: 6px; overflow: hidden; min-width: 0; overflow-wrap: anywhere; }
.card > :not(.shot):not(svg) { margin-left: .7rem; margin-right: .7rem; }
.card .shot { display: block; border-bottom: 1px solid var(--line); }
/* Pictures are light. Where the page is dark, drawings are turned: white becomes the ground, colours stay as they are,
   and shades are turned with the bar that says what they mean. What shows photographs is only dimmed. */
@media (prefers-color-scheme: dark) {
  img.drawing { filter: invert(1) hue-rotate(180deg); mix-blend-mode: screen; }
  img.photographs { filter: brightness(.8); }
}
.card img { display: block; width: 100%; height: 165px; object-fit: cover; object-position: 50% 0; }
.card svg.curve { display: block; width: 100%; height: 110px; }
.card h3 { font-size: 1rem; line-height: 1.3; margin: .5rem 0 .2rem; }
.card p { margin: .2rem 0 .3rem; font-size: .9rem; }
a.card { text-decoration: none; }
.verdicts { list-style: none; padding: 0; margin: .4rem 0; }
.verdicts li { display: grid; grid-template-columns: 1.4em minmax(0, 1fr) 170px; gap: 0 .5rem; align-items: center;
  padding: .45rem 0; border-top: 1px solid var(--line); }
.verdicts svg { width: 170px; height: 26px; }
.verdicts p { margin: 0; } .verdicts .faint { font-size: .9rem; }
@media (max-width: 640px) {
  .verdicts li { grid-template-columns: 1.4em minmax(0, 1fr); }
  .verdicts svg { grid-column: 2; }
}
img, pre, table { max-width: 100%; }
.anchor-link { display: none; }
pre { overflow: auto; background: color-mix(in srgb, var(--ink) 7%, var(--ground)); padding: .5rem; }
details summary { cursor: pointer; }
#plot { border-radius: 4px; }
"""


def style() -> str:
    """The style sheet of the site."""
    return modules.style() + STYLE
