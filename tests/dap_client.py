"""A small client of the Debug Adapter Protocol, as an editor has one."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema

TIMEOUT = 60
Message = dict[str, Any]


def _validators() -> Callable[[str], Any] | None:
    """Validators of the protocol's definitions by name, from the schema that the package debugpy holds."""
    found = importlib.util.find_spec("debugpy")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / "_vendored/pydevd/_pydevd_bundle/_debug_adapter"
    schema = json.loads((folder / "debugProtocol.json").read_text())

    @functools.cache
    def validator(name: str) -> Any:
        return jsonschema.Draft4Validator({**schema, "$ref": f"#/definitions/{name}"})

    return validator


VALIDATOR = _validators()


def check(message: Message) -> None:
    """A message of the adapter's is one of the protocol."""
    if VALIDATOR is None:
        return
    if message["type"] == "event":
        name = f"{message['event'][:1].upper()}{message['event'][1:]}Event"
    elif not message["success"]:
        name = "ErrorResponse"
    else:
        name = f"{message['command'][:1].upper()}{message['command'][1:]}Response"
    VALIDATOR(name).validate(message)


class Client:
    """An adapter, and what it has said."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "interpose", "--dap"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(folder)},
            cwd=folder,
        )
        self._data = b""
        self._seq = 0
        self.messages: list[Message] = []
        self._looked_at = 0

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def send(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def ask(self, command: str, **arguments: object) -> Message:
        """A request's response, whether it succeeded or not."""
        self._seq += 1
        seq = self._seq
        message = {"seq": seq, "type": "request", "command": command, "arguments": arguments}
        content = json.dumps(message).encode()
        self.send(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))
        return self._until(lambda message: message.get("request_seq") == seq, 0)

    def get(self, command: str, **arguments: object) -> Message:
        """The body of a request that succeeds."""
        answer = self.ask(command, **arguments)
        assert answer["success"], answer
        return answer["body"]

    def event(self, name: str) -> Message:
        """The body of the next event of a kind, behind the events that were asked for before."""
        found = self._until(lambda message: message.get("event") == name, self._looked_at)
        self._looked_at = self.messages.index(found) + 1
        return found["body"]

    def output(self, category: str) -> str:
        bodies = [message["body"] for message in self.messages if message.get("event") == "output"]
        return "".join(body["output"] for body in bodies if body["category"] == category)

    def start(self, program: Path, **more: object) -> None:
        """Up to where breakpoints are set."""
        self.get("initialize", adapterID="interpose")
        self.get("launch", program=str(program), **more)
        self.event("initialized")

    def _until(self, fits: Callable[[Message], bool], at: int) -> Message:
        end = time.monotonic() + TIMEOUT
        while True:
            for message in self.messages[at:]:
                if fits(message):
                    return message
            at = len(self.messages)
            self._read(end)

    def _read(self, end: float) -> None:
        assert self.process.stdout
        fd = self.process.stdout.fileno()
        ready, _, _ = select.select([fd], [], [], max(0, end - time.monotonic()))
        assert ready, f"nothing came; so far: {self.messages[-5:]}"
        data = os.read(fd, 1 << 16)
        assert data, f"the adapter has ended; so far: {self.messages[-5:]}"
        self._data += data
        while b"\r\n\r\n" in self._data:
            header, _, rest = self._data.partition(b"\r\n\r\n")
            length = int(header.partition(b":")[2])
            if len(rest) < length:
                return
            self.messages.append(json.loads(rest[:length]))
            check(self.messages[-1])
            self._data = rest[length:]
