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
from .results_types import Results

FORMAT = 3
T = TypeVar("T")


def load(path: str | os.PathLike[str]) -> Results:
    """Reads a file `results.json`."""
    document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    if document.get("format") != FORMAT:
        raise BluebenchError(f"{path} has format {document.get('format')}; this package reads format {FORMAT}")
    return _read(Results, document, str(path))


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
    if origin is dict:
        if not isinstance(value, dict):
            raise BluebenchError(f"{place}: expected an object, got {value!r}")
        return {name: _value(arguments[1], part, f"{place}.{name}") for name, part in value.items()}
    if dataclasses.is_dataclass(kind):
        return _read(typing.cast(type, kind), value, place)
    expected: Any = {float: (int, float), int: int, str: str, bool: bool}.get(kind, object)
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
