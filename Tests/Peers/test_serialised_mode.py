"""Bulk Serialization mode of the virtual dongle, driven by a C program over libusb that was written from the specification's text alone, and by our own
host on the same dongle."""

import json
import os
import re
import subprocess

import pytest

from support import ROOT, TIMEOUT, bluebench, fake_usb

SOAK = os.environ.get("SOAK") == "1"
SESSIONS = 1_000 if SOAK else 12


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("c") / "serialised_peer"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libusb-1.0"], check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", path, ROOT / "Tests/Tools/serialised_peer.c", *flags], check=True)
    return path


def run(bus, *arguments):
    limit = TIMEOUT * (100 if SOAK else 3)
    return subprocess.run([*map(str, arguments)], env=bus.environment, capture_output=True, text=True, timeout=limit)


def sessions(bus, program, seed):
    result = run(bus, program, "1-1", SESSIONS, seed)
    assert result.returncode == 0, result.stderr
    figures = [int(number) for number in re.findall(r"(\d+) [a-z]+", result.stdout)]
    return figures, result.stdout.split()[-1]


@pytest.mark.parametrize("quirks", [(), ("high-speed",)], ids=["full speed", "high speed"])
def test_a_foreign_host_and_ours_agree(program, quirks, tmp_path):
    options = [option for quirk in quirks for option in ("--quirk", quirk)]
    with fake_usb(1, "--chip", "serialised", *options) as bus:
        (count, commands, packets, switches, stalls), first = sessions(bus, program, 7)
        assert count == SESSIONS and commands > SESSIONS and packets > SESSIONS and switches > SESSIONS and stalls > SESSIONS / 2
        ours = run(bus, bluebench(), "loopback", "usb:1-1", "--packets", 500, "--switch-every", 3, "--json", tmp_path / "loopback.json")
        assert ours.returncode == 0, ours.stdout + ours.stderr
        assert json.loads((tmp_path / "loopback.json").read_text())["returned"] == 500
        # What ours has done is not to be seen by the next.
        assert sessions(bus, program, 7)[1] == first


@pytest.mark.parametrize("quirk, complaint", [
    ("switch-packets=lost", "an echo is missing"), ("switch-packets=doubled", "not sent|other octets|another length"),
    ("switch-packets=reversed", "other octets|another length"),
    ("indicator=missing", "neither event nor data|too long|not one packet"), ("stall-missing=mode", "a switch in a voice setting was not refused"),
    ("stall-missing=command", "a command on the control endpoint was not refused"), ("joined-data", "not one packet"),
])
def test_a_foreign_host_sees_each_defect(program, quirk, complaint):
    with fake_usb(1, "--chip", "serialised", "--quirk", quirk) as bus:
        result = run(bus, program, "1-1", 40, 3)
        assert result.returncode == 1 and re.search(complaint, result.stderr), result.stdout + result.stderr
