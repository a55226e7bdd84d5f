"""Bumble on our virtual dongles through libusb, unchanged: no socket in between, only what a USB host controller driver offers.

The dongles are on a simulated USB bus (a fake usbfs under umockdev's preload library), so both ends of each connection go through an
unmodified libusb: Bumble's own at the ends that are Bumble's, the system's under bluebench.
"""

import json
import subprocess
import sys

import pytest

from support import HERE, TIMEOUT, Process, bluebench, fake_usb
import accessory
import usb_client

PEER = "C0:B1:BE:00:00:01"
PRODUCT = "1209:0001"
DIRECTIONS = {"read": 0x02, "write without response": 0x04, "write": 0x08, "notify": 0x10, "indicate": 0x20}
CONFIGURATION = "UUID-16:2902 (Client Characteristic Configuration)"


@pytest.fixture(scope="module")
def bus():
    """A bus with two dongles, and the accessory on the second."""
    with fake_usb(2) as bus:
        with bus.start(sys.executable, HERE / "accessory.py", f"usb:{PRODUCT}/{bus.dongles[1].serial}") as server:
            server.wait_for("advertising")
            yield bus
            assert server.running(), server.text


def client(bus, transport):
    """The client's observations by stage."""
    with bus.start(sys.executable, HERE / "usb_client.py", transport, PEER) as process:
        code = process.wait()
    assert code == 0, process.text
    seen = [json.loads(line) for line in process.lines if line.startswith("{")]
    assert [line for line in process.lines if not line.startswith("{")] == [], "Bumble warns of nothing"
    return {entry.pop("stage"): entry for entry in seen}


@pytest.fixture(scope="module", params=["by serial number", "by bus and port"])
def seen(request, bus):
    first = bus.dongles[0]
    names = {"by serial number": f"{PRODUCT}/{first.serial}", "by bus and port": first.path}
    return client(bus, "usb:" + names[request.param])


def test_the_dongle_that_was_named_is_used(bus, seen):
    assert seen["powered"]["address"] == bus.dongles[0].address
    assert seen["powered"]["version"] == 13


def test_scanning_and_connecting(seen):
    assert bytes.fromhex(seen["found"]["data"]) == accessory.advertising_data()
    assert bytes.fromhex(seen["found"]["response"]) == accessory.scan_response()
    assert seen["connected"] == {"peer": PEER, "role": 0, "interval": usb_client.INTERVAL_MS}
    assert seen["mtu"] == {"agreed": usb_client.MTU, "used": usb_client.MTU}


def test_discovery(seen):
    services = {uuid: characteristics for uuid, characteristics in seen["discovered"]["services"]}
    own = {uuid: (properties, descriptors) for uuid, properties, descriptors in services[str(accessory.uuid(0))]}
    expected = {
        1: ["read"], 2: ["read", "write"], 3: ["write", "write without response"], 4: ["notify"], 5: ["indicate"], 6: ["write"], 7: ["write"],
        8: ["read", "write"], 9: ["read"],
    }
    assert list(own) == [str(accessory.uuid(number)) for number in expected]
    assert [properties for properties, _ in own.values()] == [sum(DIRECTIONS[word] for word in words) for words in expected.values()]
    assert [descriptors for _, descriptors in own.values()] == [[], [], [], [CONFIGURATION], [CONFIGURATION], [], [], [], [own_description()]]
    assert [uuid.split(" ")[0] for uuid in services][2:4] == ["UUID-16:180A", "UUID-16:180F"]


def own_description():
    return "UUID-16:2901 (Characteristic User Description)"


def test_reading_and_writing(seen):
    assert bytes.fromhex(seen["read"]["constant"]) == bytes(range(20))
    assert bytes.fromhex(seen["read"]["long"]) == bytes(number % 256 for number in range(300)), "more than fits into one answer"
    assert bytes.fromhex(seen["read"]["short"]) == b"\x2a"
    assert bytes.fromhex(seen["descriptor"]["value"]) == b"Described"
    assert bytes.fromhex(seen["written"]["short"]) == b"written"
    assert seen["refused"] == {"hidden": 0x02, "constant": 0x03, "short": 0x0D, "kept": b"written".hex()}


def test_notifications_and_indications(seen):
    assert seen["notified"]["values"] == [bytes([number]).ljust(usb_client.BURST_LENGTH, b"\0").hex() for number in range(usb_client.BURST)]
    assert seen["indicated"]["values"] == [
        bytes([number]).ljust(usb_client.INDICATION_LENGTH, b"\0").hex() for number in range(usb_client.INDICATIONS)]
    assert seen["echoed"]["values"] == [usb_client.pattern(number).hex() for number in range(usb_client.ECHOES)], "every value, in order"
    assert seen["unsubscribed"]["further"] == 0


def test_the_end(seen):
    assert seen["disconnected"]["reason"] == 0x16
    assert "closed" in seen


def test_bluebench_as_the_client_of_bumble_over_usb(bus):
    """Reversed: our libusb transport here, Bumble's there."""
    def value(number):
        return str(accessory.uuid(number))

    result = subprocess.run(
        [bluebench(), "gatt", f"usb:{bus.dongles[0].path}", "--peer", f"{PEER}/random", "--interval", "7.5", "--mtu", "247",
         "--write", f"{value(3)}=DEADBEEF", "--subscribe", f"{value(4)}=1"],
        capture_output=True, text=True, timeout=TIMEOUT, env=bus.environment)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    lines = result.stdout.splitlines()
    assert "mtu 247" in lines
    assert f"value of {value(4)}: DEADBEEF" in lines
    assert any(line.startswith(f"  characteristic {value(1)},") and line.endswith(bytes(range(20)).hex().upper()) for line in lines)
    assert lines[-1].startswith("disconnected: ")
