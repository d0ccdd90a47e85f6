"""The option tables against docs/spec/options.md, help texts and documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interpose import tools
from interpose.options.core import CoreOptions
from interpose.options.document import document
from interpose.options.helptext import dynamic_text, dynamic_words, help_text
from interpose.options.spec import IGNORED, PLANNED, WORKS

DOCS = Path(__file__).parents[2] / "docs"

# docs/spec/options.md sections 2 to 6: option and default, as users' scripts rely on them.
CORE_DEFAULTS = {
    "--tool": "memcheck", "--trace-children": "no", "--trace-children-skip": "",
    "--trace-children-skip-by-arg": "", "--child-silent-after-fork": "no", "--vgdb": "yes",
    "--vgdb-error": "999999999", "--vgdb-stop-at": "none", "--track-fds": "no", "--modify-fds": "no",
    "--time-stamp": "no", "--log-file": "", "--log-socket": "", "--enable-debuginfod": "yes", "--xml":
    "no", "--xml-file": "", "--xml-socket": "", "--xml-user-comment": "", "--demangle": "yes",
    "--num-callers": "12", "--error-limit": "yes", "--exit-on-first-error": "no", "--error-markers":
    "none", "--show-error-list": "no", "--keep-debuginfo": "no", "--show-below-main": "no",
    "--default-suppressions": "yes", "--suppressions": "", "--gen-suppressions": "no", "--dsymutil":
    "yes", "--max-stackframe": "2000000", "--alignment": "16", "--redzone-size": "16",
    "--realloc-zero-bytes-frees": "yes", "--xtree-memory": "none", "--xtree-memory-file":
    "xtmemory.kcg.%p", "--xtree-compress-strings": "yes", "--trace-malloc": "no", "--fullpath-after": "",
    "--extra-debuginfo-path": "", "--debuginfo-server": "", "--allow-mismatched-debuginfo": "no",
    "--smc-check": "all-non-file", "--read-var-info": "no", "--vgdb-poll": "5000",
    "--vgdb-shadow-registers": "no", "--run-libc-freeres": "yes", "--run-cxx-freeres": "yes",
    "--sim-hints": "none", "--scheduling-quantum": "100000", "--fair-sched": "no", "--kernel-variant":
    "none", "--merge-recursive-frames": "0", "--num-transtab-sectors": "32", "--avg-transtab-entry-size":
    "0", "--aspace-minaddr": "guessed", "--valgrind-stacksize": "1048576", "--show-emwarns": "no",
    "--require-text-symbol": "", "--soname-synonyms": "", "--sigill-diagnostics": "yes", "--max-threads":
    "500", "--max-guard-pages": "500", "--unw-stack-scan-thresh": "0", "--unw-stack-scan-frames": "5",
    "--stats": "no", "--sanity-level": "1", "--trace-flags": "00000000", "--profile-flags": "00000000",
    "--profile-interval": "0", "--trace-notbelow": "999999999", "--trace-notabove": "0",
    "--trace-syscalls": "no", "--trace-signals": "no", "--trace-symtab": "no", "--trace-symtab-patt": "*",
    "--trace-cfi": "no", "--debug-dump": "", "--trace-redir": "no", "--trace-sched": "no",
    "--profile-heap": "no", "--core-redzone-size": "4", "--wait-for-gdb": "no", "--sym-offsets": "no",
    "--progress-interval": "0", "--command-line-only": "no", "--dump-error": "0", "--vex-iropt-verbosity":
    "0", "--vex-iropt-level": "2", "--vex-iropt-unroll-thresh": "120", "--vex-iropt-fold-expr": "yes",
    "--vex-guest-max-insns": "50", "--vex-guest-chase": "yes", "--vex-iropt-register-updates":
    "unwindregs-at-mem-access", "--px-default": "unwindregs-at-mem-access", "--px-file-backed":
    "unwindregs-at-mem-access", "--vex-regalloc-version": "3", "--vex-iropt-precise-memory-exns": "",
}  # fmt: skip
MEMCHECK_DEFAULTS = {
    "--leak-check": "summary", "--leak-resolution": "high", "--show-leak-kinds": "definite,possible",
    "--errors-for-leak-kinds": "definite,possible", "--leak-check-heuristics": "all", "--show-reachable":
    "", "--show-possibly-lost": "", "--xtree-leak": "no", "--xtree-leak-file": "xtleak.kcg.%p",
    "--undef-value-errors": "yes", "--track-origins": "yes", "--partial-loads-ok": "yes",
    "--expensive-definedness-checks": "auto", "--freelist-vol": "20000000", "--freelist-big-blocks":
    "1000000", "--workaround-gcc296-bugs": "no", "--ignore-ranges": "", "--ignore-range-below-sp": "",
    "--malloc-fill": "", "--free-fill": "", "--keep-stacktraces": "alloc-and-free",
    "--show-mismatched-frees": "yes", "--show-realloc-size-zero": "yes",
}  # fmt: skip
# Section 9, word for word.
CORE_DYNAMIC = """-v --verbose -q --quiet -d --stats --vgdb=no --vgdb=yes --vgdb=full --vgdb-poll --vgdb-error
--vgdb-stop-at --error-markers --show-error-list -s --show-below-main --time-stamp --trace-children
--child-silent-after-fork --scheduling-quantum --trace-sched --trace-signals --trace-symtab
--trace-cfi --debug-dump=syms --debug-dump=line --debug-dump=frames --trace-redir --trace-syscalls
--sym-offsets --progress-interval --merge-recursive-frames --vex-iropt-verbosity
--vex-iropt-fold-expr --suppressions --trace-flags --trace-notbelow --trace-notabove --profile-flags
--gen-suppressions=no --gen-suppressions=yes --gen-suppressions=all""".split()
MEMCHECK_DYNAMIC = """--errors-for-leak-kinds --show-leak-kinds --leak-check-heuristics --show-reachable
--show-possibly-lost --freelist-vol --freelist-big-blocks --leak-check=no --leak-check=summary
--leak-check=yes --leak-check=full --ignore-ranges --ignore-range-below-sp --show-mismatched-frees
--show-realloc-size-zero""".split()

MEMCHECK = tools.load("memcheck").Options
TABLES = [CoreOptions, *(tools.load(name).Options for name in tools.names())]
ROWS = [option for table in TABLES for option in table.options()]


@pytest.mark.parametrize(("table", "defaults"), [(CoreOptions, CORE_DEFAULTS), (MEMCHECK, MEMCHECK_DEFAULTS)])
def test_defaults_are_those_of_the_contract(table, defaults):
    rows = table.spellings()
    assert {name: rows[name].show_default() for name in defaults} == defaults


def test_flags_of_the_contract():
    rows = CoreOptions.spellings()
    for word in "-h --help --help-debug --help-dyn-options --version -q --quiet -v --verbose -s -d".split():
        assert not rows[word].takes_value
    assert (
        rows["--log-fd"].default == 2 and rows["--xml-fd"].default == -1 and rows["--input-fd"].default == 0
    )
    assert rows["--error-exitcode"].default == 0 and rows["--main-stacksize"].default == 0


def test_dynamic_sets_are_those_of_the_contract():
    assert sorted(dynamic_words(CoreOptions)) == sorted(CORE_DYNAMIC)
    assert sorted(dynamic_words(MEMCHECK)) == sorted(MEMCHECK_DYNAMIC)
    listed = dynamic_text("memcheck").split("options:")[-1].split()
    assert sorted(listed) == sorted([*CORE_DYNAMIC, *MEMCHECK_DYNAMIC])


@pytest.mark.parametrize("name", tools.names())
def test_every_option_is_in_the_help_texts(name):
    user, debug = help_text(name), help_text(name, debug=True)
    words = {word.split("=")[0] for word in debug.replace(",", " ").split()}
    for table in (CoreOptions, tools.load(name).Options):
        for option in table.options():
            assert set(option.spellings()) <= words, option.name
    assert set(user.splitlines()) <= set(debug.splitlines())
    assert "--trace-redir" in debug and "--trace-redir" not in user
    assert "--num-callers" in user


def test_help_lines_are_not_too_wide():
    assert max(map(len, help_text("memcheck", debug=True).splitlines())) <= 100


def test_no_spelling_is_taken_twice():
    for table in TABLES[1:]:
        assert not set(table.spellings()) & set(CoreOptions.spellings())
    for table in TABLES:
        assert len(table.spellings()) == sum(len(option.spellings()) for option in table.options())


@pytest.mark.parametrize("option", ROWS, ids=lambda option: option.name)
def test_defaults_parse_to_themselves(option):
    assert option.status in (WORKS, PLANNED, IGNORED)
    assert option.help and option.group
    if option.takes_value and option.holds_value and option.shown is None and option.show_default():
        values = {option.dest: option.default}
        option.apply(values, option.show_default())
        assert values[option.dest] == option.default


def test_documentation_is_up_to_date():
    assert (DOCS / "options.md").read_text() == document(), (
        "python -m interpose.options.document > docs/options.md"
    )


# Read already, though what they promise is not there yet.
_CONSULTED_EARLY = {"--xml", "--track-origins"}
_READ_BY_THE_PARSER = {"--command-line-only", "--tool"}


@pytest.mark.parametrize("name", ["core", *tools.names()])
def test_status_tells_whether_anything_reads_the_option(name):
    """An option that nothing reads must not be said to work, nor one that is read to have no effect."""
    package = Path(tools.__file__).parents[1]
    text = "\n".join(path.read_text() for path in package.rglob("*.py"))
    table = CoreOptions if name == "core" else tools.load(name).Options
    owner = "core" if name == "core" else "(?:tool|options)"
    wrong = {}
    for option in table.options():
        if not option.holds_value or option.name in _CONSULTED_EARLY | _READ_BY_THE_PARSER:
            continue
        if option.status == WORKS and not re.search(rf"\.{option.dest}\b", text):
            wrong[option.name] = "is said to work, and nothing reads it"
        if option.status == PLANNED and re.search(rf"\b{owner}\.{option.dest}\b", text):
            wrong[option.name] = "is said to have no effect yet, and something reads it"
    assert not wrong
