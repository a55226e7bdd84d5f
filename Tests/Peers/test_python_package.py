"""The Python package reads what the program writes."""

import dataclasses
import json
import os
import subprocess
import sys

import pytest

from support import ROOT, bluebench, run_bench
from bluebench import BluebenchError, Results, find_program, results, run_cases, show  # support makes it importable


@pytest.fixture(autouse=True)
def _program(monkeypatch):
    monkeypatch.setenv("BLUEBENCH", bluebench())
    monkeypatch.chdir(ROOT)


def raw(value):
    """A dataclass as the object that it was read from."""
    if isinstance(value, list):
        return [raw(part) for part in value]
    if not dataclasses.is_dataclass(value):
        return value
    found = dict(getattr(value, "other", {}))
    for field in dataclasses.fields(value):
        part = getattr(value, field.name)
        is_absent = field.default == part or field.default_factory is not dataclasses.MISSING and part == field.default_factory()
        if field.name != "other" and not is_absent:
            found[field.metadata.get("name", field.name)] = raw(part)
    return found


def without_empty(value):
    if isinstance(value, dict):
        return {name: without_empty(part) for name, part in value.items() if part not in ([], {}, None, False)}
    return [without_empty(part) for part in value] if isinstance(value, list) else value


def test_nothing_of_results_json_is_lost(tmp_path):
    run_bench("run", "phy", "accessory-att", "--label", "a=b", "--json", tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_text())
    read = Results.load(tmp_path / "r.json")
    assert without_empty(raw(read)) == without_empty(document)
    assert unknown(read) == []
    assert read.summary.passed == sum(case.verdict == "PASS" for case in read.cases) > 0 and not read.failed
    assert read.cases[0].evidence[0].packet > 0 and read.run.labels == {"a": "b"}


def test_a_failed_step(tmp_path):
    """A case that fails because it expects the wrong thing."""
    source = (ROOT / "Conformance/phy/read.yaml").read_text()
    (tmp_path / "own").mkdir()
    changed = source.replace("LE_1M", "LE_2M")
    assert changed != source
    (tmp_path / "own/wrong.yaml").write_text(changed)
    read = run_cases("own/wrong", options=["--cases", tmp_path])
    [case] = read.failed
    assert case.verdict == "FAIL" and not case.passed and read["own/wrong"] is case
    assert case.step.requirement and case.step.expected and case.step.got and "wrong.yaml:" in case.step.position


def unknown(value, place="results"):
    """The fields of a file that the classes do not have."""
    if isinstance(value, list):
        return [name for index, part in enumerate(value) for name in unknown(part, f"{place}[{index}]")]
    if not dataclasses.is_dataclass(value):
        return []
    fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value) if field.name != "other")
    return [f"{place}.{name}" for name in value.other] + [name for field, part in fields for name in unknown(part, f"{place}.{field}")]


def test_the_classes_are_those_of_the_schema():
    schema = run_bench("schema", "--results").stdout
    made = subprocess.run([ROOT / ".ci/results-classes"], input=schema, capture_output=True, text=True, check=True).stdout
    assert made == (ROOT / "Python/bluebench/results_types.py").read_text(), "bluebench schema --results | .ci/results-classes >Python/bluebench/results_types.py"


def test_the_package_passes_a_strict_type_checker():
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "Python/bluebench"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("change", "expected"),
    [({"format": 2}, "has format 2"), ({"cases": None}, "expected a list"), ({"summary": {}}, "summary has no error"), ({"run": 1}, "expected an object")])
def test_another_format_is_refused(tmp_path, change, expected):
    run_bench("run", "phy/read", "--json", tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_text()) | change
    (tmp_path / "r.json").write_text(json.dumps(document))
    with pytest.raises(BluebenchError, match=expected):
        Results.load(tmp_path / "r.json")


def test_an_unknown_case_is_an_error():
    with pytest.raises(BluebenchError, match="exit code 2"):
        run_cases("phy/raed")


def test_the_end_of_a_capture(tmp_path):
    run_bench("run", "phy/read", "--capture", tmp_path / "c.pcapng")
    whole = show(tmp_path / "c.pcapng").splitlines()
    assert show(tmp_path / "c.pcapng", last=3).splitlines() == whole[-3:]
    assert all("LE_Read_PHY" in line for line in show(tmp_path / "c.pcapng", filter="LE_Read_PHY").splitlines())
    assert find_program() == bluebench() and results.FORMAT == 3
