"""Throughput between two dongles through libusb, in real time: results before a Ctrl-C are kept, and the capture contains the counted packets."""

import json
import os
import re
import signal

import pytest

from support import bluebench, fake_usb, run_bench

pytestmark = pytest.mark.wall_time

BENCH = 3
VALUE_OCTETS = 244
"""Of an ATT_HANDLE_VALUE_NTF at an ATT_MTU of 247: 247 - 3 (Core Vol 3, Part F, 3.4.7.1)."""


def test_a_sweep_that_is_interrupted_keeps_its_rows_and_its_capture(tmp_path):
    results, capture = tmp_path / "rows.json", tmp_path / "capture.btsnoop"
    with fake_usb(2) as bus:
        near, far = (dongle.path for dongle in bus.dongles)
        with bus.start(
                bluebench(), "throughput", "--tester", f"usb:{near}", "--subject", f"usb:{far}", "--over", "notify,write", "--phy", "1m,2m",
                "--seconds", 1, "--json", results, "--capture", capture) as sweep:
            sweep.wait_for(r"^\[ *1/4\]")
            os.kill(sweep.pid, signal.SIGINT)
            assert sweep.wait() == BENCH, sweep.text
            # A busy machine may have ended the next one, too.
            [stopped] = re.findall(r"stopped: ([123]) of 4 rows", sweep.text)
        again = bus.start(bluebench(), "devices")
        assert again.wait() == 0, "the dongles are free again:\n" + again.text
    [row, *others] = json.loads(results.read_text())["rows"]
    assert len(others) + 1 == int(stopped)
    assert (row["over"], row["phy"], row["mtu"]) == ("notify", "1m", 247)
    assert 0 < row["percent"] <= 101, "a second in real time ends as late as the machine is"
    notifications = run_bench("show", capture).stdout.count("ATT_HANDLE_VALUE_NTF")
    assert notifications * VALUE_OCTETS * 8 / 1000 >= row["goodput_kbps"], "a second's notifications are in the capture"


def test_three_dongles_are_two_links_at_once(tmp_path):
    results = tmp_path / "rows.json"
    with fake_usb(3) as bus:
        tester, *subjects = (f"usb:{dongle.path}" for dongle in bus.dongles)
        with bus.start(
                bluebench(), "throughput", "--tester", tester, "--subject", subjects[0], "--also", subjects[1], "--both", "--phy", "1m", "--interval", "30",
                "--seconds", 1, "--json", results) as sweep:
            assert sweep.wait() == 0, sweep.text
    report = json.loads(results.read_text())
    *flows, total = report["rows"]
    assert [(row["link"], row["direction"]) for row in flows] == [(1, "from-subject"), (1, "to-subject"), (2, "from-subject"), (2, "to-subject")]
    assert all(row["goodput_kbps"] > 0 for row in flows) and report["setup"]["subject"] == ", ".join(subjects)
    assert total["sum"] and abs(total["goodput_kbps"] - sum(row["goodput_kbps"] for row in flows)) < 1
    assert 0.25 <= total["fairness"] <= 1
    for options, text in (
            (["--tester", tester, "--subject", subjects[0], "--also", subjects[0]], "real device that is not used yet"), (["--also", subjects[0]], "use --links for virtual ones"),
            (["--links", "2", "--over", "ping"], "for --over notify"), (["--both", "--beside"], "exclude each other")):
        assert text in run_bench("throughput", *options, expected=2).stderr
