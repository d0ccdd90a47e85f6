"""Whatever document a comment or a page cites is in the tree, and so is the section."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CODE = ("interpose", "include", "wrappers", "tests", "benchmarks", "build-aux", "examples", "scripts")
SUFFIXES = {".py", ".c", ".h", ".S", ".cc", ".cpp", ".def", ".build", ".md", ".supp", ".sh", ""}

MENTION = re.compile(r"(?<![\w/.{}-])((?:\.\./)*(?:[\w.-]+/)*[\w-]+\.md)\b")
QUOTED = re.compile(r"""(["'])[\w./-]+\.md\1""")
"""A whole string is a path that code puts together."""
NUMBERS = re.compile(r"\)?,? sections? (\d+(?:\.\d+)*(?:(?:, | and | to )\d+(?:\.\d+)*)*)")
POINTS = re.compile(r"\)?,? points? (\d+(?:(?:, | and | to )\d+)*)")
TITLE = re.compile(r"""\)?, ["']([A-Z][^"']*)["'](?: and ["']([A-Z][^"']*)["'])?""")
NOT_HERE = re.compile(
    r"2002 design|memcheck[- ]engine|valgrind manual|\.\./shared|\w+-design\.txt", re.IGNORECASE
)
"""Words that name a document which is not part of the project."""


def flowing(text: str) -> str:
    """The text with lines joined, without the signs that begin lines of comments."""
    return re.sub(r"\s*\n[ \t]*(?:\*(?!/)|#:?|//|--)?[ \t]*", " ", text)


def found(name: str, where: Path, root: Path) -> Path | None:
    """The page that a file at ``where`` calls ``name``: from the root, and in pages from their own folder."""
    for folder in [where.parent, root] if where.suffix == ".md" else [root]:
        if (folder / name).is_file():
            return folder / name
    return None


def problems(text: str, where: Path, root: Path = ROOT) -> list[str]:
    """What a file cites and is not there."""
    wrong = [f"{match[0]} is not in the tree" for match in NOT_HERE.finditer(text)]
    text = flowing(text)
    strings = {match.start() + 1 for match in QUOTED.finditer(text)}
    for match in MENTION.finditer(text):
        name, rest = match[1], text[match.end() :]
        if match.start() in strings:
            continue
        rest = re.sub(r"^`+|^\]\([^)]*\)", "", rest)
        page = found(name, where, root)
        if page is None:
            wrong.append(f"{name} is not in the tree")
            continue
        content = page.read_text()
        for pattern, heading in (
            (NUMBERS, r"^#+ {}[. ]"),
            (POINTS, r"^{}\. "),
            (TITLE, r"^#+ (?:[\w.]+ )?{}$"),
        ):
            cited = pattern.match(rest)
            parts = (
                [part for group in cited.groups() if group for part in split(group, pattern)] if cited else []
            )
            for part in parts:
                if not re.search(heading.format(re.escape(part)), content, re.MULTILINE):
                    wrong.append(f"{name} has no {part!r}")
    return wrong


def split(group: str, pattern: re.Pattern[str]) -> list[str]:
    return [group] if pattern is TITLE else re.split(r", | and | to ", group)


def sources() -> list[Path]:
    files = [path for folder in CODE for path in (ROOT / folder).rglob("*")]
    files += [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "meson.build", ROOT / ".ci" / "run"]
    return sorted(
        path
        for path in files
        if path.is_file() and path.suffix in SUFFIXES and not {"_lib", "__pycache__"} & set(path.parts)
    )


def test_every_citation_leads_somewhere():
    files = [path for path in sources() if path != Path(__file__)]
    assert len(files) > 500
    wrong = [
        f"{path.relative_to(ROOT)}: {problem}"
        for path in files
        for problem in problems(path.read_text(errors="replace"), path)
    ]
    assert not wrong, "\n".join(wrong)


def anchors(page: Path) -> set[str]:
    """What a link into a page may name: its headings, as they are written in addresses."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_of_pages_lead_somewhere():
    wrong = []
    for path in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]:
        for link, heading in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", path.read_text()):
            target = path.parent / link if link else path
            if "://" in link:
                continue
            if not target.exists() or (heading and heading not in anchors(target)):
                wrong.append(f"{path.relative_to(ROOT)}: {link}#{heading}")
    assert not wrong, "\n".join(wrong)


def test_files_that_headers_name_above_their_prototypes_are_there():
    wrong, count = [], 0
    for header in [*(ROOT / "interpose").rglob("*.h"), *(ROOT / "wrappers").rglob("*.h")]:
        for banner in re.findall(r"^/\* -{4} (.*)$", header.read_text(), re.MULTILINE):
            for name in re.findall(r"\b\w+\.[cS]\b", banner):
                count += 1
                if not any((ROOT / "interpose").rglob(name)) and not any((ROOT / "wrappers").rglob(name)):
                    wrong.append(f"{header.relative_to(ROOT)}: {name}")
    assert count > 30
    assert not wrong, "\n".join(wrong)


PAGE = "# Page\n\n## 1. One\n\n### 1.2 More\n\n7. a point\n\n## Titles matter\n"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("/* docs/page.md section 1 */", []),
        ("# docs/page.md sections 1 and 1.2", []),
        ("/* as docs/page.md\n * section 1.2 says */", []),
        ("# docs/page.md, point 7", []),
        ('"""docs/page.md, "Titles matter"."""', []),
        ('open(ROOT / "other.md")', []),
        ("/* page.md section 1 */", ["page.md is not in the tree"]),
        ("# docs/page.md section 2", ["docs/page.md has no '2'"]),
        ("# docs/page.md sections 1, 1.2 and 1.3", ["docs/page.md has no '1.3'"]),
        ("# docs/page.md, points 7 and 8", ["docs/page.md has no '8'"]),
        ('/* (docs/page.md, "Titles\n * do not") */', ["docs/page.md has no 'Titles do not'"]),
        ("# Memcheck engine, 'Stacks'", ["Memcheck engine is not in the tree"]),
    ],
)
def test_what_is_missing_is_found(tmp_path, text, wrong):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(PAGE)
    assert problems(text, tmp_path / "code.c", tmp_path) == wrong
