"""The throughput service of docs/guide/throughput-service.md as a Bumble peripheral: `throughput_service.py HOST:PORT`.

`--fault KIND` plants a fault in the packets it sends, to show that it is noticed: loss, duplicate, disorder or corrupt.
"""

import argparse
import asyncio
import struct
import zlib
from dataclasses import dataclass

from bumble import att, l2cap
from bumble.core import AdvertisingData, UUID
from bumble.device import Device, DeviceConfiguration
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address, OwnAddressType
from bumble.transport.tcp_client import open_tcp_client_transport

ADDRESS = "C0:B1:BE:00:00:02"
QUEUED = 24
"""The number of packets passed to the stack and not yet sent to the controller; more would only extend the queue."""
FAULTY = 20
"""The sequence number of a planted fault."""

SPSM = 0x93
"""The SPSM of the channels, which is published."""
CHANNEL = l2cap.LeCreditBasedChannelSpec(psm=SPSM, max_credits=200, mtu=2048, mps=247)
WRONG_LENGTH, UNKNOWN_OPCODE, NOT_SUBSCRIBED, NO_CHANNEL = 0x0D, 0x80, 0x81, 0x82
Properties = Characteristic.Properties
READABLE, WRITEABLE = Characteristic.READABLE, Characteristic.WRITEABLE


def uuid(short):
    return UUID(f"B1BE{short:04X}-7E57-4ACC-9D3A-0B5E55ED0001")


def packet(number, length):
    filler = bytes((number + octet) % 256 for octet in range(4, length - 4))
    body = struct.pack("<I", number) + filler
    return body + struct.pack("<I", zlib.crc32(body))


@dataclass
class Tally:
    """The data that the Sink received."""

    received: int = 0
    octets: int = 0
    duplicated: int = 0
    disordered: int = 0
    corrupted: int = 0

    def __post_init__(self):
        self.seen = set()
        self.next = 0

    @property
    def lost(self):
        return self.next - len(self.seen)

    def take(self, value):
        self.received += 1
        if len(value) < 8 or zlib.crc32(value[:-4]) != struct.unpack("<I", value[-4:])[0]:
            self.corrupted += 1
            return
        (number,) = struct.unpack_from("<I", value)
        if number in self.seen:
            self.duplicated += 1
            return
        self.disordered += number < self.next
        self.seen.add(number)
        self.next = max(self.next, number + 1)
        self.octets += len(value)


