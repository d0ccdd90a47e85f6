"""Parsing of options: docs/spec/options.md section 1 row by row, and the rules between options."""

from __future__ import annotations

import os

import pytest

from interpose.errors import InterposeError, OptionError
from interpose.options.core import CoreOptions
from interpose.options.parse import change, parse, split_command_line
from interpose.options.sources import split_words
from interpose.options.spec import PLANNED

HINT = "Use --help for more information or consult the user manual."


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A current folder without rc files."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def core(*words: str, **environ: str):
    return parse(words, environ).core


def tool(*words: str, **environ: str):
    return parse(words, environ).tool


def error_lines(*words: str) -> list[str]:
    with pytest.raises(InterposeError) as caught:
        parse(words, {})
    assert caught.value.exit_code == 1
    return caught.value.lines()


def test_defaults_without_any_word():
    config = parse([], {})
    assert config.tool_name == "memcheck"
    assert config.program == ()
    assert config.core.verbosity == 1
    assert config.core.num_callers == 12
    assert config.core.log_kind == "fd" and config.core.log_fd == 2
    assert config.core.max_stackframe == 2000000
    assert config.core.read_inline_info is True
    assert config.tool.leak_check == "summary"
    assert config.tool.show_leak_kinds == {"definite", "possible"}
    assert config.tool.leak_check_heuristics == {"stdstring", "length64", "newarray", "multipleinheritance"}
    assert config.tool.freelist_vol == 20000000
    assert config.tool.malloc_fill == -1


@pytest.mark.parametrize(
    ("words", "options", "program"),
    [
        (["-v", "ls", "-v"], ["-v"], ["ls", "-v"]),
        (["-v", "--", "-odd", "--", "x"], ["-v"], ["-odd", "--", "x"]),
        (["--"], [], []),
        (["ls", "--", "x"], [], ["ls", "--", "x"]),
    ],
)
def test_first_other_word_is_the_program(words, options, program):
    assert split_command_line(words) == (options, program)


def test_folder_of_debug_files_is_found_from_where_the_run_begins(elsewhere):
    assert core("--extra-debuginfo-path=dbg").extra_debuginfo_path == str(elsewhere / "dbg")
    assert core("--extra-debuginfo-path=/dbg").extra_debuginfo_path == "/dbg"
    assert core("--extra-debuginfo-path=").extra_debuginfo_path is None
    elsewhere.rmdir()
    assert core("--extra-debuginfo-path=/dbg").extra_debuginfo_path == "/dbg"
    assert error_lines("--extra-debuginfo-path=dbg")[0] == "Bad option: --extra-debuginfo-path=dbg"


def test_flags_count_and_have_long_spellings():
    assert core("-v", "--verbose", "-v").verbosity == 4
    assert core("-q", "--quiet").verbosity == -1
    assert core("-v", "-q").verbosity == 1
    assert core("-d", "-d").debug_log == 2
    assert core("-s").show_error_list == "yes"


