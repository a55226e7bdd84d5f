"""A product on pybluehost's host and attribute server: `pybluehost_product.py HOST:PORT|virtual:HOST:PORT`."""

import asyncio
import logging
import sys

from pybluehost.ble.gap import AdvertisingConfig
from pybluehost.ble.gatt import CharacteristicDefinition, CharProperties, Permissions, ServiceDefinition
from pybluehost.core.gap_common import AdvertisingData
from pybluehost.core.uuid import UUID16, UUID128
from pybluehost.stack import Stack
from pybluehost.transport.base import Transport, TransportInfo

from peripheral import advertise_again, expect_a_tester, open_controller, run

NAME = "Blue meter"
OPEN = Permissions.READABLE | Permissions.WRITABLE
READ, NOTIFY, WRITE = CharProperties.READ, CharProperties.NOTIFY, CharProperties.WRITE


def own(number):
    return UUID128.from_bytes(bytes.fromhex("A5D21F7708E94CB3931E") + bytes([0x40, 0x0B]) + bytes([number, 0, 0x52, 0x3C]))


def services():
    def value(uuid, properties, permissions, octets):
        return CharacteristicDefinition(uuid=uuid, properties=properties, permissions=permissions, value=octets)
    return [
        ServiceDefinition(UUID16(0x1800), [
            value(UUID16(0x2A00), READ, Permissions.READABLE, NAME.encode()), value(UUID16(0x2A01), READ, Permissions.READABLE, b"\0\0")]),
        ServiceDefinition(UUID16(0x1801)),
        ServiceDefinition(UUID16(0x180A), [value(UUID16(0x2A29), READ, Permissions.READABLE, b"Maker")]),
        ServiceDefinition(UUID16(0x180F), [value(UUID16(0x2A19), READ | NOTIFY, Permissions.READABLE, b"\x55")]),
        ServiceDefinition(own(1), [
            value(own(2), READ | WRITE, OPEN, b"\x2a"), value(own(3), READ, Permissions.READABLE, bytes(range(60))),
            value(own(4), WRITE, Permissions.WRITABLE, b"")]),
    ]


class Bridge(Transport):
    """pybluehost's transport over one of Bumble's, which also works in virtual time."""

    def __init__(self, transport):
        super().__init__()
        self.transport, self.received = transport, asyncio.Queue()
        transport.source.set_packet_sink(self)

    def on_packet(self, packet):
        self.received.put_nowait(bytes(packet))

    async def open(self):
        self.reader = asyncio.ensure_future(self.read())

    async def read(self):
        while True:
            packet = await self.received.get()
            await self._sink.on_transport_data(packet)

    async def close(self):
        self.reader.cancel()

    async def send(self, data):
        self.transport.sink.on_packet(bytes(data))

    @property
    def is_open(self):
        return True

    @property
    def info(self):
        return TransportInfo(type="bridge", description="", platform="", details={})


async def serve(target):
    transport = await open_controller(target)
    bridge = Bridge(transport)
    await bridge.open()
    stack = await Stack._build(bridge)
    for service in services():
        stack.gatt_server.add_service(service)
    data, response, ended = AdvertisingData(), AdvertisingData(), asyncio.Queue()
    data.set_flags(0x06)
    data.set_complete_local_name(NAME)
    stack.on_connection_event(lambda event: ended.put_nowait(event) if event.state == "disconnected" else None)

    async def advertise():
        await stack.gap.ble_advertiser.start(config=AdvertisingConfig(adv_type=0), ad_data=data, scan_rsp_data=response)
    await advertise()
    expect_a_tester()
    print("advertising", flush=True)
    await advertise_again(transport, ended, advertise)


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR)
    run(serve, *sys.argv[1:])
