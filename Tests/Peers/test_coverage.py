"""Public test-case ids: the page of the guide, and the choice of cases by an id."""

import json
import re

from support import ROOT, run_bench

PAGE = ROOT / "docs" / "guide" / "coverage.md"


def test_the_page_is_that_of_the_cases():
    assert PAGE.read_text() == run_bench("check", "--coverage").stdout, "`bluebench check --coverage > docs/guide/coverage.md`"


def test_an_id_chooses_its_cases(tmp_path):
    listed = run_bench("run", "--list", "--covers", "SM/PER/JW/BV-02-C").stdout.splitlines()
    assert listed and all(re.match(r"(host-sm|smp-legacy)/", line) for line in listed)
    report = tmp_path / "results.json"
    run_bench("run", "--covers", "GAP/CONN/TERM/BV-01-C", "--json", report)
    cases = json.loads(report.read_text())["cases"]
    assert cases and all("GAP/CONN/TERM/BV-01-C" in case["covers"] for case in cases)
    refused = run_bench("run", "--list", "--covers", "SM/PER/JW/BV-99-C", expected=2)
    assert "SM/PER/JW/BV" in refused.stderr


def test_a_statement_chooses_its_cases(tmp_path):
    statement = tmp_path / "product.txt"
    statement.write_text("# What the product has\nGAP/CONN/TERM/BV-01-C\nGAP/DISC/GENP/BV-01-C\n\nSM/PER/JW/BV-99-C\n")
    report = tmp_path / "results.json"
    said = run_bench("run", "host-*", "--ics", statement, "--json", report).stdout
    assert f"{statement}: 2 of 3 ids covered, 2 in full" in said and "no case for SM/PER/JW/BV-99-C" in said
    cases = json.loads(report.read_text())["cases"]
    assert {case["id"] for case in cases} == {"host-gap/leaves", "host-gap/discovers[peer=general]"}
    statement.write_text("# nothing\n")
    assert "no item of a conformance statement" in run_bench("run", "--ics", statement, expected=2).stderr
    statement.write_text("SM/PER/JW/BV-99-C\n")
    assert "no case that would run covers" in run_bench("run", "--ics", statement, expected=2).stderr
