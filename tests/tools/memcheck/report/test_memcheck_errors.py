"""Memcheck's kinds of errors: texts, kinds for XML and suppressions, and what follows the stack."""

from __future__ import annotations

import re
import struct

import pytest
from report.reporting import bench
from tools.memcheck.report.space import Space

from interpose.jit._native import lib
from interpose.tools.memcheck.addrinfo import Section
from interpose.tools.memcheck.errors import (
    DEFAULT_SUPPRESSIONS,
    KINDS,
    ErrKind,
    ErrorRecord,
    Origin,
    OriginKind,
    build_error,
    suppression_component,
)


def test_the_kinds_are_those_of_the_abi():
    told = {name: getattr(lib, name) for name in dir(lib) if re.match("(IP|MC)_E_", name)}
    beginning = told.pop("IP_E_TOOL")
    assert {name[len("IP_E_") :]: value for name, value in told.items()} == dict(ErrKind.__members__)
    assert len(set(told.values())) == len(told)
    assert all((value >= beginning) == name.startswith("MC_") for name, value in told.items())
    assert set(KINDS) == set(ErrKind) - {ErrKind.NONE}


def test_a_record_is_decoded():
    raw = struct.pack("<IIQQQ4QII", 1, 4, 0x10, 0x20, 0x30, 1, 2, 3, 4, 5, 2)
    raw += struct.pack("<512Q", 0x20, 0x99, *[0] * 510) + b"write(buf)\0junk".ljust(256, b"\0")
    record = ErrorRecord.decode(raw + b"more")
    assert record == ErrorRecord(
        ErrKind.READ, 4, 0x10, 0x20, 0x30, (1, 2, 3, 4), 5, (0x20, 0x99), "write(buf)"
    )


def aux(*values: int) -> tuple[int, int, int, int]:
    return tuple(values + (0,) * (4 - len(values)))  # type: ignore[return-value]


