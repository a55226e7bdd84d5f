"""A signal that comes while `run` still reads its cases: the run ends before its first case, with its report."""

import json
import os
import signal

import pytest

from support import Process, bluebench

BENCH = 3
CASE = """
title: Late
purpose: It is read slowly.
reference: Core Vol 4, Part E, 7.8.23
subject: controller
steps:
  - {send: LE_Rand, as: subject, answer: {Status: Success}, states: The command succeeds.}
"""


def start(command, *, ignores):
    """A shell lets its background jobs ignore Ctrl-C, which the program inherits."""
    return Process(*command, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN if ignores else signal.SIG_DFL))


@pytest.mark.parametrize("ignores", [False, True])
def test_the_report_is_written(tmp_path, ignores):
    """The case is a pipe: the program waits for its text, and the signal comes meanwhile."""
    (tmp_path / "mine").mkdir()
    pipe, report = tmp_path / "mine" / "late.yaml", tmp_path / "report"
    os.mkfifo(pipe)
    with start([bluebench(), "run", "mine", "smp*", "--cases", tmp_path, "--report", report], ignores=ignores) as bench:
        with open(pipe, "w", encoding="utf-8") as text:
            os.kill(bench.pid, signal.SIGINT)
            text.write(CASE)
        assert bench.wait() == BENCH, bench.text
    results = json.loads((report / "results.json").read_text())
    assert results["run"]["interrupted"] and not any(case["verdict"] == "PASS" for case in results["cases"]), bench.text
    assert (report / "index.html").stat().st_size > 1000 and (report / "junit.xml").exists()


def test_a_second_signal_ends_the_program(tmp_path):
    (tmp_path / "mine").mkdir()
    pipe = tmp_path / "mine" / "late.yaml"
    os.mkfifo(pipe)
    with start([bluebench(), "run", "mine", "--cases", tmp_path], ignores=False) as bench:
        with open(pipe, "w", encoding="utf-8"):
            while bench.running():
                os.kill(bench.pid, signal.SIGINT)
            assert bench.wait() == 128 + signal.SIGINT and "ended by Ctrl-C" in bench.text
