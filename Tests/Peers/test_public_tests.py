"""Results by public test case, conformance statements and expected failures: docs/guide/qualification.md."""

import csv
import json

import pytest
from support import ROOT, run_bench

ID = "GAP/CONN/TERM/BV-01-C"
ITEM = "TSPC_GAP_23_5"
OTHER = "TSPC_GAP_33_6"
CASES = ["host-gap/is-left", "host-gap/leaves"]


def rows(folder):
    with (folder / "public-tests.csv").open(newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def test_a_report_has_each_test_case(tmp_path):
    run_bench("run", *CASES, "phy/read", "--report", tmp_path / "report")
    table = rows(tmp_path / "report")
    assert len(table) > 1500
    row = table[ID]
    assert row["verdict"] == "PASS" and "host-gap/leaves PASS" in row["cases"] and row["revision"].startswith("GAP.TS")
    assert table["GATT/SR/GAC/BV-01-C"]["verdict"] == "not run" and table["HCI/CPB/BV-01-C"]["verdict"] == "no case"
    document = json.loads((tmp_path / "report" / "public-tests.json").read_text())
    assert document["format"] == 1 and {test["id"] for test in document["tests"]} == set(table)
    page = (tmp_path / "report" / "index.html").read_text()
    assert f"<td>{ID}" in page and "HCI/CPB/BV-01-C" not in page
    run_bench("merge", tmp_path / "report", "--public-tests", tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["tests"] == document["tests"]


@pytest.mark.parametrize(
    ("text", "applies", "verdict", "items"),
    [
        (f"{ITEM} TRUE\n{OTHER} FALSE\n", "yes", "PASS", ""),
        (f"{ITEM} FALSE\n{OTHER} FALSE\n", "no", "N/A", f"{ITEM} is FALSE, {OTHER} is FALSE"),
        (f"{ITEM} FALSE\n", "open", "PASS", OTHER),
    ],
)
def test_a_statement_decides_what_applies(tmp_path, text, applies, verdict, items):
    statement = tmp_path / "product.txt"
    statement.write_text(text)
    said = run_bench("run", "host-gap/leaves", "bredr-lmp/acknowledged", "--ics", statement, "--report", tmp_path / "report").stdout
    assert f"{statement}: " in said and "the statement rules out" in said
    row = rows(tmp_path / "report")[ID]
    assert (row["applies"], row["verdict"], row["items"]) == (applies, verdict, items)
    cases = {case["id"]: case for case in json.loads((tmp_path / "report" / "results.json").read_text())["cases"]}
    assert list(cases) == ["host-gap/leaves"]


def test_a_case_that_is_ruled_out_does_not_fail_the_run(tmp_path):
    """Breaks the case of an id that does not apply; without the statement the run fails."""
    suite = tmp_path / "cases" / "mine"
    suite.mkdir(parents=True)
    (suite / "never.yaml").write_text(
        f"title: Never\npurpose: The version is one that does not exist.\nreference: Core Vol 4, Part E, 7.4.1\ncovers: {{{ID}: partial}}\n"
        "steps:\n  - send: Read_Local_Version_Information\n    as: subject\n    answer: {Status: Success, HCI_Version: 200}\n    states: The version is 200.\n")
    run_bench("run", "mine", "--cases", tmp_path / "cases", expected=1)
    statement = tmp_path / "product.txt"
    statement.write_text(f"{ITEM} FALSE\n{OTHER} FALSE\n")
    report = tmp_path / "results.json"
    # A run without a PASS has no verdict.
    run_bench("run", "mine", "--cases", tmp_path / "cases", "--ics", statement, "--json", report, expected=3)
    case = json.loads(report.read_text())["cases"][0]
    assert case["verdict"] == "N/A" and case["message"].startswith(f"{ITEM} is FALSE, {OTHER} is FALSE in the conformance statement; the case ended with FAIL")


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--ics", f"{ITEM} PERHAPS\n", ":1:15: after TSPC_GAP_23_5, TRUE or FALSE is expected, not 'PERHAPS'"),
        ("--ics", "# nothing\n", ":1:1: no item of a conformance statement"),
        ("--expected-failures", "phy/read\n", ":1:9: the reason is missing: write it after phy/read"),
        ("--expected-failures", "phy/reed later\n", ":1:1: 'phy/reed' is neither a case nor a public test case; did you mean phy/read?"),
    ],
)
def test_a_file_with_a_mistake_is_refused(tmp_path, option, text, message):
    file = tmp_path / "file.txt"
    file.write_text(text)
    assert f"{file}{message}" in run_bench("run", "phy/read", option, file, expected=2).stderr


def test_an_expected_failure_does_not_fail_the_run(tmp_path):
    suite = tmp_path / "cases" / "mine"
    suite.mkdir(parents=True)
    text = (
        "title: A version\npurpose: It has a version.\nreference: Core Vol 4, Part E, 7.4.1\nsteps:\n  - send: Read_Local_Version_Information\n"
        "    as: subject\n    answer: {Status: Success, HCI_Version: %s}\n    states: The version is there.\n")
    (suite / "bad.yaml").write_text(text % "200")
    (suite / "good.yaml").write_text(text % "{atLeast: 1}")
    known = tmp_path / "known.txt"
    known.write_text("mine/bad   until <1.4>\n")
    common = ("run", "mine", "--cases", tmp_path / "cases", "--expected-failures", known)
    said = run_bench(*common, "--report", tmp_path / "report").stdout
    assert "mine/bad (expected: until <1.4>)" in said and "1 FAIL (1 expected)" in said
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert results["run"]["expected_failures"] == [{"id": "mine/bad", "reason": "until <1.4>", "cases": ["mine/bad"]}]
    run_bench("merge", tmp_path / "report")
    known.write_text("mine/bad until 1.4\nmine/good never\nphy/read of another folder\n")
    said = run_bench(*common, expected=1).stdout
    assert "not failed  mine/good: remove it from the expected failures (never)" in said and "phy/read" not in said


def test_the_guide_says_that_it_is_no_qualification():
    page = (ROOT / "docs" / "guide" / "qualification.md").read_text()
    assert "**This is a pre-check and no qualification.**" in page
