"""The six stages of a translation, one by one (docs/translation.md shows them)."""

from __future__ import annotations

import random
import re
import shlex
from pathlib import Path

import pytest

from interpose.jit._native import ffi, lib
from interpose.jit.stages import TITLES, emitted_code, main, stages, stages_for

EXAMPLE = bytes.fromhex("ffc2 0fbe02 f644410120 75f4")
FORWARD = EXAMPLE[:-1] + b"\x74"  # where a jump back would be followed
PC = 0x40435A50
DOC = Path(__file__).resolve().parents[2] / "docs" / "translation.md"
DISASSEMBLED, OPTIMISED, INSTRUMENTED, CLEANED, ALLOCATED, EMITTED = range(6)


def texts(code: str | bytes, *options: str, pc: int = PC, track: bool = False) -> list[str]:
    data = bytes.fromhex(code) if isinstance(code, str) else code
    return [text for _, text in stages_for(options, data, pc=pc, track=track)]


def uops(text: str) -> list[str]:
    """Names of the uinstrs of a listing."""
    return re.findall(r"(?m)^ +\d+: (\S+)", text)


def test_document_shows_what_the_call_prints(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.findall(
        r"```text\n\$ python3 -m interpose\.jit\.stages (.*)\n((?s:.*?))\n```", DOC.read_text()
    )
    assert len(found) >= 2
    for command, shown in found:
        main(shlex.split(command))
        assert capsys.readouterr().out.rstrip("\n") == shown, command


def test_titles() -> None:
    assert [title for title, _ in stages(EXAMPLE)] == list(TITLES)


def test_example() -> None:
    none = texts(FORWARD, "--tool=none")
    assert uops(none[DISASSEMBLED]) == ["INSN", "INSN", "INSN", "JCC", "JMP"]
    assert "nz 0x40435ad0" in none[DISASSEMBLED]
    assert none[INSTRUMENTED] == none[OPTIMISED]
    assert bytes.fromhex("ffc20fbe02f644410120") in emitted_code(none[EMITTED])


def test_loops_are_followed() -> None:
    """Where nothing relies on how a block is left, it has several turns of a loop; the side exits end it."""
    turn = ["INSN", "INSN", "INSN", "JCC"]
    none = texts(EXAMPLE, "--tool=none")[DISASSEMBLED]
    turns = uops(none).count("JCC")
    assert turns > 2 and uops(none) == turn * turns + ["JMP"]
    *within, last = re.findall(r"JCC +(.*)", none)
    assert within == ["z 0x40435a5c"] * (turns - 1) and last == "nz 0x40435a50"
    assert "JMP     0x40435a5c" in none
    assert uops(texts(EXAMPLE, "--tool=datagrind")[DISASSEMBLED]) == uops(none)
    for tool in ("--tool=memcheck", "--tool=memtrace"):
        assert uops(texts(EXAMPLE, tool)[DISASSEMBLED]) == [*turn, "JMP"], tool
    assert uops(texts(EXAMPLE, "--tool=none", "--single-step=yes")[DISASSEMBLED]) == ["INSN", "JMP"]
    # A loop that begins where the block does not: its turns from then on.
    assert uops(texts(bytes.fromhex("90") + EXAMPLE, "--tool=none")[DISASSEMBLED]).count("JCC") > 2


def test_records_keep_their_registers() -> None:
    """Side exits get registers back where they lead; each word is stored by the registers of the first."""
    code = "488b4708 85c0 7410 488b4e10 85c9 7420 48034a18 c3"
    listing = texts(code, "--tool=datagrind")[ALLOCATED]
    stores = re.findall(r"RECADDR .*", listing)
    assert len(stores) == 4 and len({re.findall(r"\[t0 = (\S+)\]", one)[0] for one in stores}) == 1
    assert uops(listing).count("SPILL") == uops(listing).count("UNSPILL") == 2
    assert uops(listing)[-3:] == ["UNSPILL", "UNSPILL", "RET"]


def test_liveness_of_flags() -> None:
    """Stage 2: inc and test overwrite all that was live, but inc keeps the carry flag."""
    lines = texts(FORWARD, "--tool=none")[OPTIMISED].splitlines()
    assert [("flags live" in line) for line in lines if re.match(r" +\d+:", line)] == [False] * 3 + [True] * 2
    # inc then jb: the carry from before is read.
    live = texts("ffc0 7200", "--tool=none")[OPTIMISED]
    assert "INSN    inc %rax:4  (-w8d4)  (flags live)" in live
    # jrcxz reads none, but what it may lead to does, though what follows it overwrites them all.
    both_ways = texts("f9 488b17 e302 01c0 83f801 c3", "--tool=memcheck")[OPTIMISED].splitlines()
    assert [line for line in both_ways if "mov" in line][-1].endswith("(flags live)")
    # div leaves flags alone on some CPUs, though the manual calls them undefined: they stay live before it.
    assert "div %rcx:8  (-w8d5)  (flags live)" in texts("48f7f1 7200", "--tool=none")[OPTIMISED]
    assert "flags live" not in texts("48f7f1 39c8", "--tool=none")[OPTIMISED].split("JMP")[0].split("cmp")[0]


def test_optimise_no_assumes_everything_live() -> None:
    text = texts(FORWARD, "--tool=none", "--optimise=no")[OPTIMISED]
    assert text.count("flags live") == 5


def test_memcheck_instruments() -> None:
    clean = texts(EXAMPLE, "--tool=memcheck")
    assert uops(clean[INSTRUMENTED]) == ["UMASK", "INSN", "LDCHK", "INSN", "LDCHK", "INSN", "JCC", "JMP"]
    assert "{rax rcx rdx flags tested}" in clean[INSTRUMENTED]
    track = texts(EXAMPLE, "--tool=memcheck", track=True)
    assert uops(track[INSTRUMENTED]).count("TMASK") >= 3
    assert "UMASK" not in uops(track[INSTRUMENTED])


def test_instrument_no() -> None:
    clean = texts(FORWARD, "--tool=memcheck", "--instrument=no")
    assert uops(clean[INSTRUMENTED]) == ["INSN", "INSN", "INSN", "JCC", "JMP"]
    assert clean[EMITTED] == texts(FORWARD, "--tool=none")[EMITTED]


def test_cleanup_drops_repeated_checks() -> None:
    code = "8b07 0307"  # mov (%rdi),%eax; add (%rdi),%eax
    assert uops(texts(code, "--tool=memcheck")[CLEANED]).count("LDCHK") == 1
    assert uops(texts(code, "--tool=memcheck", "--cleanup=no")[CLEANED]).count("LDCHK") == 2
    changed = "8b07 48ffc7 0307"  # the address changes in between
    assert uops(texts(changed, "--tool=memcheck")[CLEANED]).count("LDCHK") == 2
    # What makes bytes undefined in between: stack given back, and RSP loaded.
    for between in ("4883c408", "4889f4"):
        stages_of = texts(f"8b07 {between} 0307", "--tool=memcheck")
        assert {"STKUND", "SPCHG"} & set(uops(stages_of[CLEANED]))
        assert uops(stages_of[CLEANED]).count("LDCHK") == 2, between


def test_single_step_ends_after_one_instruction() -> None:
    assert uops(texts(EXAMPLE, "--tool=none", "--single-step=yes")[DISASSEMBLED]) == ["INSN", "JMP"]


def test_force_tracking() -> None:
    text = texts(EXAMPLE, "--tool=memcheck", "--force-tracking=yes")[INSTRUMENTED]
    assert uops(text) == ["JMP"]


def test_direct_jumps_are_followed() -> None:
    code = "90 eb02 0f0b ffc0 c3"  # nop; jmp over ud2; inc; ret
    assert uops(texts(code, "--tool=none")[DISASSEMBLED]) == ["INSN", "INSN", "RET"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("64488b0425 28000000", ["SEGEA", "INSN", "JMP"]),  # mov %fs:0x28,%rax
        ("65f348a5", ["INSN", "JMP"]),  # rep movsq with gs:
        ("0f05", ["EXIT"]),
        ("cc", ["EXIT"]),
        ("0f0b", ["EXIT"]),
        ("f30faec0", ["RDSEG", "JMP"]),
        ("f3480faed0", ["WRSEG", "JMP"]),
        ("e8fb000000", ["CALL"]),
        ("ffd0", ["CALLI"]),
        ("ff2425 00100000", ["JMPI"]),
        ("c3", ["RET"]),
        ("e2fe", ["LOOP", "JMP"]),
        ("0fae00", ["INSN", "FPSAVE", "JMP"]),
        ("48c1c703 48c1c70d 48c1c73d 48c1c733 4887db", ["EXIT"]),  # a client request
        ("48c1c703 48c1c70d 48c1c73d 48c1c733 4887c9", ["GETNR", "JMP"]),
    ],
)
def test_uops(code: str, expected: list[str]) -> None:
    assert uops(texts(code, "--tool=none", pc=0x400000)[DISASSEMBLED]) == expected