class ThroughputService:
    def __init__(self, fault=None):
        self.fault = fault
        self.device = None
        self.sending = None
        self.subscribed = False
        self.source = Characteristic(uuid(0x0201), Properties.NOTIFY, READABLE, b"")
        self.source.on(Characteristic.EVENT_SUBSCRIPTION, self.on_subscription)
        self.service = Service(uuid(0x0200), [
            self.source,
            Characteristic(
                uuid(0x0202), Properties.WRITE | Properties.WRITE_WITHOUT_RESPONSE, WRITEABLE,
                CharacteristicValue(write=lambda _, value: self.tally.take(bytes(value)))),
            Characteristic(uuid(0x0203), Properties.WRITE, WRITEABLE, CharacteristicValue(write=self.control)),
            Characteristic(uuid(0x0204), Properties.READ, READABLE, CharacteristicValue(read=self.counters)),
            Characteristic(UUID("ABDD3056-28FA-441D-A470-55A75A52553A"), Properties.READ, READABLE, struct.pack("<H", SPSM)),
        ])
        self.forget()

    def forget(self):
        self.stop()
        self.subscribed = False
        self.sent = 0
        self.tally = Tally()
        self.channels = []

    def opened(self, channel):
        """Counts the SDUs of a channel, which has sequence numbers of its own."""
        flow = [channel, Tally()]
        channel.sink = lambda sdu: flow[1].take(sdu)
        self.channels.append(flow)

    def on_subscription(self, _, notify, __):
        self.subscribed = notify

    def stop(self):
        if self.sending:
            self.sending.cancel()
            self.sending = None

    def counters(self, _):
        tallies = [self.tally, *(tally for _, tally in self.channels)]
        names = ("received", "octets", "lost", "duplicated", "disordered", "corrupted")
        return struct.pack("<7I", self.sent, *(sum(getattr(tally, name) for tally in tallies) for name in names))

    def control(self, connection, value):
        lengths = {1: 7, 2: 1, 3: 1, 4: 7}
        if not value or value[0] not in lengths:
            raise att.ATT_Error(UNKNOWN_OPCODE if value else WRONG_LENGTH)
        if len(value) != lengths[value[0]]:
            raise att.ATT_Error(WRONG_LENGTH)
        if value[0] == 3:
            self.tally = Tally()
            for flow in self.channels:
                flow[1] = Tally()
            return
        if value[0] == 1 and not self.subscribed:
            raise att.ATT_Error(NOT_SUBSCRIBED)
        if value[0] == 4 and not self.channels:
            raise att.ATT_Error(NO_CHANNEL)
        self.stop()
        if value[0] in (1, 4):
            length, count = struct.unpack("<HI", value[1:])
            self.sent = 0
            flow = self.send(connection, length or min(512, connection.att_mtu - 3), count) if value[0] == 1 else self.send_on_channels(length or 245, count)
            self.sending = asyncio.get_running_loop().create_task(flow)

    def order(self, count):
        """The sequence numbers in the order of sending."""
        number = 0
        while count == 0 or number < count:
            if number != FAULTY or self.fault in (None, "corrupt"):
                yield number
            elif self.fault == "duplicate":
                yield from (number, number)
            elif self.fault == "disorder":
                yield from (number + 1, number)
                number += 1
            number += 1

    async def send(self, connection, length, count):
        for number in self.order(count):
            value = packet(number, length)
            if number == FAULTY and self.fault == "corrupt":
                value = value[:-1] + bytes([value[-1] ^ 1])
            while self.queue.pending > QUEUED:
                await self.room(self.queue)
            await self.device.notify_subscriber(connection, self.source, value)
            self.sent += 1

    async def send_on_channels(self, length, count):
        """Sends an SDU on each channel in turn, as the peer's credits allow."""
        for number in self.order(count):
            for channel, _ in self.channels:
                value = packet(number, length)
                if number == FAULTY and self.fault == "corrupt":
                    value = value[:-1] + bytes([value[-1] ^ 1])
                while self.queue.pending > QUEUED:
                    await self.room(self.queue)
                channel.write(value)
                self.sent += 1
                await channel.drain()

    @property
    def queue(self):
        return self.device.host.le_acl_packet_queue

    @staticmethod
    async def room(queue):
        flowed = asyncio.get_running_loop().create_future()
        queue.once("flow", lambda *_: flowed.done() or flowed.set_result(None))
        await flowed


async def serve(target, fault):
    transport = await open_tcp_client_transport(target)
    service = ThroughputService(fault)
    configuration = DeviceConfiguration(name="Foreign flow", address=Address(ADDRESS))
    device = service.device = Device.from_config_with_hci(configuration, transport.source, transport.sink)
    device.gatt_server.max_mtu = 517
    device.add_service(service.service)
    device.create_l2cap_server(CHANNEL, handler=service.opened)
    await device.power_on()
    data = bytes(AdvertisingData([
        (AdvertisingData.FLAGS, b"\x06"),
        (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, bytes(uuid(0x0200))),
    ]))
    ended = asyncio.Queue()

    def on_connection(connection):
        service.forget()
        connection.on("disconnection", lambda reason: (service.forget(), ended.put_nowait(reason)))

    device.on(Device.EVENT_CONNECTION, on_connection)
    lost = asyncio.ensure_future(transport.source.terminated)
    while not lost.done():
        await device.start_advertising(
            own_address_type=OwnAddressType.RANDOM, advertising_data=data, advertising_interval_min=100, advertising_interval_max=100)
        print(f"advertising as {device.random_address}", flush=True)
        waiting = asyncio.ensure_future(ended.get())
        await asyncio.wait([lost, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("controller", metavar="HOST:PORT")
    parser.add_argument("--fault", choices=["loss", "duplicate", "disorder", "corrupt"])
    options = parser.parse_args()
    asyncio.run(serve(options.controller, options.fault))
