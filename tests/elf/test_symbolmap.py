"""Which name an address gets, as Valgrind 3.19 shows with --trace-symtab=yes and v.info location."""

from __future__ import annotations

from pathlib import Path

from elf.helpers import pieces_by_the_rule
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.elf.image import Image
from interpose.elf.symbolmap import SymbolMap, code_map, data_map

PREFERRED = [
    ("__gconv_create_spec", "__GI___gconv_create_spec"),
    ("freelocale", "__freelocale"),
    ("__ldexpl", "scalbnf64x"),
    ("ldiv", "imaxdiv"),
    ("fdopen@@GLIBC_2.2.5", "fdopen"),
    ("fopen@@GLIBC_2.2.5", "_IO_fopen"),
    ("aio_error", "aio_error64@@GLIBC_2.34"),
    ("pthread_kill", "__GI___pthread_kill"),
    ("call_once@@GLIBC_2.34", "call_once@GLIBC_2.28"),
    ("pthread_spin_init@GLIBC_2.2.5", "pthread_spin_unlock@@GLIBC_2.34"),
    ("_Exit", "_exit"),
    ("strtol", "strtoq"),
    ("__stat", "stat64"),
    ("htonl", "ntohl"),
    ("_ZNSt8bad_castD1Ev", "_ZNSt8bad_castD2Ev"),
    ("PMPI_Send", "MPI_Send"),  # the name for profilers
    ("MPI_Send", "PMPI_Send2"),
    ("MPIX_Send", "PMPIX_Send"),
    ("mpi_send_", "pmpi_send_"),
]


def test_preferred_names() -> None:
    for winner, loser in PREFERRED:
        for names in ((winner, loser), (loser, winner)):
            found = SymbolMap((0x1000, 16, name) for name in names).find(0x1008)
            assert found == (winner, 8)


def test_overlaps() -> None:
    symbols = [
        (0, 64, "outer1"),
        (16, 16, "inner1"),
        (64, 32, "same_a"),
        (64, 16, "same_bb"),
        (64, 8, "same_c"),
        (128, 32, "cross_a"),
        (144, 32, "cross_b"),
        (192, 32, "tail_a"),
        (208, 16, "tail_bb"),
        (256, 64, "n1"),
        (272, 32, "n2"),
        (280, 8, "n3"),
        (320, 100, "big"),
        (330, 10, "sm1"),
        (350, 10, "sm2"),
        (360, 80, "sm3"),
        (448, 16, "z1"),
    ]
    pieces = {
        0: "outer1",
        16: "inner1",
        32: None,
        64: "same_c",
        72: "same_bb",
        80: "same_a",
        96: None,
        128: "cross_a",
        144: "cross_b",
        176: None,
        192: "tail_a",
        208: "tail_bb",
        224: None,
        256: "n1",
        272: "n2",
        280: "n3",
        288: None,
        320: "big",
        330: "sm1",
        340: None,
        350: "sm2",
        360: "sm3",
        440: None,
        448: "z1",
        464: None,
    }
    table = SymbolMap(symbols)
    current, start = None, 0
    for address in range(480):
        if address in pieces:
            current, start = pieces[address], address
        assert table.find(address) == ((current, address - start) if current else None), address


def test_symbols_without_size_or_type_are_ignored(compile_program) -> None:
    source = """
        .text
        .globl nosize, untyped, sized
        .type nosize, @function
    nosize: ret
    untyped: ret
        .size untyped, 1
        .type sized, @function
    sized: ret
        .size sized, 1
        .globl main
    main: ret
        .section .note.GNU-stack,"",@progbits
    """
    path = compile_program("bare.s", source, "-g")
    image = Image.open(str(path))
    table = code_map(image)
    values = {s.name: s.value for s in image.symtab}
    assert table.find(values["nosize"]) is None
    assert table.find(values["untyped"]) is None
    assert table.find(values["sized"]) == ("sized", 0)


def test_data_symbols(c_program: Path) -> None:
    image = Image.open(str(c_program))
    table = data_map(image)
    values = {s.name: s.value for s in image.symtab}
    assert table.find(values["table"] + 9) == ("table", 9)
    assert table.find(values["scratch"]) == ("scratch", 0)
    assert table.find(values["constants"] + 15) == ("constants", 15)
    assert table.find(values["outer"]) is None


ROWS = st.tuples(
    st.integers(1, 60), st.integers(1, 20), st.sampled_from(["a", "b", "ab", "a@V", "a@@V", "c"])
)


@settings(deadline=None, max_examples=300)
@given(rows=st.lists(ROWS, max_size=14))
def test_symbols_apart_from_each_other_do_not_matter_to_each_other(rows: list[tuple[int, int, str]]) -> None:
    """What lies apart is laid out by itself: the map of two far groups is that of each."""
    far = [(value + 1000, size, name) for value, size, name in rows]
    both, near = SymbolMap([*far, *rows]), SymbolMap(rows)
    for address in range(90):
        assert both.find(address) == near.find(address)
        assert both.find(address + 1000) == near.find(address)
        span = near.span(address)
        assert both.span(address + 1000) == (span and (span[0] + 1000, span[1] + 1000))
        assert span is None or any(v <= address < v + s for v, s, _ in rows)


@settings(deadline=None, max_examples=500)
@given(rows=st.lists(ROWS, max_size=14))
def test_as_the_rule_says(rows: list[tuple[int, int, str]]) -> None:
    table = SymbolMap(rows)
    assert list(zip(*table.columns, strict=True)) == pieces_by_the_rule(rows)