@pytest.mark.parametrize(
    ("word", "attribute", "value"),
    [
        ("--trace-redir=yes", "trace_redir", True),
        ("--num-callers=500", "num_callers", 500),
        ("--error-exitcode=-1", "error_exitcode", -1),
        ("--log-fd=-1", "log_fd", -1),
        ("--log-socket=127.0.0.1", "log_socket", ("127.0.0.1", 1500)),
        ("--log-socket=127.0.0.1:77", "log_socket", ("127.0.0.1", 77)),
        ("--vgdb-stop-at=startup,exit", "vgdb_stop_at", {"startup", "exit"}),
        ("--vgdb-stop-at=all", "vgdb_stop_at", {"startup", "exit", "abexit", "valgrindabexit"}),
        ("--sim-hints=lax-ioctls", "sim_hints", {"lax-ioctls"}),
        ("--sim-hints=none", "sim_hints", set()),
        ("--trace-flags=10000001", "trace_flags", (True, *[False] * 6, True)),
        ("--error-markers=<b>,<e>", "error_markers", ("<b>", "<e>")),
        ("--error-markers=none", "error_markers", None),
        ("--error-markers=<b>", "error_markers", ("<b>", "")),
        ("--error-markers=,<e>", "error_markers", ("", "<e>")),
        ("--error-markers=<b>,<e>,more", "error_markers", ("<b>", "<e>")),
        ("--error-markers=", "error_markers", ("", "")),
        ("--error-exitcode=", "error_exitcode", 0),
        ("--error-exitcode=+5", "error_exitcode", 5),
        ("--error-exitcode= 5", "error_exitcode", 5),
        ("--soname-synonyms=", "soname_synonyms", ""),
        ("--soname-synonyms=x", "soname_synonyms", "x"),
        ("--launched-with-multi=yes", "launched_with_multi", True),
        ("--alignment=64", "alignment", 64),
        ("--aspace-minaddr=0x10000", "aspace_minaddr", 0x10000),
        ("--px-default=allregs-at-mem-access", "vex_iropt_register_updates", "allregs-at-mem-access"),
        ("--trace-children-skip=*/sh,x?", "trace_children_skip", ("*/sh", "x?")),
        ("--soname-synonyms=somalloc=NONE", "soname_synonyms", "somalloc=NONE"),
        ("--require-text-symbol=+libc*+foo", "require_text_symbol", ("+libc*+foo",)),
        ("--stop-after=7", "stop_after", 7),
        ("--single-step=yes", "single_step", True),
        ("--optimise=no", "optimise", False),
        ("--instrument=no", "instrument", False),
        ("--cleanup=no", "cleanup", False),
        ("--chaining=no", "chaining", False),
    ],
)
def test_core_values(word, attribute, value):
    assert getattr(core(word), attribute) == value


@pytest.mark.parametrize(
    ("word", "attribute", "value"),
    [
        ("--leak-check=yes", "leak_check", "full"),
        ("--leak-check=no", "leak_check", "no"),
        ("--show-leak-kinds=all", "show_leak_kinds", {"definite", "indirect", "possible", "reachable"}),
        ("--show-leak-kinds=none", "show_leak_kinds", set()),
        ("--show-leak-kinds=reachable,definite", "show_leak_kinds", {"definite", "reachable"}),
        ("--show-leak-kinds=,reachable,,definite,", "show_leak_kinds", {"definite", "reachable"}),
        ("--show-leak-kinds=none,", "show_leak_kinds", set()),
        ("--show-leak-kinds=,all,all", "show_leak_kinds", {"definite", "indirect", "possible", "reachable"}),
        ("--show-reachable=yes", "show_leak_kinds", {"definite", "indirect", "possible", "reachable"}),
        ("--show-possibly-lost=no", "show_leak_kinds", {"definite"}),
        ("--malloc-fill=AB", "malloc_fill", 0xAB),
        ("--free-fill=0x0", "free_fill", 0),
        ("--free-fill=", "free_fill", 0),
        ("--malloc-fill=", "malloc_fill", 0),
        ("--malloc-fill=+a", "malloc_fill", 10),
        ("--ignore-ranges=0x10-0x20,0x30-0x40", "ignore_ranges", ((0x10, 0x20), (0x30, 0x40))),
        ("--ignore-ranges=0x10-0x10", "ignore_ranges", ((0x10, 0x10),)),
        ("--ignore-range-below-sp=8192-8189", "ignore_range_below_sp", (8192, 8189)),
        ("--freelist-vol=10000000000", "freelist_vol", 10**10),
    ],
)
def test_memcheck_values(word, attribute, value):
    assert getattr(tool(word), attribute) == value


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("--trace-children=maybe", "Invalid boolean value 'maybe' (should be 'yes' or 'no')"),
        ("--num-callers=x", "Invalid integer value 'x'"),
        ("--num-callers=12x", "Invalid integer value '12x'"),
        ("--num-callers=1_2", "Invalid integer value '1_2'"),
        ("--num-callers=", "'--num-callers' argument must be between 1 and 500"),
        ("--num-callers=+", "Invalid integer value '+'"),
        ("--num-callers=+-1", "Invalid integer value '+-1'"),
        ("--num-callers= ", "Invalid integer value ' '"),
        ("--num-callers=12 ", "Invalid integer value '12 '"),
        ("--num-callers=0x10", "Invalid integer value '0x10'"),
        ("--num-callers=0", "'--num-callers' argument must be between 1 and 500"),
        ("--num-callers=501", "'--num-callers' argument must be between 1 and 500"),
        ("--freelist-vol=10000000001", "'--freelist-vol' argument must be between 0 and 10000000000"),
        ("--redzone-size=4097", "'--redzone-size' argument must be between 0 and 4096"),
        ("--alignment=17", "Alignment must be a power of 2 in the range 16..4096."),
        ("--alignment=8", "Alignment must be a power of 2 in the range 16..4096."),
        ("--show-leak-kinds=all,definite", "all,definite is an invalid show-leak-kinds set"),
        ("--show-leak-kinds=none,all", "none,all is an invalid show-leak-kinds set"),
        ("--show-leak-kinds=", " is an invalid show-leak-kinds set"),
        ("--show-leak-kinds=,", ", is an invalid show-leak-kinds set"),
        ("--leak-check-heuristics=x", "x is an invalid leak-check-heuristics set"),
        ("--sim-hints=all", "all is an invalid sim-hints set"),
        ("--malloc-fill=zz", "Invalid integer value 'zz'"),
        ("--malloc-fill=100", "'--malloc-fill' argument must be between 0x00 and 0xFF"),
        ("--trace-flags=123", "--trace-flags argument must have 8 digits"),
        ("--trace-flags=12345678", "--trace-flags argument can only contain 0s and 1s"),
        ("--require-text-symbol=ab", "Invalid --require-text-symbol= specification."),
        ("--aspace-minaddr=12", "Invalid address"),
    ],
)
def test_bad_values(word, reason):
    assert error_lines(word) == [f"Bad option: {word}", reason, HINT]


