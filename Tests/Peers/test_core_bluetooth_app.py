"""What was found wrong in the module CoreBluetooth, over TCP with a Bumble host as the other side: `PDUTool app` is the app, whose calls are given here.
The same is tested in virtual time in Tests/CoreBluetoothTests."""

import asyncio
import contextlib
import struct

from bumble import att
from bumble.core import UUID, AdvertisingData
from bumble.device import Peer
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.l2cap import LeCreditBasedChannelSpec

from support import TIMEOUT, Inbox, dongles, host
from test_core_bluetooth import OWN, newest

PSM = 0x85
PROPERTIES = Characteristic.Properties


class App:
    """The app, and the lines that it has printed."""

    def __init__(self, process):
        self._process = process

    def call(self, *lines):
        self._process.stdin.write("".join(f"{line}\n" for line in lines).encode())

    async def line(self, start):
        """The next line with this beginning, without it; lines before it are dropped."""
        while True:
            line = (await asyncio.wait_for(self._process.stdout.readline(), TIMEOUT)).decode()
            assert line, f"the app has ended before '{start}'"
            assert not line.startswith("NOT"), line
            if line.startswith(start):
                return line.removeprefix(start).strip()

    async def rest(self):
        _, err = await asyncio.wait_for(self._process.communicate(b""), TIMEOUT)
        return err.decode().splitlines()


