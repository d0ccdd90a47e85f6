"""Answers of earlier runs: found by all events up to them, and only in a file that is what was written."""

from __future__ import annotations

from interpose.cache.memo import Memo


def filled() -> Memo:
    memo = Memo(b"seed", None)
    for event in (b"first", b"second"):
        memo.happened(event)
        memo.add(b"what followed " + event)
        memo.add(event[:1], b"question")
    return memo


def answers(memo: Memo) -> list[bytes | None]:
    found = []
    for event in (b"first", b"second"):
        memo.happened(event)
        found += [memo.answer(), memo.answer(b"question")]
    return found


def test_what_was_added_is_found_again():
    data = filled().contents()
    again = Memo(b"seed", data)
    assert answers(again) == [b"what followed first", b"f", b"what followed second", b"s"]
    assert not again.damaged and not again.added


def test_other_seeds_events_and_orders_find_nothing():
    data = filled().contents()
    assert answers(Memo(b"another seed", data)) == [None] * 4
    memo = Memo(b"seed", data)
    memo.happened(b"second")
    assert memo.answer() is None
    memo.happened(b"first")
    assert memo.answer() is None and memo.answer(b"question") is None


def test_after_distrust_nothing_is_found_or_added():
    memo = Memo(b"seed", filled().contents())
    memo.happened(b"first")
    memo.distrust()
    assert memo.answer() is None
    memo.add(b"new", b"other question")
    assert not memo.added


def test_two_runs_add():
    first, second = Memo(b"seed", None), Memo(b"seed", None)
    for memo, event in ((first, b"one"), (second, b"two")):
        memo.happened(event)
        memo.add(b"after " + event)
    assert second.take(first.contents())
    both = second.contents()
    for event in (b"one", b"two"):
        memo = Memo(b"seed", both)
        memo.happened(event)
        assert memo.answer() == b"after " + event


def test_any_byte_that_is_another_one_and_any_cut_is_noticed():
    data = filled().contents()
    for at in range(len(data)):
        for flip in (1, 0x80, 0xFF):
            damaged = data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]
            memo = Memo(b"seed", damaged)
            assert memo.damaged and answers(memo) == [None] * 4, at
        assert Memo(b"seed", data[:at]).damaged
    assert Memo(b"seed", data + b"\0").damaged


def row_of(memo: Memo, *row: bytes) -> None:
    memo.happened(b"before")
    for event in row:
        memo.happened(event, in_row=True)
        memo.add(b"for " + event)
    memo.happened(b"behind")


def test_what_came_in_a_row_is_known_at_each_event_of_it():
    memo = Memo(b"seed", None)
    row_of(memo, b"one", b"two", b"six")
    again = Memo(b"seed", memo.contents())
    assert again.row(b"one") == []
    again.happened(b"before")
    assert again.row(b"two") == []
    assert again.row(b"one") == [(b"two", b"for two"), (b"six", b"for six")]
    again.happened(b"one", in_row=True)
    assert again.row(b"six") == []
    assert again.row(b"two") == [(b"six", b"for six")]
    again.happened(b"two", in_row=True)
    assert again.row(b"six") == []
    again.happened(b"six", in_row=True)
    assert again.answer() == b"for six"
    again.happened(b"behind")
    assert not again.added


def test_the_last_row_is_kept_unless_it_only_ended_earlier():
    memo = Memo(b"seed", None)
    row_of(memo, b"one", b"two", b"six")
    shorter = Memo(b"seed", memo.contents())
    row_of(shorter, b"one", b"two")
    again = Memo(b"seed", shorter.contents())
    again.happened(b"before")
    assert [event for event, _ in again.row(b"one")] == [b"two", b"six"]
    other = Memo(b"seed", memo.contents())
    row_of(other, b"one", b"ten", b"six")
    assert other.take(memo.contents())  # what another run has written meanwhile
    last = Memo(b"seed", other.contents())
    last.happened(b"before")
    assert last.row(b"one") == [(b"ten", b"for ten"), (b"six", b"for six")]
    distrusted = Memo(b"seed", memo.contents())
    distrusted.happened(b"before")
    distrusted.distrust()
    assert distrusted.row(b"one") == []


def test_a_fact_holds_whatever_happens():
    memo = filled()
    memo.distrust()
    memo.say(b"fact")
    memo.say(b"fact")
    assert len(memo.added) == 5
    again = Memo(b"seed", memo.contents())
    again.happened(b"something else")
    assert again.holds(b"fact") and not again.holds(b"another")
    assert not Memo(b"another seed", memo.contents()).holds(b"fact")
    again.say(b"fact")
    assert not again.added
