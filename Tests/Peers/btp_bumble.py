"""An upper tester for Bumble's host: `btp_bumble.py HOST:PORT PATH` speaks the Bluetooth Test Protocol at the socket PATH.

Written from the protocol alone; what Bumble cannot do is refused with the protocol's own words (unknown command, or failed).
"""

import asyncio
import struct
import sys

from bumble import att, core, gatt, l2cap, pairing
from bumble.device import AdvertisingType, Device, Peer
from bumble.hci import Address
from bumble.transport import open_transport

CORE, GAP, GATT, L2CAP = range(4)
ADDRESS = "C0:C1:C2:C3:C4:C5"
FAIL, UNKNOWN_COMMAND = 1, 2
POWERED, CONNECTABLE, DISCOVERABLE, BONDABLE, LE, ADVERTISING, SECURE_CONNECTIONS, STATIC = (1 << bit for bit in (0, 1, 3, 4, 9, 10, 11, 15))


class Failed(Exception):
    """The host does not do what the command asks for."""


def spelled(address):
    return bytes([0 if address.is_public else 1]) + bytes(address)


def counted(uuid):
    octets = bytes(uuid.to_pdu_bytes())
    return bytes([len(octets)]) + octets


def error_of(error):
    if error.error_code is None:
        raise Failed from error
    return bytes([int(error.error_code)])


class User(pairing.PairingDelegate):
    """Asks the tester what a user would answer."""

    def __init__(self, tester, connection, io):
        super().__init__(io_capability=pairing.PairingDelegate.IoCapability(io))
        self.tester, self.peer = tester, spelled(connection.peer_address)

    async def compare_numbers(self, number, digits):
        self.tester.event(GAP, 0x86, self.peer + struct.pack("<I", number))
        return await self.tester.answer()

    async def get_number(self):
        self.tester.event(GAP, 0x85, self.peer)
        return await self.tester.answer()

    async def display_number(self, number, digits=6):
        self.tester.event(GAP, 0x84, self.peer + struct.pack("<I", number))


