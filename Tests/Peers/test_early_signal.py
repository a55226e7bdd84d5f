"""A signal that comes while `run` still reads its cases: the run ends before it has run them all, with its report."""

import json
import os
import signal

import pytest

from support import Process, bluebench
from test_outputs import holds_back

BENCH = 3


def start(*options, ignores=False):
    """A run of many cases, whose handler of signals is there. A shell lets its background jobs ignore Ctrl-C, which the program inherits."""
    process = Process(
        bluebench(), "run", *options, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN if ignores else signal.SIG_DFL))
    holds_back(process, signal.SIGINT)
    return process


@pytest.mark.parametrize("ignores", [False, True])
def test_the_report_is_written(tmp_path, ignores):
    with start("--report", tmp_path / "report", ignores=ignores) as bench:
        os.kill(bench.pid, signal.SIGINT)
        assert bench.wait() == BENCH, bench.text
    results = json.loads((tmp_path / "report/results.json").read_text())
    verdicts = [case["verdict"] for case in results["cases"]]
    assert results["run"]["interrupted"] and verdicts.count("PASS") < len(verdicts), bench.text
    assert (tmp_path / "report/index.html").stat().st_size > 1000 and (tmp_path / "report/junit.xml").exists()


def test_a_second_signal_ends_the_program():
    with start() as bench:
        while bench.running():
            os.kill(bench.pid, signal.SIGINT)
        assert bench.wait() == 128 + signal.SIGINT and "ended by Ctrl-C" in bench.text