def test_address_temporaries_avoid_the_operands() -> None:
    """Stage 5: the temporary is no register of the instruction; what it displaces is saved and restored."""
    for modrm in range(0x40):
        code = bytes([0x64, 0x48, 0x03, modrm & 0x38 | modrm & 7])  # add %fs:(reg),reg
        if modrm & 7 in (4, 5):
            continue
        text = texts(code, "--tool=none")[ALLOCATED]
        chosen = re.search(r"SEGEA .*\[t0 = %(\w+)\]", text)
        used = re.search(r"INSN +add %(\w+):8, fs:\(%(\w+)\)", text)
        assert chosen and used and chosen[1] not in used.groups()
        assert f"SPILL   %{chosen[1]}" in text and f"UNSPILL %{chosen[1]}" in text


@pytest.mark.parametrize("tool", ["none", "memcheck"])
def test_malformed_input(tool: str) -> None:
    """Bytes that are no code, or end in the middle of an instruction, give a block that says so."""
    options = [f"--tool={tool}"]
    assert uops(texts("06", *options)[DISASSEMBLED]) == ["EXIT"]
    assert uops(texts("48", *options)[DISASSEMBLED]) == ["EXIT"]
    assert uops(texts("", *options)[DISASSEMBLED]) == ["EXIT"]
    assert uops(texts("9006", *options)[DISASSEMBLED]) == ["INSN", "JMP"]
    rng = random.Random(5)
    for _ in range(400):
        for text in texts(rng.randbytes(rng.randrange(40)), *options):
            assert text


