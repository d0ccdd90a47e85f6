"""Z-encoding and redirect symbol names (docs/spec/redirection.md sections 1 and 2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.zenc import (
    BadEscapeError,
    DemangleError,
    Kind,
    NotRedirectNameError,
    RedirectName,
    ReservedSonameError,
    ZencError,
    decode,
    display_name,
    encode,
    is_candidate,
    parse,
)

TABLE = {
    "Za": "*", "Zc": ":", "Zd": ".", "Zh": "-", "Zp": "+", "Zs": " ", "Zu": "_",
    "ZA": "@", "ZD": "$", "ZL": "(", "ZP": "%", "ZR": ")", "ZS": "/", "ZZ": "Z",
}  # fmt: skip


@pytest.mark.parametrize(("escape", "plain"), TABLE.items())
def test_each_escape_both_ways(escape: str, plain: str) -> None:
    assert decode(escape) == plain
    assert encode(plain) == escape
    assert decode(f"x{escape}y") == f"x{plain}y"


@pytest.mark.parametrize(
    ("encoded", "plain"),
    [
        ("libpthreadZdsoZd0", "libpthread.so.0"),
        ("pthreadZucreateZAZa", "pthread_create@*"),
        ("libstdcZpZpZa", "libstdc++*"),
        ("ldZhlinuxZhx86Zh64ZdsoZd2", "ld-linux-x86-64.so.2"),
        ("memcpyZAZAGLIBCZu2Zd14", "memcpy@@GLIBC_2.14"),
        ("ZZa", "Za"),
        ("", ""),
        ("fo?", "fo?"),
    ],
)
def test_names_of_the_manual(encoded: str, plain: str) -> None:
    assert decode(encoded) == plain
    assert encode(plain) == encoded


@pytest.mark.parametrize("bad", ["Z", "abcZ", "Zb", "aZ_", "Z*", "ZZZ", "Zé", "Z\n"])
def test_unknown_escape_is_an_error_that_names_the_text(bad: str) -> None:
    with pytest.raises(BadEscapeError, match="escape") as caught:
        decode(bad)
    assert caught.value.text == bad
    assert isinstance(caught.value, ValueError)


@given(st.text())
def test_decode_reverts_encode(text: str) -> None:
    assert decode(encode(text)) == text


@given(st.text(alphabet="acdhpsuADLPRSZxyz09"))
def test_encode_reverts_decode_of_canonical_text(encoded: str) -> None:
    try:
        plain = decode(encoded)
    except BadEscapeError:
        return
    assert encode(plain) == encoded


@given(st.text(), st.text())
def test_encoding_is_injective_and_leaves_nothing_to_escape(a: str, b: str) -> None:
    assert (encode(a) == encode(b)) == (a == b)
    assert not set(encode(a)) & (set(TABLE.values()) - {"Z"})


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("_vgw00000ZU_NONE_foo", RedirectName(Kind.WRAP, "NONE", "foo")),
        ("_vgr00000ZZ_libcZdsoZa_strlen", RedirectName(Kind.REPLACE, "libc.so*", "strlen")),
        ("_vgr10050ZU_VgSoSynsomalloc_free", RedirectName(Kind.REPLACE, "VgSoSynsomalloc", "free", 1005, 0)),
        ("_vgr20181ZZ_libcZdsoZa_memcpyZAGLIBCZu2Zd2Zd5",
         RedirectName(Kind.REPLACE, "libc.so*", "memcpy@GLIBC_2.2.5", 2018, 1)),
        # The soname ends at the first underscore; ZU takes the rest as it is.
        ("_vgr00000ZU_NONE_a_b_Za", RedirectName(Kind.REPLACE, "NONE", "a_b_Za")),
        ("_vgr00000ZZ_NONE_a_bZa", RedirectName(Kind.REPLACE, "NONE", "a_b*")),
        ("_vgr00000ZU_NONE__ZN3fooEv", RedirectName(Kind.REPLACE, "NONE", "_ZN3fooEv")),
        ("_vgr00000ZU_Za_Za", RedirectName(Kind.REPLACE, "*", "Za")),
        ("_vgr99990ZU__loc", RedirectName(Kind.REPLACE, "", "loc", 9999, 0)),
        ("_vgr99990ZU_NONE_", RedirectName(Kind.REPLACE, "NONE", "", 9999, 0)),
        ("_vgr00000ZU_VG_foo", RedirectName(Kind.REPLACE, "VG", "foo")),
    ],
)  # fmt: skip
def test_parse(symbol: str, expected: RedirectName) -> None:
    assert is_candidate(symbol)
    assert parse(symbol) == expected


@pytest.mark.parametrize("priority", range(1, 10))
def test_no_tag_with_a_priority_is_no_redirect_name(priority: int) -> None:
    with pytest.raises(NotRedirectNameError, match="0000 demands priority 0"):
        parse(f"_vgr0000{priority}ZU_NONE_foo")


@pytest.mark.parametrize(
    "symbol",
    ["foo", "_vgx00000ZU_NONE_foo", "_vgr0000ZU_NONE_foo", "_vgr000a0ZU_NONE_foo", "_vgr00000ZX_NONE_foo",
     "_vgr000000ZU_NONE_foo", "_vgr00000ZUNONE_foo", "_vgr", "x_vgr00000ZU_NONE_foo", "_vgr٠٠٠٠٠ZU_NONE_foo",
     "_vgnU_freeres"],
)  # fmt: skip
def test_other_shapes_are_no_redirect_names(symbol: str) -> None:
    with pytest.raises(NotRedirectNameError, match=r"_vg\[rw\]TTTTP"):
        parse(symbol)


@pytest.mark.parametrize(
    "symbol",
    ["_vgr00000ZZ_NONE_fooZ", "_vgr00000ZZ_NONE_foZbo", "_vgr00000ZU_NOZbNE_foo", "_vgw12340ZZ_Zx_foo",
     "_vgr99990ZU_NONE"],
)  # fmt: skip
def test_right_head_with_a_bad_rest(symbol: str) -> None:
    with pytest.raises(DemangleError) as caught:
        parse(symbol)
    assert caught.value.text == symbol
    assert symbol in str(caught.value)


@pytest.mark.parametrize("symbol", ["_vgr00000ZU_VG_Z_foo", "_vgw12345ZZ_VG_Z_foo"])
def test_reserved_prefix(symbol: str) -> None:
    with pytest.raises(ReservedSonameError, match="'VG_Z_' prefix"):
        parse(symbol)


def test_a_name_that_would_get_the_reserved_prefix_cannot_be_made() -> None:
    name = RedirectName(Kind.REPLACE, "VG", "Z_foo")
    with pytest.raises(ReservedSonameError):
        name.symbol(encode_function=False)
    assert parse(name.symbol()) == name


@pytest.mark.parametrize(
    ("tag", "priority", "message"),
    [(0, 1, "demands priority 0"), (10000, 0, "tag 10000"), (-1, 0, "tag -1"), (1, 10, "priority 10"),
     (1, -1, "priority -1")],
)  # fmt: skip
def test_impossible_classes(tag: int, priority: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RedirectName(Kind.WRAP, "NONE", "foo", tag, priority)


def _names() -> st.SearchStrategy[RedirectName]:
    classes = st.just((0, 0)) | st.tuples(st.integers(1, 9999), st.integers(0, 9))
    parts = st.text(alphabet=st.sampled_from("abuvZVG_*?.@:+- $()%/09é\n"))
    return st.builds(
        lambda kind, soname, function, cls: RedirectName(kind, soname, function, *cls),
        st.sampled_from(list(Kind)), parts, parts, classes,
    )  # fmt: skip


@given(_names(), st.booleans())
def test_parse_reverts_symbol(name: RedirectName, encode_function: bool) -> None:
    try:
        symbol = name.symbol(encode_function=encode_function)
    except ReservedSonameError:
        assert not encode_function
        assert (name.soname, name.function[:2]) == ("VG", "Z_")
        return
    assert parse(symbol) == name
    assert display_name(symbol) == name.function


@given(st.from_regex(r"_vg[rw][0-9]{5}Z[UZ]_[A-Za-z0-9_]*", fullmatch=True) | st.text())
def test_parse_of_anything_returns_or_raises_its_own_error(symbol: str) -> None:
    try:
        name = parse(symbol)
    except ZencError as error:
        assert error.text == symbol
        return
    assert symbol.startswith(f"_vg{name.kind.value.lower()}{name.tag:04d}{name.priority}Z")


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [("malloc", "malloc"), ("_vgr00000ZZ_NONE_foZa", "fo*"), ("_vgr00000ZZ_NONE_foZ", "_vgr00000ZZ_NONE_foZ"),
     ("_vgnU_freeres", "_vgnU_freeres")],
)  # fmt: skip
def test_display_name(symbol: str, shown: str) -> None:
    assert display_name(symbol) == shown