@pytest.mark.parametrize(
    "word",
    ["--zork", "--zork=1", "-z", "-vv", "-", "--leak-check", "--verbose=yes", "--num-callers", "--tool"],
)
def test_unknown_options(word):
    assert error_lines(word) == [f"Unknown option: {word}", HINT]


@pytest.mark.parametrize(
    "word",
    [
        "--leak-check=zork",
        "--vgdb=zz",
        "--log-socket=zz",
        "--log-socket=1.2.3.4:0",
        "--resync-filter=yes",
        "--vex-iropt-precise-memory-exns=yes",
        "--vex-iropt-precise-memory-exns=no",
        "--valgrind-stacksize=4096",
        "--px-default=zz",
    ],
)
def test_refused_values(word):
    assert error_lines(word)[0] == f"Bad option: {word}"


_SYNTAX = "ERROR: --ignore-ranges: invalid syntax, or end <= start in range"
_BELOW = "ERROR: --ignore-range-below-sp:"


@pytest.mark.parametrize(
    ("word", "told", "taken"),
    [
        ("--ignore-ranges=", (_SYNTAX,), ()),
        ("--ignore-ranges=1-2", (_SYNTAX,), ()),
        ("--ignore-ranges=0x2-0x1", (_SYNTAX,), ()),
        ("--ignore-ranges=0x1-0x2,", (_SYNTAX,), ((1, 2),)),
        ("--ignore-ranges=0x1-0x2,x,0x3-0x4", (_SYNTAX,), ((1, 2),)),
        (
            "--ignore-ranges=0x0-0x4000001",
            ("ERROR: --ignore-ranges: suspiciously large range:", "       0x0-0x4000001 (size 67108866)"),
            (),
        ),
        (
            "--ignore-range-below-sp=",
            (f'{_BELOW} invalid syntax.  Expected "...=decimalnumber-decimalnumber".',),
            (20, 10),
        ),
        (
            "--ignore-range-below-sp=1-2",
            (f"{_BELOW} invalid offsets (the first must be larger): 1 and 2",),
            (20, 10),
        ),
        (
            "--ignore-range-below-sp=9999999-9999998",
            (f"{_BELOW} suspiciously large offset(s): 9999999 and 9999998",),
            (20, 10),
        ),
        (
            "--ignore-range-below-sp=8192-4000",
            (f"{_BELOW} suspiciously large range: 8192-4000 (size 4192)",),
            (20, 10),
        ),
    ],
)
def test_bad_ranges_are_told_and_passed_over(word, told, taken):
    """As by Valgrind, which runs the program; what came before holds."""
    config = parse(["--ignore-range-below-sp=20-10", word], {})
    assert config.passed_over == told
    name = word[2:].partition("=")[0].replace("-", "_")
    assert getattr(config.tool, name) == taken
    with pytest.raises(OptionError):
        change(config, word)


