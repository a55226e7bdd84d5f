"""Two jobs never use the same dongle: the second one is told the owner, and a crash releases the dongle."""

import json
import os
import signal
import subprocess

import pytest

from support import TIMEOUT, ROOT, bluebench, fake_usb

PASS, USAGE, BENCH = 0, 2, 3


@pytest.fixture(scope="module")
def bus():
    with fake_usb(2) as bus:
        yield bus


def run(bus, *arguments, expected=PASS):
    result = subprocess.run([bluebench(), *map(str, arguments)], env=bus.environment, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT * 2)
    assert result.returncode == expected, f"exit {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


LONG = """
title: Long
purpose: It waits.
reference: Core Vol 4, Part E, 7.8.23
steps:
  - {send: LE_Rand, as: subject, answer: {Status: Success}, states: The command succeeds.}
  - {wait: 100 s}
"""


def test_a_dongle_has_one_user(bus, tmp_path):
    (tmp_path / "long").mkdir()
    (tmp_path / "long" / "wait.yaml").write_text(LONG)
    near, far = (dongle.path for dongle in bus.dongles)
    ends = ("--tester", f"usb:{near}" if not near.startswith("usb:") else near, "--subject", f"usb:{far}" if not far.startswith("usb:") else far)
    first = bus.start(bluebench(), "run", "--cases", tmp_path, *ends)
    with first:
        first.wait_for("windows ")
        second = run(bus, "run", "hci/buffer-size", *ends, expected=BENCH)
        assert f"held by bluebench, process {first.pid}, is in use" in second.stdout + second.stderr
        listed = json.loads(run(bus, "devices", "--json").stdout)["devices"]
        assert [device["impediment_kind"] for device in listed] == ["busy", "busy"]
        assert f"process {first.pid}" in listed[0]["impediment"]
        lacking = run(bus, "devices", "--require", 2, expected=BENCH)
        assert "only 0 of 2 required dongles can be used (busy)" in lacking.stderr
        os.kill(first.pid, signal.SIGKILL)
    assert "PASS" in run(bus, "run", "hci/buffer-size", *ends).stdout


def test_what_is_required_is_there(bus):
    run(bus, "devices", "--require", 2, "--wait-for-device", 60)
    assert "only 2 of 3 required dongles" in run(bus, "devices", "--require", 3, "--wait-for-device", 1, expected=BENCH).stderr
    assert "on USB" in run(bus, "devices", "tcp:127.0.0.1:1", "--wait-for-device", 1, expected=USAGE).stderr
