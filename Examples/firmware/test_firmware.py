"""The firmware in C shares the air's clock with a phone and with Bluebench itself. Run: pytest"""

import asyncio
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
BATTERY_LEVEL = "2A19"


@pytest.fixture
def firmware(tmp_path):
    """The program, compiled with what finds errors of memory."""
    program = tmp_path / "firmware"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-g", "-fsanitize=address,undefined"]
    subprocess.run(["cc", *flags, "-o", program, HERE / "firmware.c", HERE / "vt_h4.c"], check=True)
    return program


async def connected(air, phone, firmware):
    """The battery level as a phone sees it, after the start of the firmware."""
    from bumble.core import UUID
    battery = air.dongle()
    program = air.program(firmware, battery)
    peer = await phone.peer(battery.address + "/P")
    [level] = peer.get_characteristics_by_uuid(UUID(BATTERY_LEVEL))
    return program, level


@pytest.mark.bluebench(timeout=4000)
async def test_an_hour_of_the_battery(air, phone, firmware):
    program, level = await connected(air, phone, firmware)
    assert await level.read_value() == bytes([100])
    told = []
    await level.subscribe(told.append)
    await asyncio.sleep(3600)
    assert told == [bytes([percent]) for percent in range(99, 39, -1)]
    assert await level.read_value() == bytes([40])
    assert "connected" in program.text


async def test_it_serves_the_next_phone(air, phone, firmware):
    _, level = await connected(air, phone, firmware)
    host = await phone.host()
    address = next(iter(host.connections.values())).peer_address
    for _ in range(3):
        await next(iter(host.connections.values())).disconnect()
        await host.connect(address)


@pytest.mark.bluebench(loss=0.1)
async def test_it_works_on_a_noisy_air(air, phone, firmware):
    _, level = await connected(air, phone, firmware)
    for _ in range(20):
        assert await level.read_value()
        await asyncio.sleep(7)


async def test_our_own_client_reads_it(air, dongle, firmware):
    battery = air.dongle()
    air.program(firmware, battery)
    output = await air.run("gatt", dongle, "--peer", battery.address + "/public", "--bonds", "none")
    assert "Battery Level" in output and "Battery in C" in output