@pytest.mark.parametrize(
    ("word", "attribute", "value"),
    [
        ("--sanity-level=0", "sanity_level", 0),
        ("--sanity-level=9", "sanity_level", 9),
        ("--trace-notbelow=-1", "trace_notbelow", -1),
        ("--trace-notabove=-1", "trace_notabove", -1),
        ("--max-stackframe=-1", "max_stackframe", -1),
        ("--max-stackframe=99999999999999999999", "max_stackframe", 2**63 - 1),
        ("--main-stacksize=-5", "main_stacksize", -5),
        ("--profile-interval=-1", "profile_interval", -1),
        ("--debuginfo-server=foo", "debuginfo_server", "foo"),
        ("--valgrind-stacksize=1000000", "valgrind_stacksize", 1000000),
        ("--:anything", "num_callers", 12),
    ],
)
def test_values_that_valgrind_takes(word, attribute, value):
    assert getattr(core(word), attribute) == value


def test_help_comes_before_what_is_wrong():
    for line in (["--zork", "--version"], ["--version", "--num-callers=x"]):
        assert core(*line).show == "version"
    assert core("--leak-check=zork", "-h").show == "user"


def test_callers_apart_are_as_many_as_a_chain_holds():
    assert tool("--tool=callgrind", "--separate-callers=100000").separate_callers == 64
    assert error_lines("--tool=callgrind", "--separate-callers=-1")[0] == "Bad option: --separate-callers=-1"
    assert tool("--tool=callgrind", "--dump-every-bb=-1").dump_every_bb == -1


def test_a_refused_word_is_told_without_its_prefix():
    assert error_lines("--memcheck:px-default=zz")[0] == "Bad option: --px-default=zz"


def test_options_of_another_tool_are_unknown():
    assert error_lines("--tool=none", "--leak-check=full") == ["Unknown option: --leak-check=full", HINT]


def test_unknown_tool_is_one_line_that_names_the_tools():
    (line,) = error_lines("--tool=zork")
    assert "'zork'" in line and "memcheck" in line and "none" in line


@pytest.mark.parametrize("name", ["", "../none", "none.options", "__pycache__"])
def test_odd_tool_names_are_unknown_tools(name):
    assert error_lines(f"--tool={name}")[0].startswith("unknown tool")


def test_tool_prefix():
    assert tool("--memcheck:leak-check=full").leak_check == "full"
    assert core("--memcheck:num-callers=20").num_callers == 20
    assert core("--callgrind:zork=yes", "--no-such:thing").num_callers == 12
    assert core("--tool=none", "--memcheck:leak-check=full").num_callers == 12
    assert error_lines("--memcheck:zork=1")[0] == "Unknown option: --memcheck:zork=1"
    # A colon in a value is no prefix.
    assert core("--extra-debuginfo-path=/a:b").extra_debuginfo_path == "/a:b"


def test_later_wins_and_repeatable_options_accumulate():
    assert core("--num-callers=3", "--num-callers=4").num_callers == 4
    assert core("--suppressions=a", "--suppressions=b").suppressions == ("a", "b")
    assert core("--fullpath-after=", "--fullpath-after=x").fullpath_after == ("", "x")
    assert core("--require-text-symbol=:a:b", "--require-text-symbol=:c:d").require_text_symbol == (
        ":a:b",
        ":c:d",
    )
    assert tool("--ignore-ranges=0x1-0x2", "--ignore-ranges=0x4-0x5,0x1-0x2").ignore_ranges == (
        (1, 2),
        (4, 5),
    )
    config = change(parse(["--ignore-ranges=0x1-0x2"], {}), "--ignore-ranges=0x4-0x5")
    assert config.tool.ignore_ranges == ((1, 2), (4, 5))
    assert core("--log-file=x", "--log-fd=5").log_kind == "fd"
    assert core("--log-fd=5", "--log-file=x").log_kind == "file"
    assert core("--log-file=x", "--log-fd=5", "--log-file=y").log_kind == "file"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("  a   b\n\tc ", ["a", "b", "c"]),
        ("'a b' \"c 'd\"", ["a b", "c 'd"]),
        ("--x='a b'c", ["--x=a bc"]),
        ("''", [""]),
        ("", []),
        ("'open", ["open"]),
    ],
)
def test_split_words(text, words):
    assert split_words(text) == words


