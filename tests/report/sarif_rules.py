"""What the schema of SARIF 2.1.0 says of the objects that we write.

The classes of a package that Microsoft generated from the schema know each object's properties, and which of
them it must have; what lies in which, what is unique, and what values there are is said here.
"""

from __future__ import annotations

import json
import re

import attr
import sarif_om

INSIDE = {
    "SarifLog": {"runs": ["Run"]},
    "Run": {"tool": "Tool", "invocations": ["Invocation"], "results": ["Result"]},
    "Tool": {"driver": "ToolComponent"},
    "ToolComponent": {"rules": ["ReportingDescriptor"]},
    "ReportingDescriptor": {
        **dict.fromkeys(("shortDescription", "help"), "MultiformatMessageString"),
        "defaultConfiguration": "ReportingConfiguration",
    },
    "Invocation": dict.fromkeys(("executableLocation", "workingDirectory"), "ArtifactLocation"),
    "Result": {
        "message": "Message",
        "locations": ["Location"],
        "relatedLocations": ["Location"],
        "stacks": ["Stack"],
        "codeFlows": ["CodeFlow"],
        "suppressions": ["Suppression"],
    },
    "Location": {
        "physicalLocation": "PhysicalLocation",
        "logicalLocations": ["LogicalLocation"],
        "message": "Message",
    },
    "PhysicalLocation": {"artifactLocation": "ArtifactLocation", "region": "Region", "address": "Address"},
    "Stack": {"message": "Message", "frames": ["StackFrame"]},
    "StackFrame": {"location": "Location"},
    "CodeFlow": {"threadFlows": ["ThreadFlow"]},
    "ThreadFlow": {"locations": ["ThreadFlowLocation"]},
    "ThreadFlowLocation": {"location": "Location"},
}
WORDS = {
    ("Result", "level"): {"error", "warning", "note", "none"},
    ("ReportingConfiguration", "level"): {"error", "warning", "note", "none"},
    ("Result", "baselineState"): {"new", "unchanged", "updated", "absent"},
    ("Run", "columnKind"): {"utf16CodeUnits", "unicodeCodePoints"},
    ("ThreadFlowLocation", "importance"): {"important", "essential", "unimportant"},
    ("Suppression", "kind"): {"inSource", "external"},
}
UNIQUE = {"rules", "stacks", "relatedLocations", "logicalLocations", "suppressions", "tags"}
LEAST = {
    "startLine": 1,
    "occurrenceCount": 1,
    "ruleIndex": 0,
    "absoluteAddress": -1,
    "processId": 0,
    "exitCode": -(1 << 31),
    "exitSignalNumber": 1,
    "threadId": 0,
}
TEXTS = {"id", "name", "ruleId", "fullyQualifiedName", "decoratedName", "module", "commandLine", "version"}
TIME = re.compile(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d(\.\d+)?Z")
URI = re.compile(r"(file:///|\./)?[A-Za-z0-9._~%/-]*")


def check(value: object, kind: str = "SarifLog", path: str = "") -> None:
    """Every property is one of its object's, none that it needs is missing, words are the schema's."""
    assert isinstance(value, dict), path
    known = {field.metadata["schema_property_name"]: field for field in attr.fields(getattr(sarif_om, kind))}
    assert set(value) <= set(known), path
    assert {name for name, field in known.items() if field.default is attr.NOTHING} <= set(value), path
    for name, content in value.items():
        if (kind, name) in WORDS:
            assert content in WORDS[(kind, name)], f"{path}.{name}"
        if name in UNIQUE:
            assert len({json.dumps(each, sort_keys=True) for each in content}) == len(content), (
                f"{path}.{name}"
            )
        if name in LEAST:
            assert type(content) is int and content >= LEAST[name], f"{path}.{name}"
        if name in TEXTS or (kind == "Invocation" and name == "arguments"):
            texts = content if isinstance(content, list) else [content]
            assert all(isinstance(each, str) for each in texts), f"{path}.{name}"
        if name in ("startTimeUtc", "endTimeUtc"):
            assert TIME.fullmatch(content), content
        if name == "uri":
            assert URI.fullmatch(content), content
        if kind in ("Message", "MultiformatMessageString") and name == "text":
            assert isinstance(content, str) and content
        inside = INSIDE.get(kind, {}).get(name)
        if isinstance(inside, list):
            for number, each in enumerate(content):
                check(each, inside[0], f"{path}.{name}[{number}]")
        elif inside is not None:
            check(content, inside, f"{path}.{name}")
