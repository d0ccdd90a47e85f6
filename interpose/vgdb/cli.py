"""The command ``interpose-vgdb``."""

from __future__ import annotations

from interpose.console import talk

from .found import default_prefix, listing, places, search
from .voice import VgdbError, Voice
from .wishes import HINT, USAGE, UsageError, Wishes, parse


def _run(wishes: Wishes, voice: Voice) -> int:
    prefix = default_prefix() if wishes.prefix is None else wishes.prefix
    if wishes.multi:
        from .multi import Multi

        return Multi(wishes, prefix, voice).run()
    if wishes.listing:
        if found := places(prefix):
            voice.show(listing(found))
        return 1  # as Valgrind's
    place = search(prefix, wishes.pid, wishes.wait, voice)
    if wishes.verbose:
        voice.tell(f"found {place.command.rstrip()} at {place.requests}")
    if wishes.shared:
        from .link import shared_state

        voice.tell(shared_state(place))
        return 0
    if wishes.commands:
        from .standalone import run

        return run(place, wishes.commands, wishes.time_out, voice)
    from . import relay

    if wishes.port is not None:
        return relay.run_tcp(place, wishes.port, voice)
    return relay.run(place, voice)


def main(words: list[str]) -> int:
    """Run a command line."""
    try:
        wishes = parse(words)
    except UsageError as error:
        Voice().tell(f"{error}\n{HINT}")
        return 1
    if wishes.help:
        print(USAGE, end="")
        return 0
    voice = Voice(quiet=wishes.quiet, time_stamps=wishes.time_stamps, debug=wishes.debug)
    try:
        return _run(wishes, voice)
    except VgdbError as error:
        voice.tell(str(error))
        return 1


def entry() -> None:
    """For the installed command."""
    talk(main)