FREE = "Invalid free() / delete / delete[] / realloc()"
CASES = [
    (ErrorRecord(ErrKind.READ, 1), "Invalid read of size 1", "InvalidRead", "Addr1"),
    (ErrorRecord(ErrKind.WRITE, 32), "Invalid write of size 32", "InvalidWrite", "Addr32"),
    (ErrorRecord(ErrKind.WRITE, 64), "Invalid write of size 64", "InvalidWrite", "Addr32"),
    (ErrorRecord(ErrKind.READ, 10), "Invalid read of size 10", "InvalidRead", "Addr16"),
    (ErrorRecord(ErrKind.JUMP), "Jump to the invalid address stated on the next line", "InvalidJump", "Jump"),
    (ErrorRecord(ErrKind.VALUE, 8), "Use of uninitialised value of size 8", "UninitValue", "Value8"),
    (
        ErrorRecord(ErrKind.COND),
        "Conditional jump or move depends on uninitialised value(s)",
        "UninitCondition",
        "Cond",
    ),
    (
        ErrorRecord(ErrKind.PARAM_REG, text="ioctl(fd)"),
        "Syscall param ioctl(fd) contains uninitialised byte(s)",
        "SyscallParam",
        "Param",
    ),
    (
        ErrorRecord(ErrKind.PARAM_UNADDR, text="write(buf)"),
        "Syscall param write(buf) points to unaddressable byte(s)",
        "SyscallParam",
        "Param",
    ),
    (
        ErrorRecord(ErrKind.PARAM_UNDEF, text="ioctl(TCSET{S,SW,SF})"),
        "Syscall param ioctl(TCSET{S,SW,SF}) points to uninitialised byte(s)",
        "SyscallParam",
        "Param",
    ),
    (
        ErrorRecord(ErrKind.CHECK_UNADDR),
        "Unaddressable byte(s) found during client check request",
        "ClientCheck",
        "User",
    ),
    (
        ErrorRecord(ErrKind.CHECK_UNDEF),
        "Uninitialised byte(s) found during client check request",
        "ClientCheck",
        "User",
    ),
    (ErrorRecord(ErrKind.FREE), FREE, "InvalidFree", "Free"),
    (ErrorRecord(ErrKind.MISMATCH), "Mismatched free() / delete / delete []", "MismatchedFree", "Free"),
    (
        ErrorRecord(ErrKind.OVERLAP, aux=aux(0x10C0A1, 0x10C0A0, 5), text="strncpy"),
        "Source and destination overlap in strncpy(0x10c0a0, 0x10c0a1, 5)",
        "Overlap",
        "Overlap",
    ),
    (
        ErrorRecord(ErrKind.OVERLAP, aux=aux(0xA, 0xB), text="strcat"),
        "Source and destination overlap in strcat(0xb, 0xa)",
        "Overlap",
        "Overlap",
    ),
    (ErrorRecord(ErrKind.POOL), "Illegal memory pool address", "InvalidMemPool", "Mempool"),
    (
        ErrorRecord(ErrKind.FISHY, aux=aux((1 << 64) - 5), text="malloc(size)"),
        "Argument 'size' of function malloc has a fishy (possibly negative) value: -5",
        "FishyValue",
        "FishyValue",
    ),
    (
        ErrorRecord(ErrKind.REALLOC_ZERO, text="realloc"),
        "realloc() with size 0",
        "ReallocSizeZero",
        "ReallocZero",
    ),
    (
        ErrorRecord(ErrKind.ALIGN, aux=aux(3), text=" (should be power of 2)"),
        "Invalid alignment value: 3 (should be power of 2)",
        "InvalidAlignment",
        "BadAlign",
    ),
    (
        ErrorRecord(ErrKind.SIZE_ALIGN, aux=aux(5, 4), text="(size should be a multiple of alignment)"),
        "Invalid size value: 5 alignment value: 4 (size should be a multiple of alignment)",
        "InvalidSizeAndAlignment",
        "BadAlign",
    ),
    (
        ErrorRecord(ErrKind.UNSAFE_ZERO),
        "Unsafe allocation with size of zero is implementation-defined",
        "InvalidSize",
        "UnsafeZeroSize",
    ),
    (
        ErrorRecord(ErrKind.SIZE_MISMATCH, aux=aux(9), text="new/delete"),
        "Mismatched new/delete size value: 9",
        "MismatchedAllocateDeallocateSize",
        "SizeMismatch",
    ),
    (
        ErrorRecord(ErrKind.ALIGN_MISMATCH, aux=aux(64, 32), text="new/delete"),
        "Mismatched new/delete alignment alloc value: 64 dealloc value: 32",
        "MismatchedAllocateDeallocateAlignment",
        "AlignMismatch",
    ),
    (
        ErrorRecord(ErrKind.ALIGN_MISMATCH, aux=aux(32, lib.IP_HR_UNSAID), text="new/delete"),
        "Mismatched new/delete alignment alloc value: 32 dealloc value: default-aligned",
        "MismatchedAllocateDeallocateAlignment",
        "AlignMismatch",
    ),
    (
        ErrorRecord(ErrKind.ALIGN_MISMATCH, aux=aux(0, 32), text="new[]/delete[]"),
        "Mismatched new[]/delete[] alignment alloc value: 0 dealloc value: 32",
        "MismatchedAllocateDeallocateAlignment",
        "AlignMismatch",
    ),
]


@pytest.mark.parametrize(("record", "what", "xml", "suppression"), CASES)
def test_kind(record, what, xml, suppression):
    error, _ = build_error(record, bench().resolver, Space(), 1)
    assert error.what == (what,)
    assert (error.kind.xml, error.kind.suppression, error.kind.component) == (xml, suppression, "Memcheck")
    assert suppression in suppression_component().kinds


def test_a_kind_that_only_valgrind_reports_can_be_suppressed():
    assert "CoreMem" in suppression_component().kinds


def test_every_kind_has_a_case():
    assert {case[0].kind for case in CASES} == set(KINDS)


ADDRESS = {
    ErrKind.READ, ErrKind.WRITE, ErrKind.JUMP, ErrKind.PARAM_UNADDR, ErrKind.PARAM_UNDEF,
    ErrKind.CHECK_UNADDR, ErrKind.CHECK_UNDEF, ErrKind.FREE, ErrKind.MISMATCH, ErrKind.POOL,
    ErrKind.REALLOC_ZERO, ErrKind.SIZE_MISMATCH, ErrKind.ALIGN_MISMATCH,
}  # fmt: skip
ORIGIN = {ErrKind.VALUE, ErrKind.COND, ErrKind.PARAM_REG, ErrKind.PARAM_UNDEF, ErrKind.CHECK_UNDEF}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_follows(kind):
    record = ErrorRecord(kind, 1, addr=0x1234, text="f(a)")
    origin = Origin(OriginKind.HEAP, (7,))
    _, describe = build_error(record, bench().resolver, Space(), 1, origin_of=lambda record: origin)
    texts = [part.text for part in describe()]
    expected = []
    if kind in ADDRESS:
        expected.append("Address 0x1234 is not stack'd, malloc'd or (recently) free'd")
    if kind in ORIGIN:
        expected.append("Uninitialised value was created by a heap allocation")
    assert texts == expected


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (OriginKind.HEAP, "Uninitialised value was created by a heap allocation"),
        (OriginKind.STACK, "Uninitialised value was created by a stack allocation"),
        (OriginKind.CLIENT, "Uninitialised value was created by a client request"),
        (OriginKind.UNKNOWN, "Uninitialised value was created"),
    ],
)
def test_origins(kind, text):
    assert Origin(kind, (1,)).part().text == text