@contextlib.asynccontextmanager
async def app(port, **environment):
    process = await asyncio.create_subprocess_exec(
        newest("PDUTool"), "app", env=OWN | {"BLUEBENCH_DEVICE": f"tcp:127.0.0.1:{port}"} | environment,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    try:
        yield App(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def service_data():
    return bytes(AdvertisingData([
        (AdvertisingData.FLAGS, b"\x06"), (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, b"\x0D\x18"),
        (AdvertisingData.COMPLETE_LOCAL_NAME, b"Advertised")]))


PERSONA = """persona: mine
about: a phone with a small MTU
values:
  mtu: {value: 100, seen: here, certainty: B, source: this test}
  interval: {value: 40, seen: here, certainty: B, source: this test}
"""


async def as_central(mine, other, persona):
    """An app that connects to a Bumble host; one step for each finding."""
    written, subscriptions = [], Inbox()
    rate = Characteristic(UUID.from_16_bits(0x2A37), PROPERTIES.NOTIFY, Characteristic.READABLE, b"")
    rate.on(rate.EVENT_SUBSCRIPTION, subscriptions.put)
    control = Characteristic(
        UUID.from_16_bits(0x2A39), PROPERTIES.WRITE, Characteristic.WRITEABLE, CharacteristicValue(write=lambda _, value: written.append(bytes(value))))
    async with host(other, "Monitor", "F0:48:45:41:52:54", advertising_interval_min=20, advertising_interval_max=20) as device, app(mine, BLUEBENCH_PERSONA=persona) as program:
        device.add_service(Service(UUID.from_16_bits(0x180D), [rate, control]))
        echoes = device.create_l2cap_server(
            LeCreditBasedChannelSpec(psm=PSM), lambda channel: setattr(channel, "sink", channel.write))
        assert echoes
        links = Inbox(device, device.EVENT_CONNECTION)
        await device.start_advertising(advertising_data=service_data(), auto_restart=True)
        program.call("central")
        assert await program.line("state ") == "poweredOn"
        program.call("scan 180D")
        # The name is the advertised one until the Device Name is read.
        assert await program.line("found ") == "Advertised"
        program.call("connect")
        await program.line("connected")
        link = await asyncio.wait_for(links.next(), TIMEOUT)
        assert await program.line("name ") == "Monitor"
        # The phone is that of the file.
        program.call("limits")
        assert await program.line("limits ") == "512 97" and link.att_mtu == 100
        assert link.parameters.connection_interval == 50
        # A request for the connection in the turn of its cancellation is made.
        program.call("again")
        await program.line("disconnected")
        await program.line("connected")
        link = await asyncio.wait_for(links.next(), TIMEOUT)
        pairings = Inbox(link, link.EVENT_PAIRING_START)
        program.call("discover")
        assert (await program.line("discovered ")).endswith("180D")
        # A command to a characteristic that has only writes with a response is dropped; the write after it arrives.
        program.call("command 2A39 01", "write 2A39 02")
        assert await program.line("written") == "" and written == [b"\x02"]
        # A wrong PSM is refused, and no reason to pair.
        program.call("channel 153")
        assert (await program.line("opened")).startswith("failed") and not pairings.items
        # One write and one read for each event.
        program.call(f"channel {PSM}")
        assert await program.line("opened") == ""
        program.call("pump 4000 700")
        assert await program.line("read ") == "true"
        # After a change of all services, of which the server has forgotten the configuration, a subscription is written again.
        program.call("notify 2A37")
        assert await program.line("notifying ") == "true"
        await asyncio.wait_for(subscriptions.next(), TIMEOUT)
        changed = device.gatt_service.service_changed_characteristic
        device.gatt_server.subscribers[link] = {
            handle: value for handle, value in device.gatt_server.subscribers[link].items() if handle == changed.handle}
        await device.indicate_subscriber(link, changed, struct.pack("<HH", 1, 0xFFFF))
        assert "180D" in await program.line("modified ")
        program.call("discover")
        await program.line("discovered ")
        program.call("notify 2A37")
        assert await program.line("notifying ") == "true"
        await asyncio.wait_for(subscriptions.next(), TIMEOUT)
        await device.notify_subscribers(rate, b"\x00\x48")
        assert await program.line("value ") == "0048"
        return await program.rest()


def test_an_app_is_a_central(tmp_path):
    persona = tmp_path / "mine.yaml"
    persona.write_text(PERSONA)
    with dongles(2) as (mine, other):
        lines = asyncio.run(as_central(mine, other, str(persona)))
    [line] = [line for line in lines if "Write Without Response" in line]
    assert "ignoring response-less write" in line


async def as_peripheral(mine, other):
    async with host(other, "Phone", "F0:48:45:41:52:54") as device, app(mine) as program:
        program.call("server")
        await program.line("advertising")
        heard = Inbox(device, device.EVENT_ADVERTISEMENT)
        await device.start_scanning()
        seen = await asyncio.wait_for(heard.until(lambda report: report.data.get(AdvertisingData.COMPLETE_LOCAL_NAME) == "Sensor"), TIMEOUT)
        await device.stop_scanning()
        peer = Peer(await device.connect(seen.address))
        await peer.discover_services()
        await peer.discover_characteristics()
        rate, control = [peer.get_characteristics_by_uuid(UUID.from_16_bits(number))[0] for number in (0x2A37, 0x2A39)]
        await rate.subscribe(lambda value: None)
        await program.line("subscribed")
        # The length of updates is that of the MTU, also of one that is exchanged after the subscription.
        program.call("update 00")
        before = await program.line("updated ")
        await peer.request_mtu(100)
        program.call("update 00")
        # The parts of a queued write come with their offsets, also those that begin beyond the value.
        for offset, part in ((4, b"\x05\x06"), (0, b"\x01\x02")):
            await peer.gatt_client.send_request(
                att.ATT_Prepare_Write_Request(attribute_handle=control.handle, value_offset=offset, part_attribute_value=part))
        answer = await peer.gatt_client.send_request(att.ATT_Execute_Write_Request(flags=1))
        assert isinstance(answer, att.ATT_Execute_Write_Response), answer
        return before, await program.line("updated "), await program.line("writes ")


def test_an_app_is_a_peripheral():
    with dongles(2) as (mine, other):
        assert asyncio.run(as_peripheral(mine, other)) == ("true 20", "true 97", "4:0506 0:0102")
