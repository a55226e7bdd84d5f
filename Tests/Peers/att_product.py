"""A product on the attribute server of att_server.py, with Bumble below ATT: `att_product.py HOST:PORT|virtual:HOST:PORT [CHANGE [BONDS]]`.

CHANGE is a row of att_changes.py: one defect, or one legal behaviour; empty for none. BONDS is a file that keeps the bonds when the product is off.
"""

import asyncio
import sys

from bumble import smp
from bumble.core import AdvertisingData
from bumble.device import Device, DeviceConfiguration
from bumble.hci import Address, OwnAddressType
from bumble.keys import JsonKeyStore, MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate

from att_server import (
    AUTHENTICATED, BASE, CHARACTERISTIC, CLIENT_FEATURES, COMMAND, CONFIGURATION, DATABASE_HASH, DESCRIPTION, ENCRYPTED, EXTENDED,
    EXTENDED_PROPERTIES, INCLUDE, INDICATE, LONG_KEY, NOTIFY, PRIMARY, READ, SECONDARY, SERVICE_CHANGED, SIGNED, WRITE, Attribute, Link, Server,
    short,
)
from peripheral import advertise_again, expect_a_tester, open_controller, run

ADDRESS, NAME = "C2:B1:BE:00:00:0C", "Tally 4"
CID = 4
KEYS = PairingDelegate.KeyDistribution
GIVEN = KEYS.DISTRIBUTE_ENCRYPTION_KEY | KEYS.DISTRIBUTE_IDENTITY_KEY

# The product's own characteristics: 128-bit UUIDs that differ in two octets.
TEXT, TABLE, SMALL, CONTROL, SECRET, LONG_SECRET, LOCK, OPERATOR, STRONG, PRIVATE, COUNTER, SIGNED_VALUE, HIDDEN, COMMANDED, COMMON, MODULE = range(1, 17)


def own(number):
    return bytes.fromhex("0C5D2EB19A7F46E8813D") + bytes([0xC4, 0x07]) + short(number) + bytes([0x1A, 0x7A])