def test_unknown_tool() -> None:
    with pytest.raises(ValueError, match="no translation"):
        stages(EXAMPLE, tool="nonsense")


def test_translation_for_an_address() -> None:
    """The same block elsewhere differs in what is relative to the address alone."""
    first, second = ffi.new("uint8_t[4096]"), ffi.new("uint8_t[4096]")
    size = lib.ip_translate_bytes(b"none", EXAMPLE, len(EXAMPLE), PC, 0, 0, 40, 0x50000000, first, 4096)
    assert size == lib.ip_translate_bytes(
        b"none", EXAMPLE, len(EXAMPLE), PC, 0, 0, 40, 0x50000400, second, 4096
    )
    assert size > len(EXAMPLE) and bytes(first[0:size]) != bytes(second[0:size])
    assert lib.ip_translate_bytes(b"none", EXAMPLE, len(EXAMPLE), PC, 0, 0, 40, 0x50000000, first, 16) == -1


def test_checks_go_where_flags_are_dead() -> None:
    """Stage 4: a load between test and jne is checked before the test, an epilogue before its add."""
    cleaned = texts("89d1 85c0 488b13 7502 90", "--tool=memcheck")[CLEANED]
    assert uops(cleaned)[1:6] == ["INSN", "EARLY", "INSN", "INSN", "JCC"]
    # add rsp, 24; pop rbx; pop rbp; ret: what pops and return read, as seen before the add, and at once.
    lines = texts("4883c418 5b 5d c3", "--tool=memcheck")[CLEANED].splitlines()
    assert [line.split()[2:4] for line in lines if "EARLY" in line] == [["V24", "0x18(%rsp)"]]
    assert not any("LDCHK" in line for line in lines)
    # No more than 64 bytes; and a hole of a word (pop rbx; lea rsp, [rsp + 8]; pop rbp) makes two of them.
    lines = texts("4883c418" + "5b" * 9 + "c3", "--tool=memcheck")[CLEANED].splitlines()
    assert sorted(line.split()[2] for line in lines if "EARLY" in line) == ["V16", "V64"]
    lines = texts("4883c418 5b 488d642408 5d c3", "--tool=memcheck")[CLEANED].splitlines()
    assert sorted(line.split()[2] for line in lines if "EARLY" in line) == ["V16", "V8"]
    # Seen from before a push of two bytes the slot lies two bytes higher up.
    lines = texts("85c0 6650 488b542408 7502", "--tool=memcheck")[CLEANED].splitlines()
    assert [re.findall(r"\S+\(%rsp\)", line)[0] for line in lines if "EARLY" in line] == ["0x6(%rsp)"]


