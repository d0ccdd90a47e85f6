"""SARIF 2.1.0, which code hosts show in a change (OASIS, "Static Analysis Results Interchange Format")."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from interpose import __version__
from interpose.formats.report import Error, FatalSignal, Frame, Leak, Process, Report, Thread
from interpose.reporting.compare import Comparison, distinct
from interpose.reporting.paths import Sources
from interpose.reporting.rules import rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"
FINGERPRINT = "interposeStack/v1"


class Maker:
    """Makes the log of one report."""

    def __init__(self, report: Report, sources: Sources, comparison: Comparison | None = None) -> None:
        self._report = report
        self._sources = sources
        self._comparison = comparison
        self._rules: dict[str, int] = {}

    def log(self) -> dict[str, Any]:
        """The whole."""
        results = [self._result(*each) for each in distinct(self._report).items()]
        if self._comparison is not None:
            results += [self._result(*each) for each in self._comparison.fixed]
        results += [self._suppressed(error) for error in self._report.suppressed]
        results += [self._fatal(fatal) for fatal in self._report.fatal_signals]
        tool = self._report.processes[0].tool if self._report.processes else "memcheck"
        driver = {
            "name": f"interpose {tool}",
            "version": __version__,
            "rules": [self._rule(kind) for kind in self._rules],
        }
        run = {
            "tool": {"driver": driver},
            "originalUriBaseIds": {ROOT: {"uri": self._sources.uri(self._sources.root.rstrip("/") + "/")}},
            "invocations": [_invocation(process, self._sources) for process in self._report.processes],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }
        return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}

    @staticmethod
    def _rule(kind: str) -> dict[str, Any]:
        known = rule(kind)
        content: dict[str, Any] = {
            "id": kind,
            "name": kind.replace("_", ""),
            "shortDescription": {"text": known.short},
            "defaultConfiguration": {"level": known.level},
            "properties": {"tags": ["memory", "leak" if kind.startswith("Leak_") else "correctness"]},
        }
        if known.help:
            content["help"] = {"text": known.help}
        return content

    def _rule_of(self, kind: str) -> dict[str, Any]:
        index = self._rules.setdefault(kind, len(self._rules))
        return {"ruleId": kind, "ruleIndex": index, "level": rule(kind).level}

    # -- results -------------------------------------------------------------------------------

    def _result(self, fingerprint: str, error: Error) -> dict[str, Any]:
        content = self._plain_result(error)
        content["partialFingerprints"] = {FINGERPRINT: fingerprint}
        if self._comparison is not None:
            content["baselineState"] = self._comparison.state(fingerprint) or "new"
        return content

    def _plain_result(self, error: Error) -> dict[str, Any]:
        content: dict[str, Any] = {
            **self._rule_of(error.kind),
            "message": {"text": _sentence(error)},
            "occurrenceCount": max(1, error.count),
            "properties": {"pid": error.pid, "number": error.number},
        }
        if isinstance(error, Leak):
            content["properties"].update(bytes=error.bytes, blocks=error.blocks)
        stacks = [self._stack(error.what, error.stack, error.thread)] if error.stack else []
        related = []
        parts = [*error.aux, *([error.origin] if error.origin is not None else [])]
        for part in parts:
            if part.stack:
                stacks.append(self._stack(part.text, part.stack, None))
            place = self._sources.place(part.stack)
            if place is not None:
                related.append({**self._location(place), "message": {"text": part.text}})
        place = self._sources.place(error.stack)
        if place is not None:
            content["locations"] = [self._location(place)]
        if stacks:
            content["stacks"] = _once(stacks)
            content["codeFlows"] = [self._flow(error)]
        if related:
            content["relatedLocations"] = _once(related)
        return content

    def _suppressed(self, error: Error) -> dict[str, Any]:
        content = self._plain_result(error)
        use = error.suppressed_by
        if use is not None:
            content["suppressions"] = [
                {"kind": "external", "justification": f"{use.name} ({use.file}:{use.line})"}
            ]
        return content

    def _fatal(self, fatal: FatalSignal) -> dict[str, Any]:
        event = f": {fatal.event}" if fatal.event else ""
        address = f" at address 0x{fatal.address:x}" if fatal.address is not None else ""
        text = (
            f"Process terminating with default action of signal {fatal.signal} ({fatal.name}){event}{address}"
        )
        content: dict[str, Any] = {
            **self._rule_of("FatalSignal"),
            "message": {"text": text},
            "properties": {"pid": fatal.pid},
        }
        if fatal.stack:
            content["stacks"] = [self._stack(text, fatal.stack, fatal.thread)]
            place = self._sources.place(fatal.stack)
            if place is not None:
                content["locations"] = [self._location(place)]
        return content

    # -- places --------------------------------------------------------------------------------

    def _location(self, frame: Frame) -> dict[str, Any]:
        physical: dict[str, Any] = {}
        path = self._sources.path(frame)
        if path is not None:
            physical["artifactLocation"] = {"uri": self._sources.uri(path)}
            if self._sources.is_own(frame):
                physical["artifactLocation"]["uriBaseId"] = ROOT
            if frame.line:
                physical["region"] = {"startLine": frame.line}
        elif frame.object is not None:
            physical["artifactLocation"] = {"uri": self._sources.uri(frame.object)}
        if frame.ip < 1 << 63:
            physical["address"] = {"absoluteAddress": frame.ip}
        content: dict[str, Any] = {"physicalLocation": physical} if physical else {}
        if frame.function is not None:
            logical = {"name": frame.function, "fullyQualifiedName": frame.function, "kind": "function"}
            if frame.symbol is not None:
                logical["decoratedName"] = frame.symbol
            content["logicalLocations"] = [logical]
        return content

    def _stack(self, text: str, stack: Sequence[Frame], thread: Thread | None) -> dict[str, Any]:
        frames = []
        for frame in stack:
            content: dict[str, Any] = {"location": self._location(frame)}
            if frame.object is not None:
                content["module"] = frame.object
            if thread is not None:
                content["threadId"] = thread.id
            frames.append(content)
        return {"message": {"text": text}, "frames": frames}

    def _flow(self, error: Error) -> dict[str, Any]:
        """Outermost call first, as a program is read; what happened before, such as a release, before."""
        locations: list[dict[str, Any]] = []
        before = [*error.aux, *([error.origin] if error.origin is not None else [])]
        for part in reversed(before):
            place = self._sources.place(part.stack)
            if place is not None:
                location = {**self._location(place), "message": {"text": part.text}}
                locations.append({"location": location, "importance": "important"})
        for frame in reversed(error.stack):
            importance = "essential" if self._sources.is_own(frame) else "unimportant"
            text = f"called in {frame.function or '???'}"
            location = {**self._location(frame), "message": {"text": text}}
            locations.append({"location": location, "importance": importance})
        if error.stack:
            location = {**self._location(error.stack[0]), "message": {"text": error.what}}
            locations[-1] = {"location": location, "importance": "essential"}
        return {"threadFlows": [{"locations": locations}]}


def _once(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The schema wants these lists to have no element twice."""
    return [each for at, each in enumerate(objects) if each not in objects[:at]]


def _sentence(error: Error) -> str:
    origin = [error.origin.text] if error.origin is not None else []
    return "\n".join([error.what, *(part.text for part in error.aux), *origin])


def _invocation(process: Process, sources: Sources) -> dict[str, Any]:
    content: dict[str, Any] = {
        "executionSuccessful": process.how == "exit",
        "processId": process.pid,
        "arguments": list(process.command[1:]),
        "commandLine": " ".join(process.command),
    }
    if process.command:
        content["executableLocation"] = {"uri": sources.uri(process.command[0])}
    for name, value in (
        ("startTimeUtc", process.started),
        ("endTimeUtc", process.ended),
        ("exitCode", process.code),
        ("exitSignalNumber", process.signal),
    ):
        if value is not None:
            content[name] = value
    if process.folder is not None:
        content["workingDirectory"] = {"uri": sources.uri(process.folder.rstrip("/") + "/")}
    return content


def sarif(report: Report, sources: Sources, comparison: Comparison | None = None) -> bytes:
    """The log as a file."""
    return (json.dumps(Maker(report, sources, comparison).log(), indent=1) + "\n").encode()