def text(uuid):
    digits = uuid[::-1].hex().upper()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def octets(count, seed):
    """Octets without a pattern that a wrong offset would repeat."""
    return bytes((seed + number * number * 7 + number * 13 + number // 5) % 251 for number in range(count))


class Database:
    """Puts attributes in order."""

    def __init__(self):
        self.rows, self.next = [], 1

    def add(self, type, value=b"", **more):
        attribute = Attribute(self.next, short(type) if isinstance(type, int) else type, value, **more)
        self.rows.append(attribute)
        self.next += 1
        return attribute

    def service(self, uuid, type=PRIMARY, skip=0):
        self.next += skip
        return self.add(type, short(uuid) if isinstance(uuid, int) else uuid)

    def characteristic(self, uuid, properties, value=b"", reads=0, writes=None, guard=None, **more):
        uuid = short(uuid) if isinstance(uuid, int) else uuid
        self.add(CHARACTERISTIC, bytes([properties]) + short(self.next + 1) + uuid)
        found = self.add(uuid, value, reads=reads if properties & READ else None, writes=writes, properties=properties, **more)
        if properties & (NOTIFY | INDICATE):
            found.configuration = self.add(CONFIGURATION, writes=guard or 0, of=found)
        return found

    def close(self):
        opens = [row for row in self.rows if row.is_of(PRIMARY) or row.is_of(SECONDARY)]
        for row, following in zip(opens, [*opens[1:], None]):
            row.end = (following.handle if following else self.next) - 1
        return self.rows


DECLARES = f"""declares:
  bonds: true
  readvertisesWithin: 10 s
  protects:
    - {{characteristic: "{text(own(SECRET))}", value: "31 32 33"}}
    - {{characteristic: "{text(own(LONG_SECRET))}"}}
    - {{characteristic: "{text(own(LOCK))}", value: "01"}}
    - {{characteristic: "{text(own(OPERATOR))}", needs: authentication}}
    - {{characteristic: "{text(own(STRONG))}", needs: longKey}}
    - {{characteristic: "{text(own(PRIVATE))}"}}
  changes: {{characteristic: "{text(own(MODULE))}", value: "01", undo: "00"}}
  sends:
    - {{characteristic: "2A19", within: 2 s}}
    - {{characteristic: "{text(own(COUNTER))}", within: 2 s}}
    - {{characteristic: "{text(own(CONTROL))}", within: 1 s, after: {{characteristic: "{text(own(CONTROL))}", value: "01"}}}}
"""


class Tally(Server):
    declares = DECLARES
    """What its maker declares."""
    tick = 1.0
    """Seconds between two values of what it sends."""
    pause = 0.01
    """Seconds from the write to Control to the first indication."""
    gap = 0
    """Handles that are left free before each service."""
    distribution = GIVEN
    interval = 20
    """The advertising interval in ms."""
    own_address_type = OwnAddressType.RANDOM
    address = ADDRESS
    largest_key = 16
    bonds_are_kept = True
    asks = False
    """True if it asks for security on a new connection, which a survey tells."""

    def __init__(self):
        self.database = Database()
        super().__init__([])
        self.attributes = self.layout(self.database).close()
        self.free = self.database.next
        for row in self.attributes:
            self.finish(row)

    def finish(self, attribute):
        """A change of single attributes."""

    def layout(self, db):
        db.service(0x1800)
        db.characteristic(0x2A00, READ, NAME.encode())
        db.characteristic(0x2A01, READ, b"\x00\x02")
        db.service(0x1801, skip=self.gap)
        self.changed = db.characteristic(SERVICE_CHANGED, INDICATE)
        db.characteristic(CLIENT_FEATURES, READ | WRITE, b"\0", writes=0, most=1, least=1)
        db.characteristic(DATABASE_HASH, READ)
        self.secondary = db.service(0x180A, SECONDARY, skip=self.gap)
        db.characteristic(0x2A29, READ, b"Maker of counting things")
        db.service(0x180F, skip=self.gap)
        self.level = db.characteristic(0x2A19, READ | NOTIFY, b"\x55")
        db.add(0x2904, bytes.fromhex("0400AD27010000"))
        main = db.service(own(0), skip=self.gap)
        db.add(INCLUDE, short(self.secondary.handle) + short(self.secondary.handle + 2) + short(0x180A))
        self.own_values(db)
        self.guarded_values(db)
        self.main = main
        return db

    def own_values(self, db):
        self.text = db.characteristic(own(TEXT), READ | WRITE | EXTENDED, b"eighteen octets ok", writes=0, most=60)
        db.add(EXTENDED_PROPERTIES, b"\x01\x00")
        db.add(DESCRIPTION, b"A label of the user's own choice, shown on the front")
        self.table = db.characteristic(own(TABLE), READ, octets(200, 3))
        self.small = db.characteristic(own(SMALL), READ | WRITE, b"\x2a\x17", writes=0, least=1, most=8)
        self.control = db.characteristic(own(CONTROL), WRITE | INDICATE, writes=0, least=1, most=4, on_write=self.act)
        self.counter = db.characteristic(own(COUNTER), NOTIFY | INDICATE, b"\x00")
        self.common = db.characteristic(own(COMMON), READ, octets(40, 9))
        db.characteristic(own(SIGNED_VALUE), READ | SIGNED, b"\x05")
        db.characteristic(own(HIDDEN), WRITE, writes=0, most=8)
        db.characteristic(own(MODULE), WRITE, writes=0, least=1, most=1, on_write=lambda link, value: link.later(0.1, lambda: self.plug(value[0])))
        self.commanded = db.characteristic(own(COMMANDED), READ | COMMAND, b"\x07\x08", writes=0, most=8)

    def guarded_values(self, db):
        self.secret = db.characteristic(own(SECRET), READ | WRITE | COMMAND, b"\x31\x32\x33", reads=ENCRYPTED, writes=ENCRYPTED, most=8)
        self.long_secret = db.characteristic(own(LONG_SECRET), READ, octets(70, 41), reads=ENCRYPTED)
        self.lock = db.characteristic(own(LOCK), WRITE, writes=ENCRYPTED, most=4)
        db.characteristic(own(OPERATOR), READ, b"\x61", reads=AUTHENTICATED)
        db.characteristic(own(STRONG), READ, b"\x62", reads=LONG_KEY)
        self.private = db.characteristic(own(PRIVATE), NOTIFY, b"\x0f", guard=ENCRYPTED)

    # A module with a service of its own

    def plug(self, is_there):
        plugged = [row for row in self.attributes if row.handle >= self.free]
        if is_there == bool(plugged):
            return
        if is_there:
            module = Database()
            module.next = self.free
            module.service(own(60))
            module.characteristic(own(61), READ, b"plugged in")
            plugged = module.close()
            self.attributes += plugged
        else:
            self.attributes = self.attributes[:-len(plugged)]
        self.database_changed(plugged[0].handle, plugged[-1].handle)

    # Below ATT

    def data(self):
        return structures((AdvertisingData.FLAGS, b"\x06"), (AdvertisingData.COMPLETE_LOCAL_NAME, NAME.encode()))

    def response(self):
        return b""

    def pause_before_advertising(self, connections):
        """Seconds from the end of a connection; None for ever."""
        return 0

    def prepare(self, device):
        """The product's own rule, before power on."""

    def met(self, device, connection, link):
        """The product's own rule, on a new connection."""

    async def advertise(self, device):
        await device.start_advertising(
            own_address_type=self.own_address_type, advertising_data=self.data(), scan_response_data=self.response(),
            advertising_interval_min=self.interval, advertising_interval_max=self.interval)

    def pairing(self):
        return PairingConfig(
            sc=True, mitm=False, bonding=self.bonds_are_kept,
            delegate=PairingDelegate(PairingDelegate.NO_OUTPUT_NO_INPUT, self.distribution, self.distribution, self.largest_key),
            identity_address_type=PairingConfig.AddressType.RANDOM)

    # What it sends

    def act(self, link, value):
        link.later(self.pause, lambda: [self.tell(link, self.control, b"\x10" + bytes([number]) + octets(28, number)) for number in range(2)])

    def opened(self, link):
        super().opened(link)
        self.ticked(link)

    def ticked(self, link):
        for attribute in self.sending():
            self.tell(link, attribute, attribute.value)
        if link.is_open:
            link.later(self.tick, lambda: self.ticked(link))

    def sending(self):
        return [self.level, self.private, self.counter]


def structures(*rows):
    return bytes(AdvertisingData(list(rows)))


def shorten_keys():
    """Bumble uses 16 octets of a key whatever was agreed; a key has the shorter of both sizes. Core Vol 3, Part H, 2.3.4."""
    def size(session):
        features = getattr(session, "preq", None), getattr(session, "pres", None)
        return min(octets[4] for octets in features) if all(features) else 16

    def shortened(name):
        def get(session):
            key = session.__dict__.get(name)
            return key if key is None else key[:size(session)].ljust(16, b"\0")
        return property(get, lambda session, key: session.__dict__.__setitem__(name, key))
    for name in ("ltk", "stk"):
        setattr(smp.Session, name, shortened(name))
    smp.Session.agreed_size = property(size)


async def serve(target, change="", bonds=None):
    from att_changes import product
    await offer(product(change), target, bonds)


async def offer(server, target, bonds=None, name=NAME):
    """Advertises a server, and serves one client after another."""
    transport = await open_controller(target)
    device = Device.from_config_with_hci(DeviceConfiguration(name=name, address=Address(server.address)), transport.source, transport.sink)
    device.pairing_config_factory = lambda _: server.pairing()
    shorten_keys()
    server.prepare(device)
    await device.power_on()
    device.keystore = JsonKeyStore("product", bonds) if bonds else MemoryKeyStore()
    links, sizes, ended, loop = {}, {}, asyncio.Queue(), asyncio.get_running_loop()

    def connected(connection):
        peer = str(connection.peer_address)
        link = Link(
            send=lambda pdu: connection.handle in links and device.send_l2cap_pdu(connection.handle, CID, pdu), later=loop.call_later,
            client=peer if peer in sizes else None)
        links[connection.handle] = link

        def encrypted():
            session = device.smp_manager.sessions.get(connection.handle)
            link.level = ENCRYPTED if connection.encryption else 0
            link.key_size = session.agreed_size if session else sizes.get(peer, 16)
            if link.level and link.client:
                server.secured(link)

        def paired(_):
            if server.bonds_are_kept:
                sizes[peer] = link.key_size
                link.client = peer

        def disconnected(reason):
            server.closed(links.pop(connection.handle))
            ended.put_nowait(reason)
        connection.on("connection_encryption_change", encrypted)
        connection.on("pairing", paired)
        connection.on("disconnection", disconnected)
        server.opened(link)
        server.met(device, connection, link)

    device.on(Device.EVENT_CONNECTION, connected)
    device.l2cap_channel_manager.register_fixed_channel(CID, lambda handle, pdu: handle in links and server.received(links[handle], bytes(pdu)))
    connections = 0

    async def advertise():
        nonlocal connections
        pause = server.pause_before_advertising(connections)
        connections += 1
        if pause is None:
            return
        over = asyncio.Event()
        loop.call_later(pause, over.set)
        await over.wait()
        await server.advertise(device)
    await advertise()
    expect_a_tester()
    print("advertising", flush=True)
    await advertise_again(transport, ended, advertise)


if __name__ == "__main__":
    run(serve, *sys.argv[1:])
