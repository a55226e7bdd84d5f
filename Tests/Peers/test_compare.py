"""The comparison of two runs' figures and verdicts: regressions are named, different set-ups are refused, noise is ignored."""

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
    text = measure(now, "--packet-error-rate", "0.05", "--repeat", "3")
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


@pytest.mark.parametrize("content, text", [("{}", "'cases' is missing"), ("no", "is not JSON"), ('{"rows": [{}]}', "cannot be compared")])
def test_files_that_are_none(tmp_path, content, text):
    base, other = tmp_path / "base.json", tmp_path / "other.json"
    run_bench("run", "phy/read", "--json", base)
    other.write_text(content)
    assert text in run_bench("compare", base, other, expected=USAGE).stderr


def test_report_folders_as_merge_takes_them(tmp_path):
    folders = [tmp_path / name for name in ("then", "now")]
    for folder in folders:
        run_bench("run", "hci/buffer-size", "hci/random-address", "--report", folder, expected=None)
    assert "compared" in run_bench("compare", *folders).stdout
    (folders[1] / "results.json").unlink()
    assert "compared" in run_bench("compare", folders[0] / "results.json", folders[1], expected=None).stdout


@pytest.mark.parametrize("goodput", [1e308, -1.0])
def test_a_figure_that_no_link_has_is_refused(tmp_path, goodput):
    path = tmp_path / "figures.json"
    measure(path)
    document = json.loads(path.read_text())
    document["rows"][0]["goodput_kbps"] = goodput
    path.write_text(json.dumps(document))
    assert "rows.0: " in run_bench("compare", path, path, expected=USAGE).stderr
    assert "rows.0: " in run_bench("history", "add", tmp_path / "h.sqlite", path, expected=USAGE).stderr


def test_names_from_files_forge_no_lines(tmp_path):
    """Line feeds, NUL and other control characters are escaped, and names that differ after a NUL remain different."""
    cases = [{"id": f"a/b\u0000{number}\nPASS c/d", "verdict": "FAIL", "message": "x\ny"} for number in range(14)]
    run = {"tester": "t\nu", "subject": "s", "build": "1\n2", "date": "2026-01-01T00:00:00"}
    base, now, history = (tmp_path / name for name in ("base.json", "now.json", "h.sqlite"))
    base.write_text(json.dumps({"run": run, "cases": []}))
    now.write_text(json.dumps({"run": run | {"date": "2026-01-02T00:00:00"}, "cases": cases}))
    compared = run_bench("compare", base, now, expected=FAIL).stdout
    assert len(compared.splitlines()) == 1 + 14 + 1
    passed = [case | {"verdict": "PASS"} for case in cases]
    base.write_text(json.dumps({"run": run, "cases": passed}))
    assert len(run_bench("history", "add", history, base, now).stdout.splitlines()) == 2
    assert len(run_bench("history", "list", history).stdout.splitlines()) == 4
    shown = run_bench("history", "show", history).stdout
    assert "14 turned" in shown and "\\u{0}13\\u{A}PASS" in shown
    assert not [line for line in shown.splitlines() if line.startswith("PASS")]


def test_a_gate_that_could_only_refuse_does_so_before_it_measures(tmp_path):
    base = tmp_path / "base.json"
    measure(base)
    for options, text in [
        (("--buffers", "2"), "buffers: default then, 2 now"), (("--packet-error-rate", "0.1"), "packet error: 0.0 then, 0.1 now"),
        (("--mtu", "100"), "has none of the measured rows")]:
        refused = run_bench("throughput", "--phy", "1m", "--seconds", "1", *options, "--baseline", base, "--at-least", "95%", expected=USAGE)
        assert text in refused.stderr and "kbit/s" not in refused.stdout


def test_a_gate_names_what_it_did_not_compare(tmp_path):
    base = tmp_path / "base.json"
    run_bench("throughput", "--phy", "1m", "--seconds", "1", "--json", base)
    compared = run_bench("throughput", "--phy", "1m,2m", "--seconds", "1", "--baseline", base)
    assert "1 rows have at least" in compared.stdout and "lacks the row: notify from-subject 2m" in compared.stderr


def test_results_without_a_common_row_are_no_success(tmp_path):
    files = [tmp_path / "1m.json", tmp_path / "2m.json"]
    for path in files:
        run_bench("throughput", "--phy", path.stem, "--seconds", "1", "--json", path)
    assert "have no row in common" in run_bench("compare", *files, "--allow-vanished", expected=USAGE).stderr
    run_bench("run", "phy/read", "--json", tmp_path / "a.json")
    run_bench("run", "phy/asymmetric", "--json", tmp_path / "b.json")
    assert "have no case in common" in run_bench("compare", tmp_path / "a.json", tmp_path / "b.json", "--allow-vanished", expected=USAGE).stderr


def test_a_limit_of_a_row_that_is_not_there_is_told(tmp_path):
    base = tmp_path / "base.json"
    measure(base)
    assert "--row code-s8: no row has this text" in run_bench("compare", base, base, "--row", "code-s8=5").stderr


def test_captures_are_compared_elsewhere(tmp_path):
    capture = tmp_path / "a.pcapng"
    run_bench("run", "phy/read", "--capture", capture)
    refused = run_bench("compare", capture, capture, expected=USAGE).stderr
    assert "is a capture" in refused and "bluebench show" in refused and "--diff" in refused


def test_a_file_that_is_not_there_is_named_in_the_systems_words(tmp_path):
    missing = tmp_path / "nofile.json"
    for command in [("compare", missing, missing), ("throughput", "--baseline", missing), ("history", "add", tmp_path / "h", missing)]:
        assert f"cannot read {missing}: No such file or directory" in run_bench(*command, expected=USAGE).stderr