def test_errors_that_differ_only_in_what_was_wrong_are_different():
    b = bench()
    for record in (
        ErrorRecord(ErrKind.READ, 1, frames=(1,)),
        ErrorRecord(ErrKind.WRITE, 1, frames=(1,)),
        ErrorRecord(ErrKind.READ, 2, frames=(1,)),
        ErrorRecord(ErrKind.PARAM_REG, text="a(b)", frames=(1,)),
        ErrorRecord(ErrKind.PARAM_UNADDR, text="a(b)", frames=(1,)),
        ErrorRecord(ErrKind.PARAM_UNDEF, text="a(b)", frames=(1,)),
        ErrorRecord(ErrKind.PARAM_UNDEF, text="a(c)", frames=(1,)),
        ErrorRecord(ErrKind.CHECK_UNADDR, frames=(1,)),
        ErrorRecord(ErrKind.CHECK_UNDEF, frames=(1,)),
    ):
        b.errors.report(*build_error(record, b.resolver, Space(), 1))
    assert b.errors.contexts == 9


def test_an_address_does_not_make_an_error_different():
    b = bench()
    for addr in (1, 2):
        record = ErrorRecord(ErrKind.READ, 1, addr=addr, frames=(1,))
        b.errors.report(*build_error(record, b.resolver, Space(), 1))
    assert (b.errors.errors_found, b.errors.contexts) == (2, 1)


def test_whole_text_with_address_and_origin():
    b = bench(gen_suppressions="all")
    b.symbols.add(0x4953350, "write", "write.c", 26)
    b.symbols.add(0x109268, "main", "a.c", 16)
    space = Space(section=Section("Data", "/bin/a"))
    record = ErrorRecord(
        ErrKind.PARAM_UNDEF, addr=0x4A40040, text="write(buf)", frames=(0x4953350, 0x109269), otag=1
    )
    origin = Origin(OriginKind.STACK, (0x109268,))
    b.errors.report(*build_error(record, b.resolver, space, 1, origin_of=lambda record: origin))
    assert b.log.text() == (
        "==1== Syscall param write(buf) points to uninitialised byte(s)\n"
        "==1==    at 0x4953350: write (write.c:26)\n"
        "==1==    by 0x109268: main (a.c:16)\n"
        "==1==  Address 0x4a40040 is in the Data segment of /bin/a\n"
        "==1==  Uninitialised value was created by a stack allocation\n"
        "==1==    at 0x109268: main (a.c:16)\n"
        "==1== \n"
        "{\n"
        "   <insert_a_suppression_name_here>\n"
        "   Memcheck:Param\n"
        "   write(buf)\n"
        "   fun:write\n"
        "   fun:main\n"
        "}\n"
    )


def test_generated_fishy_suppressions_are_accepted():
    b = bench(gen_suppressions="all")
    b.symbols.add(1, "malloc")
    record = ErrorRecord(ErrKind.FISHY, aux=aux((1 << 64) - 5), text="malloc(size)", frames=(1,))
    b.errors.report(*build_error(record, b.resolver, Space(), 1))
    start = b.log.lines.index("{")
    b.suppressions.add("\n".join(b.log.lines[start:]))
    error, _ = build_error(record, b.resolver, Space(), 1)
    assert b.suppressions.match(error, b.resolver.frames((1,)), 12) is not None


def test_the_default_suppressions_parse():
    bench().suppressions.load(DEFAULT_SUPPRESSIONS)


def test_an_alignment_is_a_size_in_xml():
    """As Valgrind 3.27.1 has it (docs/spec/output.md section 3.1)."""
    record = ErrorRecord(ErrKind.ALIGN_MISMATCH, aux=aux(64, 32), text="new/delete")
    error, _ = build_error(record, bench().resolver, Space(), 1)
    assert error.what_in_xml == "Mismatched new/delete size alloc value: 64 dealloc value: 32"
