"""A machine that does not run the bench is no regression of a dongle."""

import json
import os
import signal
import threading

import pytest

from support import Process, bluebench, dongles, run_bench

pytestmark = pytest.mark.wall_time


def test_delays_of_the_machine_are_in_the_row_and_explain_a_drop(tmp_path):
    path, base = tmp_path / "now.json", tmp_path / "base.json"
    pause = threading.Event()
    with dongles(2) as ports:
        ends = [f"tcp:127.0.0.1:{port}" for port in ports]
        with Process(
                bluebench(), "throughput", "--tester", ends[0], "--subject", ends[1], "--phy", "1m", "--mtu", 247, "--data-length", 251,
                "--interval", 30, "--over", "notify", "--direction", "from-subject", "--seconds", 2, "--json", path) as bench:
            # The program is stopped for two thirds of the time.
            while bench.running():
                os.kill(bench.pid, signal.SIGSTOP)
                pause.wait(0.1)
                os.kill(bench.pid, signal.SIGCONT)
                pause.wait(0.05)
    document = json.loads(path.read_text())
    [row] = document["rows"]
    assert row["machine_delay_ms"] > 200, row
    row["goodput_kbps"] *= 1.2
    del row["machine_delay_ms"]
    base.write_text(json.dumps(document))
    told = run_bench("compare", base, path, expected=3).stdout
    assert "inconclusive: the machine did not serve the bench for" in told, told


def test_virtual_time_has_no_delays(tmp_path):
    path = tmp_path / "rows.json"
    run_bench("throughput", "--phy", "1m", "--mtu", "247", "--data-length", "251", "--interval", "30", "--seconds", "1", "--json", path)
    assert all("machine_delay_ms" not in row for row in json.loads(path.read_text())["rows"])
