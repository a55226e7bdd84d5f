"""`results.json` of a run as dataclasses: docs/guide/results.md describes the fields."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
import types
import typing
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from .program import BluebenchError, find_program

FORMAT = 3
Verdict = Literal["PASS", "FAIL", "INCONC", "N/A", "ERROR"]
T = TypeVar("T")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evidence:
    """A packet on which the verdict rests."""

    packet: int
    side: str
    at_ms: float
    text: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
    """The step that failed."""

    position: str
    step: str
    requirement: str | None = None
    expected: str | None = None
    got: str | None = None
    packet: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """The result of one case. `other` has fields that this package does not type, by their names in the file."""

    id: str
    title: str
    verdict: Verdict
    message: str | None = None
    covers: list[str] = dataclasses.field(default_factory=list)
    covers_partly: list[str] = dataclasses.field(default_factory=list)
    duration_ms: float | None = None
    virtual_ms: float | None = None
    seed: str | None = None
    file: str | None = None
    purpose: str | None = None
    reference: str | None = None
    tags: list[str] = dataclasses.field(default_factory=list)
    started: str | None = None
    capture: str | None = None
    first_packet: int | None = None
    last_packet: int | None = None
    evidence: list[Evidence] = dataclasses.field(default_factory=list)
    step: Step | None = None
    notes: list[str] = dataclasses.field(default_factory=list)
    flaky: bool = False
    not_run: bool = False
    other: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """PASS, or N/A: the case does not concern the device."""
        return self.verdict in ("PASS", "N/A")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Summary:
    """Numbers of cases by verdict."""

    passed: int = dataclasses.field(metadata={"name": "pass"})
    fail: int
    inconc: int
    na: int
    error: int
    flaky: int = 0
    not_run: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunFacts:
    """Properties of the run."""

    seed: str
    tester: str
    subject: str
    interrupted: bool
    shuffle: str | None = None
    ending: str | None = None
    shard: str | None = None
    slack_ms: float | None = None
    date: str | None = None
    host: str | None = None
    build: str | None = None
    arguments: list[str] = dataclasses.field(default_factory=list)
    labels: dict[str, str] = dataclasses.field(default_factory=dict)
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results:
    """A whole file."""

    format: int
    run: RunFacts
    summary: Summary
    cases: list[Case]
    other: dict[str, Any] = dataclasses.field(default_factory=dict)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Results:
        """Reads a file `results.json`."""
        document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        if document.get("format") != FORMAT:
            raise BluebenchError(f"{path} has format {document.get('format')}; this package reads format {FORMAT}")
        return _read(Results, document, str(path))

    @property
    def failed(self) -> list[Case]:
        """The cases that did not pass: FAIL, INCONC and ERROR."""
        return [case for case in self.cases if not case.passed]

    def __getitem__(self, case_id: str) -> Case:
        for case in self.cases:
            if case.id == case_id:
                return case
        raise KeyError(case_id)


def _read(kind: type[T], value: Any, place: str) -> T:
    """A dataclass from a JSON object; unknown fields go to `other` if it has one."""
    if not isinstance(value, dict):
        raise BluebenchError(f"{place}: expected an object, got {value!r}")
    types_of = typing.get_type_hints(kind)
    names = {field.metadata.get("name", field.name): field for field in dataclasses.fields(kind) if field.name != "other"}  # type: ignore[arg-type]
    found = {field.name: _value(types_of[field.name], value[name], f"{place}.{name}") for name, field in names.items() if name in value}
    missing = [
        name for name, field in names.items()
        if name not in value and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING]
    if missing:
        raise BluebenchError(f"{place} has no {missing[0]}")
    if "other" in types_of:
        found["other"] = {name: part for name, part in value.items() if name not in names}
    return kind(**found)


def _value(kind: Any, value: Any, place: str) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType or origin is typing.Union:
        return None if value is None else _value(arguments[0], value, place)
    if origin is list:
        if not isinstance(value, list):
            raise BluebenchError(f"{place}: expected a list, got {value!r}")
        return [_value(arguments[0], part, f"{place}[{index}]") for index, part in enumerate(value)]
    if dataclasses.is_dataclass(kind):
        return _read(typing.cast(type, kind), value, place)
    expected = {float: (int, float), int: int, str: str, bool: bool}.get(kind, object)
    if origin is Literal and value not in arguments or not isinstance(value, expected) or kind is not bool and isinstance(value, bool):
        raise BluebenchError(f"{place}: unexpected {value!r}")
    return value


def run_cases(
    *cases: str, tester: str | None = None, subject: str | None = None, report: str | os.PathLike[str] | None = None,
    options: Sequence[object] = (), cwd: str | os.PathLike[str] | None = None, timeout: float | None = None,
) -> Results:
    """Runs cases, suites or patterns by `bluebench run` to their end and returns the results, whatever their verdicts.

    tester, subject: devices; the simulation by default. report: a folder for the HTML page, JUnit and the capture.
    Raises if there are no results: a wrong name, or a device that cannot be opened.
    """
    with tempfile.TemporaryDirectory(prefix="bluebench") as folder:
        path = pathlib.Path(folder, "results.json")
        command: list[str] = [find_program(), "run", *cases, "--quiet", "--json", str(path)]
        for option, value in (("--tester", tester), ("--subject", subject), ("--report", report)):
            if value is not None:
                command += [option, str(value)]
        command += map(str, options)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, cwd=cwd)
        if not path.exists() or done.returncode not in (0, 1, 3):
            raise BluebenchError(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
        return Results.load(path)