class UpperTester:
    def __init__(self, device, reader, writer):
        self.device, self.reader, self.writer = device, reader, writer
        self.tasks = set()
        self.answered = None
        self.io, self.secure, self.bonds, self.mitm = 3, True, True, None
        self.settings = POWERED | LE | BONDABLE | SECURE_CONNECTIONS | STATIC
        self.limited = False
        self.scan = None
        self.pending, self.published, self.values = [], {}, {}
        self.base = len(device.gatt_server.attributes)
        self.next_handle = self.base + 1
        self.channels, self.servers = {}, {}
        device.pairing_config_factory = self.pairing
        device.on(Device.EVENT_CONNECTION, self.connected)
        device.on("advertisement", self.found)

    # Messages

    def send(self, service, opcode, index, data):
        self.writer.write(struct.pack("<BBBH", service, opcode, index, len(data)) + data)

    def event(self, service, opcode, data):
        self.send(service, opcode, 0, data)

    def start(self, work):
        """Work that goes on after the response; its failure shows in the host's events."""
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(lambda done: (self.tasks.discard(done), done.cancelled() or done.exception()))

    def answer(self):
        self.answered = asyncio.get_running_loop().create_future()
        return self.answered

    async def serve(self):
        self.send(CORE, 0x80, 0xFF, b"")
        while True:
            try:
                service, opcode, index, length = struct.unpack("<BBBH", await self.reader.readexactly(5))
                data = await self.reader.readexactly(length)
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            run = COMMANDS.get((service, opcode))
            try:
                if run is None:
                    self.send(service, 0, index, bytes([UNKNOWN_COMMAND]))
                    continue
                self.send(service, opcode, index, await run(self, data) or b"")
            except (Failed, struct.error, core.BaseBumbleError, asyncio.TimeoutError, ValueError, IndexError, KeyError):
                self.send(service, 0, index, bytes([FAIL]))

    # Connections and pairing

    def connected(self, connection):
        peer = spelled(connection.peer_address)
        parameters = connection.parameters
        self.event(GAP, 0x82, peer + struct.pack(
            "<HHH", round(parameters.connection_interval / 1.25), parameters.peripheral_latency, round(parameters.supervision_timeout / 10)))
        connection.on("disconnection", lambda reason: self.event(GAP, 0x83, peer))
        connection.on("pairing_failure", lambda reason: self.event(GAP, 0x8C, peer + bytes([int(reason) & 0xFF])))
        connection.on("connection_encryption_change", lambda: self.secured(connection))
        connection.on("pairing", lambda keys: self.secured(connection, keys))
        client = connection.gatt_client
        client.on_att_handle_value_notification = self.noted(peer, 1, client.on_att_handle_value_notification)
        client.on_att_handle_value_indication = self.noted(peer, 2, client.on_att_handle_value_indication)

    def noted(self, peer, kind, handled):
        def on_value(value):
            octets = bytes(value.attribute_value)
            self.event(GATT, 0x80, peer + struct.pack("<BHH", kind, value.attribute_handle, len(octets)) + octets)
            return handled(value)
        return on_value

    def secured(self, connection, keys=None):
        if connection.is_encrypted:
            # Bumble's own flag is set after Just Works, too.
            key = keys and (keys.ltk or keys.ltk_central or keys.ltk_peripheral)
            level = (3 if connection.sc else 2) if key and key.authenticated else 1
            self.event(GAP, 0x89, spelled(connection.peer_address) + bytes([level]))

    def pairing(self, connection):
        io = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4}[self.io]
        mitm = io != 3 if self.mitm is None else self.mitm
        return pairing.PairingConfig(sc=self.secure, mitm=mitm, bonding=self.bonds, delegate=User(self, connection, io))

    def connection(self, data):
        address = bytes(data[1:7])
        for connection in self.device.connections.values():
            if bytes(connection.peer_address) == address:
                return connection
        raise Failed

    def found(self, advertisement):
        if self.scan is None:
            return
        flags = advertisement.data.get(core.AdvertisingData.FLAGS) or 0
        wanted = 1 if self.scan & 4 else 3
        # Bumble reports the data of both packets together, so a scan response has the Flags, too.
        if self.scan & 16 == 0 and int(flags) & wanted == 0:
            return
        # With a scan response, those of both packets.
        octets = bytes(advertisement.data)
        kind = 6 if advertisement.is_scan_response else 2
        self.event(GAP, 0x81, spelled(advertisement.address) + struct.pack("<bBH", advertisement.rssi, 1 | kind, len(octets)) + octets)

    # Commands

    def switch(self, bit, on):
        self.settings = self.settings | bit if on else self.settings & ~bit
        return struct.pack("<I", self.settings)

    async def information(self, data):
        supported = POWERED | CONNECTABLE | DISCOVERABLE | BONDABLE | LE | ADVERTISING | SECURE_CONNECTIONS | STATIC
        return bytes(self.device.random_address) + struct.pack("<II", supported, self.settings) + bytes(3 + 249 + 11)

    async def set_discoverable(self, data):
        self.limited = data[0] == 2
        return self.switch(DISCOVERABLE, data[0] != 0)

    async def set_io(self, data):
        self.io = data[0]

    async def set_mitm(self, data):
        self.mitm = data[0] != 0

    async def set_secure(self, data):
        self.secure = data[0] != 0
        return self.switch(SECURE_CONNECTIONS, self.secure)

    async def set_bondable(self, data):
        self.bonds = data[0] != 0
        return self.switch(BONDABLE, self.bonds)

    def on_air(self, octets):
        result = b""
        while octets:
            kind, length = octets[0], octets[1]
            if kind != core.AdvertisingData.FLAGS:
                result += bytes([length + 1, kind]) + octets[2:2 + length]
            octets = octets[2 + length:]
        return result

    async def start_advertising(self, data):
        if self.device.is_advertising:
            raise Failed
        length, response = data[0], data[1]
        mode = (1 if self.limited else 2) if self.settings & DISCOVERABLE else 0
        connectable = self.settings & CONNECTABLE
        kind = AdvertisingType.UNDIRECTED_CONNECTABLE_SCANNABLE if connectable else AdvertisingType.UNDIRECTED_SCANNABLE if response else AdvertisingType.UNDIRECTED
        await self.device.start_advertising(
            advertising_type=kind, auto_restart=False, advertising_data=bytes([2, 1, mode | 4]) + self.on_air(data[2:2 + length]),
            scan_response_data=self.on_air(data[2 + length:2 + length + response]))
        return self.switch(ADVERTISING, True)

    async def stop_advertising(self, data):
        await self.device.stop_advertising()
        return self.switch(ADVERTISING, False)

    async def start_discovery(self, data):
        if self.scan is not None:
            raise Failed
        self.scan = data[0]
        await self.device.start_scanning(active=bool(data[0] & 8), filter_duplicates=True)

    async def stop_discovery(self, data):
        self.scan = None
        await self.device.stop_scanning()

    async def connect(self, data):
        self.start(self.device.connect(Address(data[1:7], Address.RANDOM_DEVICE_ADDRESS if data[0] else Address.PUBLIC_DEVICE_ADDRESS)))

    async def disconnect(self, data):
        self.start(self.connection(data).disconnect())

    async def pair(self, data):
        connection = self.connection(data)
        if connection.role == 0:
            self.start(connection.pair())
        else:
            connection.request_pairing()

    async def unpair(self, data):
        for connection in list(self.device.connections.values()):
            if bytes(connection.peer_address) == bytes(data[1:7]):
                await connection.disconnect()
        if self.device.keystore:
            await self.device.keystore.delete_all()

    async def passkey(self, data):
        self.give(struct.unpack("<I", data[7:11])[0])

    async def confirm(self, data):
        self.give(data[7] != 0)

    def give(self, answer):
        if self.answered is None or self.answered.done():
            raise Failed
        self.answered.set_result(answer)

    async def update(self, data):
        shortest, longest, latency, timeout = struct.unpack("<HHHH", data[7:15])
        self.start(self.connection(data).update_parameters(shortest * 1.25, longest * 1.25, latency, timeout * 10))

    # GATT server

    def take(self):
        self.next_handle += 1
        return self.next_handle - 1

    async def add_service(self, data):
        handle = self.take()
        self.pending.append([handle, data[0] == 0, core.UUID.from_bytes(data[2:2 + data[1]]), [], []])
        return struct.pack("<H", handle)

    async def add_include(self, data):
        service = self.published[struct.unpack("<H", data)[0]]
        self.pending[-1][4].append(service)
        return struct.pack("<H", self.take())

    async def add_characteristic(self, data):
        declaration, value = self.take(), self.take()
        # Handle, UUID, properties, permissions, descriptors; a configuration follows the descriptors.
        self.pending[-1][3].append([value, core.UUID.from_bytes(data[5:5 + data[4]]), data[2], data[3], []])
        self.last = value
        return struct.pack("<H", declaration)

    async def add_descriptor(self, data):
        handle = self.take()
        self.pending[-1][3][-1][4].append([handle, core.UUID.from_bytes(data[4:4 + data[3]]), data[2]])
        self.last = handle
        return struct.pack("<H", handle)

    async def set_value(self, data):
        handle, length = struct.unpack("<HH", data[:4])
        handle = handle or self.last
        if handle not in self.values and handle + 1 in self.values or any(handle + 1 == row[0] for service in self.pending for row in service[3]):
            handle += 1
        self.values[handle] = bytes(data[4:4 + length])
        attribute = self.published.get(handle)
        if attribute is not None:
            if int(attribute.properties) & 0x10:
                self.start(self.device.notify_subscribers(attribute))
            if int(attribute.properties) & 0x20:
                self.start(self.device.indicate_subscribers(attribute))

    def stored(self, handle):
        def write(connection, value):
            self.values[handle] = bytes(value)
            self.event(GATT, 0x81, struct.pack("<HH", handle, len(value)) + bytes(value))
        return att.AttributeValue(read=lambda connection: self.values.get(handle, b""), write=write)

    async def start_server(self, data):
        first = self.next_handle
        for handle, primary, uuid, rows, includes in self.pending:
            first = min(first, handle)
            characteristics = []
            for value, kind, properties, permissions, descriptors in rows:
                described = [
                    gatt.Descriptor(kind, att.Attribute.Permissions(rights), self.stored(number)) for number, kind, rights in descriptors]
                characteristic = gatt.Characteristic(
                    kind, gatt.Characteristic.Properties(properties), att.Attribute.Permissions(permissions), self.stored(value), described)
                self.published[value] = characteristic
                characteristics.append(characteristic)
            service = gatt.Service(uuid, characteristics, primary=primary, included_services=includes)
            self.device.add_service(service)
            self.published[handle] = service
            # Bumble adds configurations by itself.
            self.next_handle = len(self.device.gatt_server.attributes) + 1
        self.pending = []
        return struct.pack("<HB", 0, self.next_handle - first)

    async def reset_server(self, data):
        server = self.device.gatt_server
        del server.attributes[self.base:]
        server.attributes_by_handle.clear()
        self.pending, self.published, self.values = [], {}, {}
        self.next_handle = self.base + 1

    # GATT client

    def client(self, data):
        return self.connection(data).gatt_client

    async def exchange_mtu(self, data):
        await self.client(data).request_mtu(247)

    async def services(self, data):
        return self.listed(await self.client(data).discover_services())

    async def services_by_uuid(self, data):
        return self.listed(await self.client(data).discover_service(core.UUID.from_bytes(data[8:8 + data[7]])))

    def listed(self, services):
        return bytes([len(services)]) + b"".join(struct.pack("<HH", one.handle, one.end_group_handle) + counted(one.uuid) for one in services)

    async def characteristics(self, data, uuids=()):
        client = self.client(data)
        start, end = struct.unpack("<HH", data[7:11])
        service = gatt_service(client, start, end)
        found = await client.discover_characteristics(uuids, service)
        return bytes([len(found)]) + b"".join(
            struct.pack("<HHB", one.handle - 1, one.handle, int(one.properties)) + counted(one.uuid) for one in found)

    async def characteristics_by_uuid(self, data):
        return await self.characteristics(data, [core.UUID.from_bytes(data[12:12 + data[11]])])

    async def descriptors(self, data):
        start, end = struct.unpack("<HH", data[7:11])
        found = await self.client(data).discover_descriptors(start_handle=start, end_handle=end)
        return bytes([len(found)]) + b"".join(struct.pack("<H", one.handle) + counted(one.type) for one in found)

    async def read(self, data):
        handle = struct.unpack("<H", data[7:9])[0]
        try:
            value = await self.client(data).read_value(handle, no_long_read=True)
        except att.ATT_Error as error:
            return error_of(error) + bytes(2)
        return struct.pack("<BH", 0, len(value)) + value

    async def read_by_uuid(self, data):
        start, end, length = struct.unpack("<HHB", data[7:12])
        uuid = core.UUID.from_bytes(data[12:12 + length])
        response = await self.client(data).send_request(
            att.ATT_Read_By_Type_Request(starting_handle=start, ending_handle=end, attribute_type=uuid))
        if response.op_code == att.Opcode.ATT_ERROR_RESPONSE:
            return bytes([int(response.error_code), 0])
        rows = [(handle, bytes(value)) for handle, value in response.attributes]
        return bytes([0, len(rows)]) + b"".join(struct.pack("<HB", handle, len(value)) + value for handle, value in rows)

    async def read_from(self, data):
        handle, offset = struct.unpack("<HH", data[7:11])
        if not offset:
            try:
                value = await self.client(data).read_value(handle)
            except att.ATT_Error as error:
                return error_of(error) + bytes(2)
            return struct.pack("<BH", 0, len(value)) + value
        response = await self.client(data).send_request(att.ATT_Read_Blob_Request(attribute_handle=handle, value_offset=offset))
        if response.op_code == att.Opcode.ATT_ERROR_RESPONSE:
            return bytes([int(response.error_code), 0, 0])
        value = bytes(response.part_attribute_value)
        return struct.pack("<BH", 0, len(value)) + value

    async def read_multiple(self, data):
        handles = list(struct.unpack(f"<{data[7]}H", data[8:8 + 2 * data[7]]))
        response = await self.client(data).send_request(att.ATT_Read_Multiple_Request(set_of_handles=handles))
        if response.op_code == att.Opcode.ATT_ERROR_RESPONSE:
            return bytes([int(response.error_code), 0, 0])
        values = bytes(response.set_of_values)
        return struct.pack("<BH", 0, len(values)) + values

    async def write_long(self, data):
        handle, offset, length = struct.unpack("<HHH", data[7:13])
        if offset:
            raise Failed
        try:
            await self.client(data).write_long_value(handle, bytes(data[13:13 + length]))
        except att.ATT_Error as error:
            return error_of(error)
        return b"\0"

    async def write(self, data):
        handle, length = struct.unpack("<HH", data[7:11])
        try:
            await self.client(data).write_value(handle, bytes(data[11:11 + length]), with_response=True)
        except att.ATT_Error as error:
            return error_of(error)
        return b"\0"

    async def write_command(self, data):
        handle, length = struct.unpack("<HH", data[7:11])
        await self.client(data).write_value(handle, bytes(data[11:11 + length]))

    async def configure(self, data, value):
        enable, handle = struct.unpack("<BH", data[7:10])
        await self.client(data).write_value(handle, bytes([value if enable else 0, 0]), with_response=True)

    # L2CAP

    def opened(self, channel, connection, psm):
        number = next(number for number in range(1, 256) if number not in self.channels)
        self.channels[number] = channel
        peer = spelled(connection.peer_address)
        channel.sink = lambda sdu: self.event(L2CAP, 0x83, struct.pack("<BH", number, len(sdu)) + sdu)
        channel.on("close", lambda: (self.channels.pop(number, None), self.event(L2CAP, 0x82, struct.pack("<HBH", 0, number, psm) + peer)))
        self.event(L2CAP, 0x81, struct.pack("<BHHHHH", number, psm, channel.peer_mtu, channel.peer_mps, channel.mtu, channel.mps) + peer)
        return number

    async def listen(self, data):
        psm, transport, mtu, refusal = struct.unpack("<HBHH", data)
        if transport != 1 or refusal:
            raise Failed
        # The case before this one may have listened, too.
        if psm in self.servers:
            self.servers.pop(psm).close()
        manager = self.device.l2cap_channel_manager
        self.servers[psm] = self.device.create_l2cap_server(
            l2cap.LeCreditBasedChannelSpec(psm=psm, mtu=max(mtu, 23), mps=max(min(mtu, 247), 23)),
            lambda channel: self.opened(channel, channel.connection, psm))
        assert psm in manager.le_coc_servers

    async def channel(self, data):
        connection = self.connection(data)
        psm, mtu, count, options = struct.unpack("<HHBB", data[7:13])
        if count != 1 or options & 1:
            raise Failed
        number = next(number for number in range(1, 256) if number not in self.channels)

        async def ask():
            try:
                channel = await connection.create_l2cap_channel(l2cap.LeCreditBasedChannelSpec(psm=psm, mtu=mtu, mps=max(23, min(mtu, 247))))
            except core.BaseBumbleError:
                self.event(L2CAP, 0x82, struct.pack("<HBH", 1, number, psm) + spelled(connection.peer_address))
            else:
                self.opened(channel, connection, psm)

        self.start(ask())
        return bytes([1, number])

    async def send_data(self, data):
        number, length = struct.unpack("<BH", data[:3])
        self.open_channel(number).write(bytes(data[3:3 + length]))

    async def close_channel(self, data):
        self.start(self.open_channel(data[0]).disconnect())

    def open_channel(self, number):
        if number not in self.channels:
            raise Failed
        return self.channels[number]


