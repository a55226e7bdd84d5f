"""Bulk Serialization mode of the virtual dongle, driven by a C program over libusb that was written from the specification's text alone, and by our own
host on the same dongle. And the captures of runs in both modes, as tshark reads them."""

import collections
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


FIELDS = ["frame.interface_name", "hci_h4.direction", "hci_h4.type", "frame.comment", "bthci_cmd.opcode", "bthci_evt.code", "bthci_evt.le_meta_subevent", "frame.len"]
CREDITS = "0x13"


def captured(mode, folder):
    """Packets of a run by side, direction and kind, in order, and the comments that name the mode. The system decides when a controller reports credits."""
    with fake_usb(2, "--chip", "serialised") as bus:
        result = run(
            bus, bluebench(), "run", "gap-conn/data-both-ways", "hci/encrypt", "hci/unsupported-command", "--tester", "usb:1-1", "--subject", "usb:1-2",
            "--usb-mode", mode, "--slack", 3000, "--report", folder)
    assert result.returncode == 0 and "3 PASS" in result.stdout, result.stdout + result.stderr
    fields = [word for field in FIELDS for word in ("-e", field)]
    lines = subprocess.run(["tshark", "-r", folder / "capture.pcapng", "-T", "fields", *fields], check=True, capture_output=True, text=True).stdout
    packets, modes = collections.defaultdict(list), set()
    for line in lines.splitlines():
        side, direction, kind, comment, *packet = line.split("\t")
        modes.update(re.findall(r"usb:1-.: (.*) mode \(--usb-mode\)", comment))
        if packet[1] != CREDITS:
            packets[side, direction, kind].append(packet)
    return packets, modes


def test_the_captures_differ_in_the_mode_only(tmp_path):
    legacy, serialised = captured("legacy", tmp_path / "legacy"), captured("serialised", tmp_path / "serialised")
    assert (legacy[1], serialised[1]) == ({"legacy"}, {"Bulk Serialization"})
    assert len(legacy[0]) == 8 and sum(map(len, legacy[0].values())) > 100
    assert legacy[0] == serialised[0]
