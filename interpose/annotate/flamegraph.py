"""A flame graph as one SVG file: hovering names a frame, a click enlarges it, a search marks frames."""

from __future__ import annotations

import zlib
from html import escape

from interpose.annotate.data import Data
from interpose.annotate.export import ESTIMATED, title
from interpose.annotate.stacks import estimate, laid_out
from interpose.annotate.text import safe

WIDTH = 1200
ROW = 17
TOP = 62
# Less is not seen, even enlarged, and a browser keeps an element for each.
MAX_SHOWN = 8_000
SMALLEST_SHOWN = 3e-5

_STYLE = """
text { font: 12px Verdana, sans-serif; fill: #111; }
.frame text { pointer-events: none; }
.frame rect { stroke: #fff; stroke-width: .4; cursor: pointer; }
.frame:hover rect { stroke: #000; stroke-width: 1; }
.found rect { fill: #d05ce3 !important; }
#title { font-size: 16px; text-anchor: middle; }
#note { fill: #666; text-anchor: middle; font-size: 10px; }
.button { cursor: pointer; text-decoration: underline; fill: #06c; }
"""

# Works on the attributes x and w, shares of the whole, of each frame; names are only ever text content.
_SCRIPT = """
(function () {
  'use strict';
  var root = document.documentElement, width = %(width)d;
  var frames = Array.prototype.slice.call(document.querySelectorAll('.frame'));
  var details = document.getElementById('details'), matched = document.getElementById('matched');
  var start = 0, span = 1;
  function draw() {
    frames.forEach(function (frame) {
      var x = (+frame.getAttribute('data-x') - start) / span * width;
      var w = +frame.getAttribute('data-w') / span * width;
      var from = Math.max(0, x), to = Math.min(width, x + w);
      if (to - from < 0.3) { frame.style.display = 'none'; return; }
      frame.style.display = '';
      var rect = frame.querySelector('rect'), text = frame.querySelector('text');
      rect.setAttribute('x', from);
      rect.setAttribute('width', to - from);
      text.setAttribute('x', from + 3);
      var name = frame.getAttribute('data-name'), room = Math.floor((to - from - 6) / 7);
      text.textContent = room < 3 ? '' : name.length <= room ? name : name.slice(0, room - 1) + '\\u2026';
    });
  }
  function zoom(frame) {
    start = frame ? +frame.getAttribute('data-x') : 0;
    span = frame ? +frame.getAttribute('data-w') : 1;
    document.getElementById('reset').style.display = frame ? '' : 'none';
    draw();
  }
  function search(what) {
    var pattern = null, found = [];
    if (what) { try { pattern = new RegExp(what, 'i'); } catch (error) { pattern = null; } }
    frames.forEach(function (frame) {
      var name = frame.getAttribute('data-name');
      var hit = !!what && (pattern ? pattern.test(name) : name.indexOf(what) >= 0);
      frame.classList.toggle('found', hit);
      if (hit) { found.push([+frame.getAttribute('data-x'), +frame.getAttribute('data-w')]); }
    });
    var sum = 0, end = -1;
    found.sort(function (a, b) { return a[0] - b[0] || b[1] - a[1]; }).forEach(function (each) {
      if (each[0] >= end - 1e-12) { sum += each[1]; end = each[0] + each[1]; }
    });
    matched.textContent = what ? 'Matched: ' + (100 * sum).toFixed(2) + '%%' : '';
  }
  frames.forEach(function (frame) {
    frame.addEventListener('click', function () { zoom(frame); });
    frame.addEventListener('mouseover', function () {
      details.textContent = frame.querySelector('title').textContent;
    });
    frame.addEventListener('mouseout', function () { details.textContent = ' '; });
  });
  function ask() {
    var what = window.prompt('Search for (a regular expression):', '');
    if (what !== null) { search(what); }
  }
  document.getElementById('reset').addEventListener('click', function () { zoom(null); });
  document.getElementById('search').addEventListener('click', ask);
  window.addEventListener('keydown', function (event) {
    if ((event.ctrlKey && event.key === 'f') || event.key === 'F3') { event.preventDefault(); ask(); }
    if (event.key === 'Escape') { search(''); zoom(null); }
  });
  root.interposeSearch = search;
  draw();
}());
"""


def _colour(name: str) -> str:
    """A warm colour that a name always has."""
    number = zlib.crc32(name.encode("utf-8", "surrogateescape"))
    return f"rgb({205 + number % 50},{60 + (number >> 8) % 130},{(number >> 16) % 55})"


def svg(data: Data, event: int) -> bytes:
    """The picture of one event's cost."""
    estimated = estimate(data, event, MAX_SHOWN, SMALLEST_SHOWN)
    frames = list(laid_out(estimated, event))
    whole = sum(frame.whole[event] for frame, _ in frames if frame.parent is None)
    deepest = max((frame.depth for frame, _ in frames), default=0)
    height = TOP + (deepest + 1) * ROW + 34
    name = safe(data.events[event])
    rows = []
    for frame, start in frames:
        cost = frame.whole[event]
        x, w = start / whole, cost / whole
        y = TOP + (deepest - frame.depth) * ROW
        function = frame.function
        shown = escape(safe(function.name))
        details = (
            f"{shown} ({escape(safe(function.file))}) [{escape(safe(function.object))}]: "
            f"{cost:,} {escape(name)} ({100 * w:.2f}%), itself {frame.own[event]:,}"
        )
        rows.append(
            f'<g class="frame" data-x="{x:.9g}" data-w="{w:.9g}" data-name="{shown}"><title>{details}</title>'
            f'<rect x="{x * WIDTH:.2f}" y="{y}" width="{w * WIDTH:.2f}" height="{ROW - 1}" '
            f'fill="{_colour(function.name)}"/><text x="{x * WIDTH + 3:.2f}" y="{y + 12}"></text></g>'
        )
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}">\n<style>{_STYLE}</style>\n'
        f'<rect width="100%" height="100%" fill="#fbfbf4"/>\n'
        f'<text id="title" x="{WIDTH // 2}" y="22">{escape(name)}: {escape(title(data))}</text>\n'
        f'<text id="note" x="{WIDTH // 2}" y="38">{escape(ESTIMATED)}</text>\n'
        '<text id="reset" class="button" x="8" y="22" style="display:none">Reset zoom</text>\n'
        f'<text id="search" class="button" x="{WIDTH - 60}" y="22">Search</text>\n'
        f'<text id="matched" x="{WIDTH - 160}" y="{height - 10}"></text>\n'
        f'<text id="details" x="8" y="{height - 10}"> </text>\n'
    )
    script = _SCRIPT % {"width": WIDTH}
    return (head + "\n".join(rows) + f"\n<script><![CDATA[{script}]]></script>\n</svg>\n").encode()