def test_sources_in_order(tmp_path, elsewhere):
    home = tmp_path / "home"
    home.mkdir()
    given = []
    values = iter(range(20, 40))

    def place(path):
        value = next(values)
        path.write_text(f"--num-callers={value} --suppressions={path.name}")
        given.append(value)

    place(home / ".valgrindrc")
    place(home / ".interposerc")
    environ = {"HOME": str(home), "VALGRIND_OPTS": "--suppressions=V --num-callers=30"}
    environ["INTERPOSE_OPTS"] = "--suppressions=I --num-callers=31"
    assert parse([], environ).core.num_callers == 31
    place(elsewhere / ".valgrindrc")
    assert parse([], environ).core.num_callers == given[-1]
    place(elsewhere / ".interposerc")
    config = parse(["--suppressions=L"], environ)
    assert config.core.num_callers == given[-1]
    assert config.core.suppressions == (
        ".valgrindrc",
        ".interposerc",
        "V",
        "I",
        ".valgrindrc",
        ".interposerc",
        "L",
    )
    assert parse(["--num-callers=2"], environ).core.num_callers == 2
    assert config.inherited == ("--suppressions=L",)
    alone = parse(["--command-line-only=yes"], environ)
    assert alone.core.num_callers == 12 and alone.core.suppressions == ()


def test_valgrinds_sources_name_no_tool(elsewhere):
    """Valgrind passes over the option there, whatever it says; ours count."""
    (elsewhere / ".valgrindrc").write_text("--tool=helgrind --num-callers=5")
    config = parse([], {"VALGRIND_OPTS": "--tool=none -q"})
    assert (config.tool_name, config.core.num_callers, config.core.verbosity) == ("memcheck", 5, 0)
    assert parse([], {"INTERPOSE_OPTS": "--tool=none"}).tool_name == "none"
    (elsewhere / ".interposerc").write_text("--tool=callgrind")
    assert parse([], {"INTERPOSE_OPTS": "--tool=none"}).tool_name == "callgrind"
    assert parse(["--tool=memcheck"], {"INTERPOSE_OPTS": "--tool=none"}).tool_name == "memcheck"


def test_valgrinds_variable_may_hold_the_end_of_options():
    config = parse(["--", "prog"], {"VALGRIND_OPTS": "-- --num-callers=5"})
    assert (config.core.num_callers, config.program) == (5, ("prog",))


def test_command_line_only_counts_on_the_command_line_only():
    assert core(VALGRIND_OPTS="--command-line-only=yes --num-callers=5").num_callers == 5


def test_what_is_asked_of_the_cache_counts_on_the_command_line_only():
    assert core(INTERPOSE_OPTS="--cache=clear").cache == "yes"
    assert core(INTERPOSE_OPTS="--cache=no").cache == "no"
    assert core(INTERPOSE_OPTS="--cache=read --cache=show").cache == "read"


def test_current_folder_that_is_home_is_read_once(elsewhere):
    (elsewhere / ".valgrindrc").write_text("--suppressions=one")
    assert core(HOME=str(elsewhere)).suppressions == ("one",)


def test_unsafe_rc_files_are_passed_over_with_a_notice(elsewhere):
    rc = elsewhere / ".interposerc"
    rc.write_text("--num-callers=33")
    rc.chmod(0o666)
    config = parse([], {})
    assert config.core.num_callers == 12
    assert config.notices == (
        "./.interposerc was not read as it is either not a regular file,",
        "    or is world writeable, or is not owned by the current user.",
    )
    rc.chmod(0o644)
    assert parse([], {}).core.num_callers == 33
    rc.unlink()
    rc.mkdir()
    assert parse([], {}).notices
    rc.rmdir()
    os.mkfifo(rc)
    assert parse([], {}).notices


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_rc_file_of_another_user_is_passed_over(elsewhere):
    rc = elsewhere / ".valgrindrc"
    rc.write_text("--num-callers=33")
    os.chown(rc, 12345, 12345)
    assert parse([], {}).core.num_callers == 12


