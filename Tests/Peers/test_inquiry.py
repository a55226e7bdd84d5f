"""Two Bumble hosts on dual-mode dongles: one is discoverable over BR/EDR, the other inquires."""

import contextlib

import pytest
from bumble.core import AdvertisingData
from bumble.device import Device

from support import Inbox, dongles, host

INQUIRER = "F0:F1:F2:F3:F4:F5"
SOUGHT = "C0:C1:C2:C3:C4:C5"


@pytest.fixture
def dual_ports():
    """The ports of two dongles with BR/EDR."""
    with dongles(2, "--profile", "dual") as found:
        yield found


@contextlib.asynccontextmanager
async def classic_host(port, name, address):
    async with host(port, name, address, power_on=False) as device:
        device.classic_enabled = True
        device.discoverable = False
        await device.power_on()
        yield device


async def test_an_inquiry_finds_who_is_discoverable(dual_ports):
    async with classic_host(dual_ports[0], "inquirer", INQUIRER) as inquirer, classic_host(dual_ports[1], "sought", SOUGHT) as sought:
        results = Inbox(inquirer, Device.EVENT_INQUIRY_RESULT)
        sought.class_of_device = 0x5A020C
        sought.inquiry_response = None
        await sought.power_on()
        await sought.set_discoverable(True)
        await inquirer.start_discovery()
        address, class_of_device, data, rssi = await results.next()
        assert address == sought.public_address
        assert class_of_device == 0x5A020C
        assert data.get(AdvertisingData.COMPLETE_LOCAL_NAME) == "sought"
        assert rssi == -50
        await inquirer.stop_discovery()
