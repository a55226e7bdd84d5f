"""Figures and verdicts of two runs compared: what is worse is named, unlike set-ups are refused, noise is none."""

import json

import pytest

from support import run_bench

FAIL, USAGE = 1, 2


def measure(path, *options, expected=0):
    return run_bench("throughput", "--phy", "1m,2m", "--seconds", "1", "--json", path, *options, expected=expected).stdout


def test_the_same_twice_differs_in_nothing(tmp_path):
    base, now = tmp_path / "base.json", tmp_path / "now.json"
    measure(base)
    measure(now, "--seed", "2")
    assert "2 compared: 2 same" in run_bench("compare", base, now).stdout


def test_a_lossy_air_is_no_equal_and_a_regression_where_that_is_asked_for(tmp_path):
    base, now, page, findings = (tmp_path / name for name in ("base.json", "now.json", "page.md", "findings.json"))
    measure(base)
    text = measure(now, "--packet-error", "0.05", "--repeat", "3")
    assert "3 times: median" in text
    rows = json.loads(now.read_text())["rows"]
    for row in rows:
        figures = row["repetitions"]
        assert sorted(figures["goodput_kbps"])[1] == pytest.approx(figures["median_kbps"]) == pytest.approx(row["goodput_kbps"])
    assert "packet error: 0.0 then, 0.05 now" in run_bench("compare", base, now, expected=USAGE).stderr
    found = run_bench("compare", base, now, "--unlike", "--markdown", page, "--json", findings, expected=FAIL).stdout
    assert "2 compared: 2 regression" in found
    assert page.read_text().count("regression") >= 2
    report = json.loads(findings.read_text())
    assert report["failed"] is True and all(row["change"] < -2.5 for row in report["rows"])
    assert "2 compared: 2 slower" in run_bench("compare", base, now, "--unlike", "--row", "notify=60%").stdout


def test_a_row_that_is_gone_fails_unless_that_is_allowed(tmp_path):
    base, now = tmp_path / "base.json", tmp_path / "now.json"
    measure(base)
    run_bench("throughput", "--phy", "2m", "--seconds", "1", "--json", now)
    assert "1 same, 1 vanished" in run_bench("compare", base, now, expected=FAIL).stdout
    run_bench("compare", base, now, "--allow-vanished")
    assert "1 same, 1 new" in run_bench("compare", now, base).stdout


def test_a_gate_of_one_line(tmp_path):
    base = tmp_path / "base.json"
    measure(base)
    assert "2 rows have at least 95.0 %" in measure(tmp_path / "now.json", "--baseline", base, "--at-least", "95%")
    rows = json.loads(base.read_text())
    rows["rows"][0]["goodput_kbps"] *= 1.2
    base.write_text(json.dumps(rows))
    assert "below: notify" in measure(tmp_path / "now.json", "--baseline", base, expected=FAIL)


def test_verdicts(tmp_path):
    base, now = tmp_path / "base.json", tmp_path / "now.json"
    run_bench("run", "phy/read", "phy/asymmetric", "--json", base)
    results = json.loads(base.read_text())
    results["cases"][0]["verdict"] = "FAIL"
    now.write_text(json.dumps(results))
    found = run_bench("compare", base, now, expected=FAIL).stdout
    assert "newly failing" in found and results["cases"][0]["id"] in found
    assert "newly passing" in run_bench("compare", now, base).stdout


@pytest.mark.parametrize("content, text", [("{}", "'cases' is missing"), ("no", "is no JSON"), ('{"rows": [{}]}', "hold different things")])
def test_files_that_are_none(tmp_path, content, text):
    base, other = tmp_path / "base.json", tmp_path / "other.json"
    run_bench("run", "phy/read", "--json", base)
    other.write_text(content)
    assert text in run_bench("compare", base, other, expected=USAGE).stderr
