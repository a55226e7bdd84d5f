"""Our host on foreign controllers, with Bumble's host as the peer on the other one.

What a controller is known to lack or to do wrong (docs/design/peers.md) is not asked of it.
"""

import contextlib
import subprocess
import sys

import pytest

import support
from support import HERE, TIMEOUT, Process, bluebench

PEER = "C0:B1:BE:00:00:01/random"
SERVICE = "B1BE{:04X}-7E57-4ACC-9D3A-0B5E55ED0001".format
CONTROLLERS = {"bumble": support.bumble_controllers, "rootcanal": support.rootcanal}


@pytest.fixture(params=CONTROLLERS)
def bench(request):
    """A function that runs bluebench on a foreign controller, with the accessory on the other one."""
    with contextlib.ExitStack() as stack:
        (near, far), enter = stack.enter_context(CONTROLLERS[request.param](2))
        accessory = stack.enter_context(Process(*enter, sys.executable, HERE / "accessory.py", far))
        accessory.wait_for("advertising")

        def run(command, *options, expected=0):
            line = [*enter, bluebench(), command, f"tcp:{near}", *map(str, options)]
            result = subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT)
            assert result.returncode == expected, f"exit {result.returncode}\n{result.stdout}\n{result.stderr}"
            return result.stdout.splitlines()

        yield run


def test_scan(bench):
    lines = bench("scan", "--count", 1, "--seconds", TIMEOUT, "--duplicates")
    assert lines[0].startswith("C0:B1:BE:00:00:01 (random)") and "connectable" in lines[0] and "'Bluebench Reference'" in lines[0]
    assert lines[1:] == [
        "    Flags: LE General Discoverable Mode, BR/EDR Not Supported", "    TX Power Level: 0 dBm",
        "    Incomplete List of 16-bit Service UUIDs: 0x180F (Battery)", "    Complete Local Name: 'Bluebench Reference'",
    ]


def test_discovery_and_reading(bench):
    lines = bench("gatt", "--peer", PEER)
    assert lines[0] == "connected to C0:B1:BE:00:00:01 (random), interval 30.0 ms"
    values = {line.split()[1].rstrip(","): line.split(": ", 1)[1] for line in lines if line.startswith("  characteristic")}
    assert values["0x2A00"] == b"Bluebench Reference".hex().upper() + "  'Bluebench Reference'"
    assert values["0x2A29"] == b"Bluebench".hex().upper() + "  'Bluebench'"
    assert values["0x2A19"] == "64  level 100 %"
    assert values[SERVICE(1)] == bytes(range(20)).hex().upper()
    assert values[SERVICE(2)] == bytes(number % 256 for number in range(300)).hex().upper(), "a long value, read in parts"
    assert values[SERVICE(7)] == "write"
    assert f"    descriptor 0x2901 (Characteristic User Description), handle 44: {b'Described'.hex().upper()}  'Described'" in lines
    assert sum(line.startswith("service") for line in lines) == 5
    assert lines[-1].startswith("disconnected: ")


@pytest.mark.parametrize("mtu", [23, 100, 517])
def test_mtu(bench, mtu):
    lines = bench("gatt", "--peer", PEER, "--mtu", mtu)
    assert f"mtu {mtu}" in lines


def test_writing_notifications_and_indications(bench):
    lines = bench(
        "gatt", "--peer", PEER, "--write", f"{SERVICE(3)}=DEADBEEF", "--subscribe", f"{SERVICE(4)}=1", "--write", f"{SERVICE(6)}=020305",
        "--subscribe", f"{SERVICE(5)}=3")
    assert f"value of {SERVICE(4)}: DEADBEEF" in lines
    assert [line for line in lines if line.startswith(f"value of {SERVICE(5)}")] == [
        f"value of {SERVICE(5)}: {number:02X}00000000" for number in range(3)]


def test_a_long_write(bench):
    value = bytes(number * 7 % 256 for number in range(400)).hex().upper()
    lines = bench("gatt", "--peer", PEER, "--mtu", 60, "--write", f"{SERVICE(2)}={value}")
    assert f"wrote 400 octets to {SERVICE(2)}" in lines


def test_errors_of_the_server_are_named(bench):
    lines = bench(
        "gatt", "--peer", PEER, "--write", f"{SERVICE(8)}=010203040506070809", "--write", f"{SERVICE(1)}=00", "--write", f"{SERVICE(6)}=77",
        expected=1)
    errors = [line for line in lines if line.startswith("writing ")]
    assert len(errors) == 3
    assert "Invalid_Attribute_Value_Length" in errors[0] and "Write_Not_Permitted" in errors[1] and "0x80" in errors[2]


@pytest.mark.parametrize("bench", ["bumble"], indirect=True)
def test_parameter_update(bench):
    assert "interval 60.0 ms" in bench("gatt", "--peer", PEER, "--update", 60)


@pytest.mark.parametrize("bench", ["rootcanal"], indirect=True)
def test_phy_update(bench):
    assert "phy 2M out, 2M in" in bench("gatt", "--peer", PEER, "--phy", "2m")


def test_the_peer_can_be_reached_again_and_again(bench):
    for _ in range(3):
        assert bench("gatt", "--peer", PEER)[-1].startswith("disconnected: ")