def gatt_service(client, start, end):
    from bumble.gatt_client import ServiceProxy
    return ServiceProxy(client, start, end, core.UUID.from_16_bits(0))


async def nothing(tester, data):
    return b""


def bits(numbers):
    octets = bytearray(max(numbers) // 8 + 1)
    for number in numbers:
        octets[number // 8] |= 1 << number % 8
    return bytes(octets)


async def supported(tester, service):
    return bits([opcode for place, opcode in COMMANDS if place == service])


COMMANDS = {
    (CORE, 1): lambda tester, data: supported(tester, CORE), (CORE, 2): lambda tester, data: _services(), (CORE, 3): nothing, (CORE, 4): nothing,
    (GAP, 1): lambda tester, data: supported(tester, GAP), (GAP, 2): lambda tester, data: _index(), (GAP, 3): UpperTester.information,
    (GAP, 6): lambda tester, data: _switched(tester, CONNECTABLE, data), (GAP, 8): UpperTester.set_discoverable, (GAP, 9): UpperTester.set_bondable,
    (GAP, 0x0A): UpperTester.start_advertising, (GAP, 0x0B): UpperTester.stop_advertising, (GAP, 0x0C): UpperTester.start_discovery,
    (GAP, 0x0D): UpperTester.stop_discovery, (GAP, 0x0E): UpperTester.connect, (GAP, 0x0F): UpperTester.disconnect, (GAP, 0x10): UpperTester.set_io,
    (GAP, 0x11): UpperTester.pair, (GAP, 0x12): UpperTester.unpair, (GAP, 0x13): UpperTester.passkey, (GAP, 0x14): UpperTester.confirm,
    (GAP, 0x16): UpperTester.update, (GAP, 0x1B): UpperTester.set_mitm, (GAP, 0x1F): UpperTester.set_secure,
    (GATT, 1): lambda tester, data: supported(tester, GATT), (GATT, 2): UpperTester.add_service, (GATT, 3): UpperTester.add_characteristic,
    (GATT, 4): UpperTester.add_descriptor, (GATT, 5): UpperTester.add_include, (GATT, 6): UpperTester.set_value, (GATT, 7): UpperTester.start_server,
    (GATT, 8): UpperTester.reset_server, (GATT, 0x0A): UpperTester.exchange_mtu, (GATT, 0x0B): UpperTester.services,
    (GATT, 0x0C): UpperTester.services_by_uuid, (GATT, 0x0E): UpperTester.characteristics, (GATT, 0x0F): UpperTester.characteristics_by_uuid,
    (GATT, 0x10): UpperTester.descriptors, (GATT, 0x11): UpperTester.read, (GATT, 0x12): UpperTester.read_by_uuid, (GATT, 0x13): UpperTester.read_from,
    (GATT, 0x14): UpperTester.read_multiple, (GATT, 0x15): UpperTester.write_command, (GATT, 0x17): UpperTester.write,
    (GATT, 0x18): UpperTester.write_long,
    (GATT, 0x1A): lambda tester, data: tester.configure(data, 1), (GATT, 0x1B): lambda tester, data: tester.configure(data, 2),
    (L2CAP, 1): lambda tester, data: supported(tester, L2CAP), (L2CAP, 2): UpperTester.channel, (L2CAP, 3): UpperTester.close_channel,
    (L2CAP, 4): UpperTester.send_data, (L2CAP, 5): UpperTester.listen,
}


async def _services():
    return bits([CORE, GAP, GATT, L2CAP])


async def _index():
    return b"\1\0"


async def _switched(tester, bit, data):
    return tester.switch(bit, data[0] != 0)


async def main(controller, tester):
    async with await open_transport(f"tcp-client:{controller}") as transport:
        device = Device.with_hci("Bumble", Address(ADDRESS), transport.source, transport.sink)
        await device.power_on()
        reader, writer = await asyncio.open_unix_connection(tester)
        await UpperTester(device, reader, writer).serve()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
