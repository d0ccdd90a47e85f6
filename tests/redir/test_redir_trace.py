"""The text of --trace-redir and -v (docs/spec/redirection.md section 8, as Valgrind 3.19 prints it)."""

from __future__ import annotations

from interpose.redir import CodeObject, Kind, Reason, RedirState, Symbol, first_use_line


def library(base: int, soname: str, path: str, *symbols: tuple[str, int]) -> CodeObject:
    listed = [Symbol(name, address, 15) for name, address in symbols]
    return CodeObject(path, [(base, base + 0x1000)], listed, soname, base)


LIBL = library(0x483D000, "libl.so", "/tmp/libl.so", ("lf", 0xF9), ("lg@@V1", 0x108))
LIBW = library(
    0x4A2B000, "NONE", "/tmp/libw.so", ("_vgr00000ZZ_liblZdso_lf", 0xF9), ("_vgw20020ZZ_liblZdsoZa_lg", 0x107)
)


def test_the_state_after_each_event() -> None:
    state = RedirState()
    state.add_specification("ld-linux-x86-64.so.2", "strlen", 0x580BB0E2)
    state.bind_address(0xFFFFFFFFFF600000, 0x5803ABA6)
    assert state.trace_lines(Reason.INITIALISE) == [
        "<<",
        "   ------ REDIR STATE after VG_(redir_initialise) ------",
        "   TOPSPECS of soname (hardwired)",
        "     ld-linux-x86-64.so.2      strlen                         RL-> (0000.0) 0x580bb0e2",
        "   ------ ACTIVE ------",
        "    0xffffffffff600000 (???                 ) R-> (0000.0) 0x5803aba6 ???",
        ">>",
    ]
    state.add_object(LIBL)
    state.add_object(LIBW)
    state.add_specification("ld-linux-x86-64.so.2", "index", 0x580BB0FC)
    assert state.trace_lines(Reason.NEW_OBJECT) == [
        "<<",
        "   ------ REDIR STATE after VG_(redir_notify_new_DebugInfo) ------",
        "   TOPSPECS of soname NONE filename /tmp/libw.so",
        "     libl.so*                  lg                             WL-> (2002.0) 0x04a2b107",
        "     libl.so                   lf                             RL-> (0000.0) 0x04a2b0f9",
        "   TOPSPECS of soname libl.so filename /tmp/libl.so",
        "   TOPSPECS of soname (hardwired)",
        "     ld-linux-x86-64.so.2      index                          RL-> (0000.0) 0x580bb0fc",
        "     ld-linux-x86-64.so.2      strlen                         RL-> (0000.0) 0x580bb0e2",
        "   ------ ACTIVE ------",
        "    0x0483d0f9 (lf                  ) R-> (0000.0) 0x04a2b0f9 lf",
        "    0x0483d108 (lg                  ) W-> (2002.0) 0x04a2b107 lg",
        "    0xffffffffff600000 (???                 ) R-> (0000.0) 0x5803aba6 ???",
        ">>",
    ]
    state.remove_object(LIBL)
    lines = state.trace_lines(Reason.DELETED_OBJECT)
    assert lines[1] == "   ------ REDIR STATE after VG_(redir_notify_delete_DebugInfo) ------"
    assert not [line for line in lines if "libl.so filename" in line or "0x0483d0f9" in line]


def test_a_state_without_hardwired_rules_has_no_table_for_them() -> None:
    assert RedirState().trace_lines(Reason.INITIALISE) == [
        "<<",
        "   ------ REDIR STATE after VG_(redir_initialise) ------",
        "   ------ ACTIVE ------",
        ">>",
    ]


def test_names_are_cut_to_their_columns_and_scope_is_shown() -> None:
    state = RedirState()
    long = "_ZdaPvSt11align_val_tRKSt9nothrow_t"
    state.add_object(library(0x10000, "NONE", "/w", (f"_vgr10050ZU_VgSoSynsomalloc_{long}", 0)))
    state.add_object(library(0x20000, "a_soname_longer_than_its_column.so", "/l", (long, 0)))
    state.add_specification("a_soname_longer_than_its_column.so", "x", 0x99, kind=Kind.WRAP)
    lines = state.trace_lines(Reason.NEW_OBJECT)
    assert "     *                         _ZdaPvSt11align_val_tRKSt9noth RG-> (1005.0) 0x00010000" in lines
    assert "     a_soname_longer_than_its_ x                              WL-> (0000.0) 0x00000099" in lines
    assert f"    0x00020000 (_ZdaPvSt11align_val_) R-> (1005.0) 0x00010000 {long}" in lines


def test_pending_resolvers_are_shown_among_the_active_bindings() -> None:
    state = RedirState()
    text = [(0x20000, 0x21000)]
    state.add_object(CodeObject("/l", text, [Symbol("f", 0, 8, is_ifunc=True)], "l.so", 0x20000))
    state.add_object(library(0x10000, "NONE", "/w", ("_vgr00000ZZ_lZdso_f", 0)))
    lines = state.trace_lines(Reason.NEW_OBJECT)
    assert "    0x00020000 (f                   ) R-> (0000.0) 0x00010000 f" in lines


def test_first_use() -> None:
    state = RedirState()
    state.add_object(LIBL)
    state.add_object(LIBW)
    line = first_use_line(state.active[0x483D108])
    assert line == "REDIR: 0x483d108 (libl.so:lg) redirected to 0x4a2b107 (lg)"
    state.bind_address(0xFFFFFFFFFF600000, 0x5803ABA6)
    line = first_use_line(state.active[0xFFFFFFFFFF600000])
    assert line == "REDIR: 0xffffffffff600000 (???:???) redirected to 0x5803aba6 (???)"


def test_redirect_symbols_show_what_they_stand_for() -> None:
    """A wildcard takes the redirecting functions of others too; their names are shown decoded."""
    state = RedirState()
    symbols = ("helper", 0), ("_vgr00000ZZ_NONE_heZa", 0x10), ("_vgr00000ZZ_NONE_ZuvgrZa", 0x20)
    state.add_object(library(0x10000, "NONE", "/c", *symbols))
    assert [line for line in state.trace_lines(Reason.NEW_OBJECT) if line.startswith("    0x")] == [
        "    0x00010000 (helper              ) R-> (0000.0) 0x00010010 he*",
        "    0x00010010 (he*                 ) R-> (0000.0) 0x00010020 _vgr*",
    ]


def test_messages_of_an_added_binding() -> None:
    state = RedirState()
    state.add_object(LIBL)
    messages = state.add_object(LIBW).messages
    assert [(m.level, m.text, m.debug) for m in messages[:2]] == [
        (2, "Adding active redirection:", False),
        (2, "    new: 0x0483d0f9 (lf                  ) R-> (0000.0) 0x04a2b0f9 lf", True),
    ]
