"""HTML files that need nothing else: data, the style and the script that shows them.

All texts go into one JSON text, from which the page's script makes text nodes: no name is ever markup. The
page's policy forbids any script but its own, and any connection.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from pathlib import Path

_ELEMENTS = Path(__file__).with_name("onepage.js")


def html(title: str, content: object, folder: Path) -> bytes:
    """A page of ``content``, by the ``page.js`` and the ``page.css`` of a folder."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True)
    # No character of the data can end its element, begin another or a comment.
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    style = (folder / "page.css").read_text()
    script = _ELEMENTS.read_text() + (folder / "page.js").read_text()
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_policy(script, style))}">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        "<noscript>This page is drawn by its own script; nothing is loaded.</noscript>\n"
        '<div id="page"></div>\n'
        f'<script type="application/json" id="data">{text}</script>\n<script>{script}</script>\n'
        "</body>\n</html>\n"
    ).encode()


def _policy(script: str, style: str) -> str:
    """What a page may do: run its own script in its own style, and nothing else."""
    return f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'"


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
