"""The lamp's own tests, in virtual time: ten minutes of waiting take a moment. Run: pytest --bluebench-seed 1"""

import asyncio
import contextlib

import pytest
from bumble.att import ATT_Error

from lamp import AUTO_OFF, BRIGHTNESS, SERVICE, Lamp

ADDRESS = "F0:4C:41:4D:50:01"


@contextlib.asynccontextmanager
async def lit(dongle, phone):
    """A lamp, and the brightness characteristic as a phone sees it."""
    async with dongle.host("Lamp", ADDRESS) as device:
        lamp = Lamp(device)
        await lamp.start()
        peer = await phone.peer(ADDRESS)
        [service] = [service for service in peer.services if service.uuid == SERVICE]
        [brightness] = [each for each in service.characteristics if each.uuid == BRIGHTNESS]
        yield lamp, brightness


async def test_the_brightness_is_written_and_read(dongle, phone):
    async with lit(dongle, phone) as (lamp, brightness):
        await brightness.write_value(bytes([70]), with_response=True)
        assert lamp.brightness == 70 and await brightness.read_value() == bytes([70])


@pytest.mark.parametrize("value", [b"", b"\x65", b"\x01\x02"])
async def test_a_wrong_value_is_refused(dongle, phone, value):
    async with lit(dongle, phone) as (lamp, brightness):
        with pytest.raises(ATT_Error):
            await brightness.write_value(value, with_response=True)
        assert lamp.brightness == 0


@pytest.mark.bluebench(loss=0.05)
async def test_it_switches_itself_off_and_says_so(dongle, phone):
    async with lit(dongle, phone) as (lamp, brightness):
        told = asyncio.get_running_loop().create_future()
        await brightness.subscribe(told.set_result)
        await brightness.write_value(bytes([70]), with_response=True)
        await asyncio.sleep(AUTO_OFF - 10)
        assert lamp.brightness == 70 and not told.done()
        assert await asyncio.wait_for(told, 20) == bytes([0])


async def test_each_command_starts_the_time_again(dongle, phone):
    async with lit(dongle, phone) as (lamp, brightness):
        for level in (20, 40):
            await brightness.write_value(bytes([level]), with_response=True)
            await asyncio.sleep(AUTO_OFF - 10)
        assert lamp.brightness == 40


async def test_it_advertises_again_after_a_connection(dongle, phone):
    async with lit(dongle, phone):
        host = await phone.host()
        for _ in range(3):
            await next(iter(host.connections.values())).disconnect()
            await phone.connect(ADDRESS)