@pytest.mark.parametrize(
    "code",
    [
        "85c0 488b1b 488b13 7502",  # the address is loaded in between: mov rbx, [rbx]; mov rdx, [rbx]
        "85c0 488b33 488b1433 7502",  # the index is: mov rsi, [rbx]; mov rdx, [rbx + rsi]
        "85c0 668913 488b13 7502",  # a store of unknown overlap: mov [rbx], dx
        "85c0 7502 488b13 7502",  # a side exit: the load may never be reached
    ],
)
def test_checks_stay_behind_what_they_depend_on(code: str) -> None:
    lines = texts(code, "--tool=memcheck")[CLEANED].splitlines()
    last = next(i for i, line in enumerate(lines) if "mov %rdx:8, (%rbx" in line)
    assert any("LDCHK" in line for line in lines[last : last + 2])


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("488b03 488b0b 8b5304", ["LDCHK"]),  # mov rax, [rbx]; mov rcx, [rbx]; mov edx, [rbx + 4]
        (
            "8b4304 8b0b 488b13",
            ["LDCHK", "LDCHK"],
        ),  # both halves are known: mov eax, [rbx + 4]; mov ecx, [rbx]; …
        ("8b03 488b0b", ["LDCHK", "LDCHK"]),  # only one half is
        ("488b03 488903 488b13", ["LDCHK"]),  # a store to what has been loaded: mov [rbx], rax
        ("488903 488b03", ["STCHK"]),  # a load of what has been stored
        ("4889442408 488b4c2408", ["STKDEF"]),  # the same on the stack
        ("4889442408 50 488b4c2410", ["STKDEF", "STKDEF"]),  # a push in between: as far from RSP as it was
        ("488b03 488b1b 488b13", ["LDCHK", "LDCHK"]),  # the address changes: mov rbx, [rbx]
        ("488b0424 58 488b5424f8", ["LDCHK", "STKUND"]),  # pop rax, and below RSP what is marked only then
        ("488b03 58 488b13", ["LDCHK", "LDCHK", "STKUND", "LDCHK"]),  # perhaps rbx points there
        ("488b03 7402 488b13", ["LDCHK"]),  # past a side exit
        ("488b1481 488b3481", ["LDCHK"]),  # with an index: mov rdx, [rcx + rax * 4]; mov rsi, …
        ("488b1481 488b34c1", ["LDCHK", "LDCHK"]),  # another scale
        ("488b0481 488b1481", ["LDCHK", "LDCHK"]),  # the index changes
        ("e808000000 488b1b", ["STKDEF"]),  # nothing behind a call
    ],
)
def test_what_is_known_is_not_checked_again(code: str, left: list[str]) -> None:
    shadow = {"LDCHK", "STCHK", "STKDEF", "STKUND", "EARLY"}
    assert [u for u in uops(texts(code, "--tool=memcheck")[CLEANED]) if u in shadow] == left
    # Where undefined values are none of the tool's business, a check that fails does not leave the block.
    every = [
        [u for u in uops(texts(code, "--tool=memcheck", option)[CLEANED]) if u in shadow]
        for option in ("--undef-value-errors=no", "--cleanup=no")
    ]
    assert every[0] == every[1]


PLT = "f30f1efa ff2500010000"  # endbr64; jmp [rip + 0x100]


@pytest.mark.parametrize(
    ("code", "checked_by_rcx"),
    [
        (PLT, 0),
        ("ff2500010000", 0),  # without endbr64
        ("90 ff2500010000", 1),  # another instruction before: may be anything
        ("f30f1efa ff20", 1),  # jmp [rax]
        ("488b13 e808000000 cccccccc cccccccc" + PLT, 0),  # mov rdx, [rbx]; call the entry, 16 bytes behind
        ("488b13 e908000000 cccccccc cccccccc" + PLT, 0),  # a jump there
        ("488b13 e806000000 cccccccc cccc" + PLT, 1),  # call where no entry may be
    ],
)
def test_flags_are_dead_on_the_way_through_linkage_tables(code: str, checked_by_rcx: int) -> None:
    """The dynamic linker, which may be on the way, does not keep them."""
    cleaned = texts(code, "--tool=memcheck")[CLEANED]
    assert len(re.findall(r"LDCHK.*flags live", cleaned)) == checked_by_rcx, cleaned


def test_returns_compare_the_slot_of_the_call_stack() -> None:
    """lea rdx, [rsp+rdx+9]; not rcx; lea rcx, [rdx+rcx] is zero when the newest entry, whose place is in RCX,
    is of this return, and RDX says that nothing is defined below RSP.
    """
    for code in ("c3", "c21000"):
        emitted = emitted_code(texts(code, "--tool=memcheck")[EMITTED])
        assert bytes.fromhex("488d541409 48f7d1 488d0c0a e305") in emitted