def test_bad_words_outside_the_command_line_are_errors():
    for word in ("--zork", "zork"):
        with pytest.raises(OptionError):
            parse([], {"VALGRIND_OPTS": word})


@pytest.mark.parametrize(
    "words",
    [
        ("--track-origins=yes", "--undef-value-errors=no"),
        ("--exit-on-first-error=yes",),
        ("--xml=yes",),
        ("--xml=yes", "--xml-fd=3", "--gen-suppressions=yes"),
        ("--xml=yes", "--xml-fd=3", "--dump-error=1"),
    ],
)
def test_options_that_exclude_each_other(words):
    assert error_lines(*words)[0].startswith("Bad option: ")


def test_the_last_of_two_that_exclude_each_other_is_the_bad_one():
    for words in (
        ["--track-origins=yes", "--undef-value-errors=no"],
        ["--undef-value-errors=no", "--track-origins=yes"],
    ):
        assert error_lines(*words)[0] == f"Bad option: {words[1]}"


def test_undefined_values_that_are_no_errors_have_no_origins():
    assert tool().track_origins is True
    assert tool("--track-origins=no").track_origins is False
    assert tool("--undef-value-errors=no").track_origins is False
    assert tool("--undef-value-errors=no", "--track-origins=no").track_origins is False


def test_xml_implies():
    config = parse(["--xml=yes", "--xml-file=x"], {})
    assert config.core.error_limit is False
    assert config.core.show_error_list == "yes"
    assert config.tool.leak_check == "full"


def test_verbosity_implies():
    assert core("-v").show_error_list == "yes"
    assert core("-v", "--show-error-list=no").show_error_list == "no"
    assert core("-q").sigill_diagnostics is False
    assert core("-q", "--sigill-diagnostics=yes").sigill_diagnostics is True
    assert core("--tool=none").read_inline_info is False


def test_legacy_spellings_take_effect_in_order():
    kinds = tool("--show-leak-kinds=all", "--show-reachable=no").show_leak_kinds
    assert kinds == {"definite", "indirect", "possible"}
    kinds = tool("--show-reachable=no", "--show-possibly-lost=no").show_leak_kinds
    assert kinds == {"definite"}
    kinds = tool("--show-possibly-lost=no", "--show-leak-kinds=possible").show_leak_kinds
    assert kinds == {"possible"}


def test_configuration_is_frozen():
    config = parse([], {})
    for target, name in ((config, "tool_name"), (config.core, "verbosity"), (config.tool, "leak_check")):
        with pytest.raises(AttributeError):
            setattr(target, name, 1)


def test_a_flag_has_no_value_to_read_by_mistake():
    with pytest.raises(AttributeError):
        _ = parse([], {}).core.quiet


def test_change_while_running():
    config = parse(["--suppressions=a"], {})
    changed = change(config, "--trace-redir=yes")
    assert changed.core.trace_redir and not config.core.trace_redir
    assert change(config, "--suppressions=b").core.suppressions == ("a", "b")
    assert change(config, "--leak-check=full").tool.leak_check == "full"
    assert change(config, "-v").core.verbosity == 2
    for word in ("--num-callers=3", "--zork", "--trace-redir=x"):
        with pytest.raises(OptionError):
            change(config, word)


def test_options_without_effect_are_named(monkeypatch):
    assert parse(["--trace-signals=yes"], {}).without_effect == ()
    monkeypatch.setattr(CoreOptions.spellings()["--trace-signals"], "status", PLANNED)
    assert parse(["--trace-signals=yes", "--dsymutil=no"], {}).without_effect == ("--trace-signals",)
    assert parse(["--trace-signals=no"], {}).without_effect == ()
    assert parse(["--trace-signals=yes", "--trace-signals=no"], {}).without_effect == ()
