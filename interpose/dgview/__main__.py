"""``interpose-dgview [--ranges=C,...] [--events=C,...] FILE``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from interpose.console import talk
from interpose.errors import InterposeError

USAGE = """\
Usage: interpose-dgview [options] FILE
  -e, --events=C,...      accesses whose instruction or call stack matches
  -r, --ranges=C,...      accesses to memory that matches
                          C: fn:NAME file:PATH dso:PATH user:LABEL, for --ranges also malloc range
      --fetches           instruction fetches, too
      --png OUT           draw into a file, without a browser
      --size WxH          pixels of the file [1600x1000]
      --addresses A-B     part to draw, e.g. 0x4000-0x5fff
      --instrs A-B        part to draw, in instructions completed
      --port N            of the page [any]
"""
_MOST_INSTRS = 1 << 62  # no program completes so many
_VALUED = {"-e": "events", "-r": "ranges"} | {
    f"--{name}": name for name in ("events", "ranges", "png", "size", "addresses", "instrs", "port")
}


class UsageError(InterposeError):
    """A command line that is none."""

    exit_code = 2


def _parse(words: Sequence[str]) -> tuple[str, dict[str, str], bool]:
    """File, options with values, --fetches."""
    options: dict[str, str] = {}
    files: list[str] = []
    fetches = False
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--":
            files += rest
        elif word == "--fetches":
            fetches = True
        elif word in ("-h", "--help"):
            print(USAGE, end="")
            raise SystemExit(0)
        elif name in _VALUED:
            if not equals:
                value = next(rest, "")
                if not value:
                    raise UsageError(f"{word}: a value is missing", *USAGE.splitlines())
            options[_VALUED[name]] = value
        elif word[:2] in _VALUED and len(word) > 2 and word[1] != "-":
            options[_VALUED[word[:2]]] = word[2:].removeprefix("=")
        elif word.startswith("-") and word != "-":
            raise UsageError(f"Unknown option: {word}", *USAGE.splitlines())
        else:
            files.append(word)
    if len(files) != 1:
        raise UsageError("one file is needed", *USAGE.splitlines())
    return files[0], options, fetches


def _pair(text: str, separator: str, option: str) -> tuple[int, int]:
    first, _, second = text.partition(separator)
    try:
        return int(first, 0), int(second, 0)
    except ValueError:
        raise UsageError(f"Bad value: {option}={text}") from None


def _range(text: str, option: str, most: int) -> tuple[int, int]:
    first, last = _pair(text, "-", option)
    if not first <= last <= most:
        raise UsageError(f"Bad value: {option}={text}")
    return first, last


def main(words: Sequence[str]) -> int:
    """Draw, or serve the page."""
    path, options, fetches = _parse(words)
    events, ranges = options.get("events"), options.get("ranges")
    from interpose.dgview import conditions, picture
    from interpose.dgview.viewer import Viewer

    for text, is_ranges in ((events, False), (ranges, True)):
        if text is not None:
            conditions.parse(text, ranges=is_ranges)
    width, height = _pair(options.get("size", "1600x1000"), "x", "--size")
    if min(width, height) < 1 or width * height > picture.MOST_PIXELS:
        raise UsageError(f"Bad value: --size={options['size']}")
    parts = {
        name: _range(options[name], f"--{name}", most)
        for name, most in (("addresses", (1 << 64) - 1), ("instrs", _MOST_INSTRS))
        if name in options
    }
    if "port" in options and not (options["port"].isdigit() and int(options["port"]) < 65536):
        raise UsageError(f"Bad value: --port={options['port']}")
    viewer = Viewer(path)
    whole = viewer.whole
    for problem in whole.trace.problems:
        print(f"{path}: {problem.reason} (at byte {problem.offset})", file=sys.stderr)
    if whole.trace.n_problems > len(whole.trace.problems):
        print(f"{path}: {whole.trace.n_problems} records were dropped", file=sys.stderr)
    if whole.error is not None:
        print(whole.error.message, file=sys.stderr)
        if not whole.places:
            return 1
    viewer.set_filter(events or "", ranges or "", fetches)
    if viewer.failed is not None:
        raise InterposeError(viewer.failed)
    index = viewer.index
    print(f"{path}: {', '.join(f'{count} {name}' for name, count in viewer.counts().items())}", flush=True)
    if index.n_pages == 0:
        print(f"{path}: No accesses match the criteria.", file=sys.stderr, flush=True)
        if "png" in options:
            return 1
    if "png" not in options:
        from interpose.dgview.server import serve

        serve(viewer, int(options.get("port", "0")))
        return 0
    view = picture.whole(index, width, height)
    if "addresses" in parts:
        first, last = parts["addresses"]
        end = min(last + 1, (1 << 64) - 1)
        view = view._replace(left=index.column(first), right=index.column(end))
    if "instrs" in parts:
        view = view._replace(top=parts["instrs"][0], bottom=parts["instrs"][1] + 1)
    if view.right <= view.left or view.bottom <= view.top:
        raise InterposeError(f"{path}: No accesses match the criteria.")
    data, _ = picture.draw(index, view)
    try:
        with open(options["png"], "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise InterposeError(f"{options['png']}: {error.strerror}") from error
    return 0


def entry() -> None:
    """The console script."""
    # Without a prefix: most begin with the file, and the others are the original viewer's.
    talk(main, lambda error: print(*error.lines(), sep="\n", file=sys.stderr))


if __name__ == "__main__":
    entry()
