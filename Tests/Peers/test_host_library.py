"""The programs of Examples/host-library, which stand on the product Bluebench, over TCP: with Bumble as the other side, and with one another."""

import asyncio
import re
import subprocess
import sys

import pytest
from bumble.att import ATT_Error
from bumble.core import UUID, AdvertisingData
from bumble.device import Peer

from support import ROOT, TIMEOUT, Inbox, Process, dongles, host
from test_core_bluetooth import newest

BRIGHTNESS = UUID("3B2F0002-5F1C-4C3A-9E0B-6A1D5A8E7C01")


def switch(port, percent):
    done = subprocess.run(
        [newest("switch-lamp"), f"tcp:127.0.0.1:{port}", str(percent)], capture_output=True, text=True, timeout=TIMEOUT * 3)
    return done.returncode, done.stdout.splitlines(), done.stderr


def served(port):
    """The lamp of the example, once it advertises."""
    return Process(newest("serve-lamp"), f"tcp:127.0.0.1:{port}")


def test_a_central_switches_a_lamp_made_with_bumble():
    lamp = ROOT / "Examples/bumble-peripheral/lamp.py"
    with dongles(2) as (mine, other), Process(sys.executable, lamp, f"tcp-client:127.0.0.1:{other}"):
        assert switch(mine, 75) == (0, ["was 0 %", "is 75 %"], "")
        code, lines, _ = switch(mine, 101)
    assert code == 0 and lines[0] == "was 75 %" and re.match(r"refused: .*Value_Not_Allowed", lines[1]), lines


async def use(port):
    """What a Bumble host reads, and gets for a value that is not allowed."""
    async with host(port, "Phone", "F0:48:45:41:52:54") as phone:
        heard = Inbox(phone, phone.EVENT_ADVERTISEMENT)
        await phone.start_scanning()
        report = await asyncio.wait_for(
            heard.until(lambda report: report.data.get(AdvertisingData.COMPLETE_LOCAL_NAME) == "Lamp"), TIMEOUT)
        await phone.stop_scanning()
        connection = await phone.connect(report.address)
        peer = Peer(connection)
        await peer.discover_services()
        await peer.discover_characteristics()
        [brightness] = peer.get_characteristics_by_uuid(BRIGHTNESS)
        await brightness.write_value(bytes([60]), with_response=True)
        values = [await brightness.read_value()]
        with pytest.raises(ATT_Error) as refusal:
            await brightness.write_value(bytes([101]), with_response=True)
        await connection.disconnect()
        return values, refusal.value.error_code


def test_a_peripheral_serves_bumble_and_then_a_central_of_its_own():
    with dongles(2) as (mine, other), served(mine) as lamp:
        lamp.wait_for("advertising")
        assert asyncio.run(use(other)) == ([bytes([60])], 0x13)
        assert switch(other, 5) == (0, ["was 60 %", "is 5 %"], "")


def test_a_device_that_is_not_there_is_named():
    code, lines, text = switch(1, 5)
    assert code != 0 and not lines and "cannot reach tcp:127.0.0.1:1" in text
