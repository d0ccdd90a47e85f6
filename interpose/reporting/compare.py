"""What is new since an earlier run, and what is fixed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from interpose.formats.report import Error, Report


@dataclass
class Comparison:
    """Errors and loss records of two runs, by fingerprint (docs/reports.md)."""

    new: list[tuple[str, Error]] = field(default_factory=list)
    unchanged: list[tuple[str, Error]] = field(default_factory=list)
    fixed: list[tuple[str, Error]] = field(default_factory=list)
    """Those of the old run that the new one has not."""

    def state(self, fingerprint: str) -> str | None:
        """``new``, ``unchanged`` or ``absent``, as SARIF calls them."""
        for name, errors in (("new", self.new), ("unchanged", self.unchanged), ("absent", self.fixed)):
            if any(fingerprint == known for known, _ in errors):
                return name
        return None


def distinct(report: Report) -> dict[str, Error]:
    """Errors and loss records by fingerprint; the same one of several processes counts once, with its sum."""
    found: dict[str, Error] = {}
    counts: dict[str, int] = {}
    for fingerprint, error in report.fingerprints():
        found.setdefault(fingerprint, error)
        counts[fingerprint] = counts.get(fingerprint, 0) + error.count
    return {fingerprint: replace(error, count=counts[fingerprint]) for fingerprint, error in found.items()}


def compare(old: Report, new: Report) -> Comparison:
    """Two runs of a program, or of two versions of it."""
    before, now = distinct(old), distinct(new)
    result = Comparison()
    for fingerprint, error in now.items():
        (result.unchanged if fingerprint in before else result.new).append((fingerprint, error))
    result.fixed = [(fingerprint, error) for fingerprint, error in before.items() if fingerprint not in now]
    return result
