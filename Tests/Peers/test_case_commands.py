"""The user's commands around each case: in the report of a run, and their end with the run."""

import json
import os
import signal
import time
import xml.etree.ElementTree as ElementTree

import pytest

from support import TIMEOUT, Process, bluebench, run_bench

pytestmark = pytest.mark.wall_time

CASES = ["hci/buffer-size", "hci/random-numbers"]


def test_each_command_is_in_every_report(tmp_path):
    report = tmp_path / "report"
    run_bench(
        "run", *CASES, "--report", report, "--before-case", 'echo "relay <on> for $BLUEBENCH_CASE in $BLUEBENCH_REPORT"',
        "--after-case", 'test "$BLUEBENCH_CASE" != hci/buffer-size || { echo "no relay"; exit 5; }', expected=3)
    cases = {case["id"]: case for case in json.loads((report / "results.json").read_text())["cases"]}
    assert [cases[case]["verdict"] for case in CASES] == ["ERROR", "PASS"]
    assert cases[CASES[0]]["message"] == "the command of --after-case failed, exit code 5: no relay"
    before, after = cases[CASES[0]]["commands"]
    assert before["occasion"] == "before-case" and before["exit_code"] == 0
    assert before["output"] == f"relay <on> for {CASES[0]} in {report}\n"
    assert after["exit_code"] == 5 and after["duration_ms"] > 0
    page = (report / "index.html").read_text()
    assert "relay &lt;on&gt; for hci/buffer-size" in page and "after-case, attempt 1: exit code 5" in page
    error = ElementTree.parse(report / "junit.xml").find(".//testcase[@name='buffer-size']/error")
    assert error.get("type") == "ERROR" and "relay <on> for" in error.text


def test_a_name_is_no_part_of_the_command(tmp_path):
    """The environment carries all values, so that a shell does not read them."""
    folder = f"{tmp_path}/$(touch {tmp_path}/hit)"
    run_bench("run", CASES[0], "--report", folder, "--before-case", 'test -d "$BLUEBENCH_REPORT"')
    assert not (tmp_path / "hit").exists()


def test_secrets_of_the_environment_stay_with_the_bench(tmp_path, monkeypatch):
    for name in ("BLUEBENCH_TOKEN", "BLUEBENCH_PASSKEY"):
        monkeypatch.setenv(name, "123456-secret-of-the-bench")
    report = tmp_path / "report"
    run_bench("run", CASES[0], "--report", report, "--before-case", "env", "--dut-log", f"env > {tmp_path}/log")
    [case] = json.loads((report / "results.json").read_text())["cases"]
    [before] = case["commands"]
    assert "BLUEBENCH_CASE" in before["output"] and "PATH=" in (tmp_path / "log").read_text()
    assert "secret-of-the-bench" not in before["output"] + (tmp_path / "log").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_ends_the_command_and_its_children(number, tmp_path):
    """The shell and its child ignore SIGTERM."""
    report = tmp_path / "report"
    command = "trap '' TERM INT; (echo begun > begun; exec tail -f /dev/null) & echo $! > child; wait; wait"
    with Process(bluebench(), "run", *CASES, "--report", report, "--before-case", f"cd {tmp_path}; {command}") as bench:
        deadline = time.monotonic() + TIMEOUT
        while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text().strip():
            assert time.monotonic() < deadline and bench.running(), bench.text
        os.kill(bench.pid, number)
        assert bench.wait() == 3
    child = int((tmp_path / "child").read_text())
    while os.path.exists(f"/proc/{child}") and "Z" not in open(f"/proc/{child}/stat", encoding="utf-8").read().rsplit(")", 1)[1][:3]:
        assert time.monotonic() < deadline, "the child still runs"
    results = json.loads((report / "results.json").read_text())
    assert results["run"]["interrupted"] and {case["verdict"] for case in results["cases"]} == {"INCONC"}


@pytest.mark.parametrize("options, words", [
    (["--command-timeout", "5"], ["--command-timeout needs --before-case"]), (["--power-cycle", " "], ["--power-cycle takes a shell command"]),
])
def test_options_without_effect_are_refused(options, words):
    complaint = run_bench("run", *options, expected=2).stderr
    assert all(word in complaint for word in words), complaint
