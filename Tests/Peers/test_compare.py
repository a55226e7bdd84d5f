"""Figures and verdicts of two runs compared: what is worse is named, unlike set-ups are refused, noise is none."""

import csv
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


def test_round_trips_bins_and_tables(tmp_path):
    figures, table, page = (tmp_path / name for name in ("f.json", "t.csv", "t.md"))
    result = run_bench(
        "throughput", "--over", "ping,notify", "--interval", "7.5,30", "--seconds", "1", "--progress", "--json", figures, "--csv", table,
        "--markdown", page)
    rows = json.loads(figures.read_text())["rows"]
    for row in rows[:2]:
        times, interval = row["round_trip_us"], row["interval_ms"] * 1000
        assert times["count"] == row["received"]["packets"] and times["min"] <= times["p50"] <= times["p99"] <= times["max"]
        assert interval <= times["p50"] * 1.001 and times["p99"] <= 3 * interval, "a write and its answer take one event or two"
        counts = [step["count"] for step in times["histogram"]]
        assert counts == sorted(counts) and counts[-1] == times["count"]
        assert row["limit"] == "acknowledgement" and "bins" not in row
    for row in rows[2:]:
        assert len(row["bins"]["goodput_kbps"]) in (9, 10)
        assert row["bins"]["median_kbps"] == pytest.approx(row["goodput_kbps"], rel=0.15)
    with table.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["goodput_kbps"]) for line in lines] == [row["goodput_kbps"] for row in rows]
    assert [line["round_trip_p50_us"] for line in lines] == [str(row["round_trip_us"]["p50"]) if "round_trip_us" in row else "" for row in rows]
    assert page.read_text().count("\n") == 6 and "round trips: median" in result.stdout
    assert "1/4] ping" in result.stderr and "s left" in result.stderr


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
