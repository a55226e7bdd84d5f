"""An attribute server of its own, from Core Vol 3, Parts F and G. It takes and gives octets; links, pairing and bonds are its caller's.

Each rule of the specification is one short method, so that a defect or another legal behaviour is the replacement of one method.
"""

import struct
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.cmac import CMAC

# Error codes, Core Vol 3, Part F, 3.4.1.1.
INVALID_HANDLE, NO_READ, NO_WRITE, INVALID_PDU, NO_AUTHENTICATION, NOT_SUPPORTED, INVALID_OFFSET = 1, 2, 3, 4, 5, 6, 7
QUEUE_FULL, NOT_FOUND, NOT_LONG, NO_KEY_SIZE, INVALID_LENGTH, UNLIKELY, NO_ENCRYPTION, NO_GROUP = 9, 10, 11, 12, 13, 14, 15, 16
OUT_OF_SYNC, NOT_ALLOWED = 0x12, 0x13
APPLICATION = 0x80
IMPROPER_CONFIGURATION = 0xFD

READ, COMMAND, WRITE, NOTIFY, INDICATE, SIGNED, EXTENDED = 2, 4, 8, 16, 32, 64, 128
ENCRYPTED, AUTHENTICATED, LONG_KEY = 1, 2, 3
PRIMARY, SECONDARY, INCLUDE, CHARACTERISTIC = 0x2800, 0x2801, 0x2802, 0x2803
EXTENDED_PROPERTIES, DESCRIPTION, CONFIGURATION = 0x2900, 0x2901, 0x2902
SERVICE_CHANGED, CLIENT_FEATURES, DATABASE_HASH = 0x2A05, 0x2B29, 0x2B2A
BASE = bytes.fromhex("FB349B5F8000008000100000")


def short(number):
    return struct.pack("<H", number)


def wide(uuid):
    """The UUID in 128 bits, as which all UUIDs are compared. Core Vol 3, Part B, 2.5.1."""
    return BASE + uuid + b"\0\0" if len(uuid) == 2 else uuid


class Refusal(Exception):
    def __init__(self, code, handle=None):
        super().__init__(code)
        self.code, self.handle = code, handle


@dataclass
class Attribute:
    handle: int
    type: bytes
    value: bytes = b""
    reads: int | None = 0
    writes: int | None = None
    """The security that an access needs: 0 none, or ENCRYPTED and above; None if it is not permitted."""
    properties: int = 0
    most: int = 512
    least: int = 0
    of: "Attribute | None" = None
    """The value to which a configuration belongs."""
    configuration: "Attribute | None" = None
    end: int = 0
    """The last handle of the group that a service declaration opens."""
    on_write: object = None

    def is_of(self, number):
        return self.type == short(number)


@dataclass
class Link:
    """A connection: the client's identity, the security, and what the server keeps for it."""
    send: object
    later: object
    mtu: int = 23
    level: int = 0
    key_size: int = 0
    client: object = None
    """The key of a bonded client, or None."""
    queue: list = field(default_factory=list)
    configurations: dict = field(default_factory=dict)
    features: bytes = b"\0"
    indications: list = field(default_factory=list)
    is_waiting: bool = False
    is_open: bool = True
    is_aware: bool = True
    was_refused: bool = False
    is_told: bool = False
    """True while an indication of Service Changed waits for its confirmation."""


class Server:
    queue_limit = 16
    largest_mtu = 185
    supports = frozenset((0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20))

    def __init__(self, attributes):
        self.attributes = attributes
        self.bonds = {}
        self.links = []
        self.changed = None
        """The value of Service Changed."""

    # Attributes

    def find(self, handle, first=1, last=0xFFFF):
        for attribute in self.attributes:
            if attribute.handle == handle:
                return attribute
        raise Refusal(INVALID_HANDLE, handle)

    def within(self, first, last):
        if first == 0 or first > last:
            raise Refusal(INVALID_HANDLE, first)
        return [attribute for attribute in self.attributes if first <= attribute.handle <= last]

    def value(self, link, attribute):
        if attribute.is_of(CONFIGURATION):
            return short(self.configuration(link, attribute))
        if attribute.is_of(CLIENT_FEATURES):
            return self.store(link)["features"]
        if attribute.is_of(DATABASE_HASH):
            return self.database_hash()
        return attribute.value

    def database_hash(self):
        """Core Vol 3, Part G, 7.3.1."""
        cmac = CMAC(AES(bytes(16)))
        cmac.update(self.hashed())
        return cmac.finalize()[::-1]

    def hashed(self):
        text = b""
        for attribute in self.attributes:
            number = int.from_bytes(attribute.type, "little")
            if number in (PRIMARY, SECONDARY, INCLUDE, CHARACTERISTIC, EXTENDED_PROPERTIES):
                text += short(attribute.handle) + attribute.type + attribute.value
            elif 0x2901 <= number <= 0x2905:
                text += short(attribute.handle) + attribute.type
        return text

    # Permissions

    def security_fault(self, link, level):
        """Core Vol 3, Part C, 10.3.1: without a key the answer is Insufficient Authentication, with one Insufficient Encryption."""
        if level and not link.level:
            return NO_ENCRYPTION if self.has_key(link) else NO_AUTHENTICATION
        if level == AUTHENTICATED and link.level < AUTHENTICATED:
            return NO_AUTHENTICATION
        if level == LONG_KEY and link.key_size < 16:
            return NO_KEY_SIZE
        return None

    def has_key(self, link):
        return link.client is not None

    def check_read(self, link, attribute):
        if attribute.reads is None:
            raise Refusal(NO_READ, attribute.handle)
        if fault := self.security_fault(link, attribute.reads):
            raise Refusal(fault, attribute.handle)

    def check_part(self, link, attribute):
        self.check_read(link, attribute)

    def check_by_type(self, link, attribute):
        self.check_read(link, attribute)

    def check_multiple(self, link, attribute):
        self.check_read(link, attribute)

    def check_write(self, link, attribute):
        if attribute.writes is None:
            raise Refusal(NO_WRITE, attribute.handle)
        if fault := self.security_fault(link, attribute.writes):
            raise Refusal(fault, attribute.handle)

    def check_prepare(self, link, attribute):
        self.check_write(link, attribute)

    def check_command(self, link, attribute):
        if not attribute.properties & COMMAND:
            raise Refusal(NO_WRITE, attribute.handle)
        self.check_write(link, attribute)

    # What is kept for a client

    def store(self, link):
        """The state of a bonded client outlives the link, that of others does not. Core Vol 3, Part G, 2.5.2, 3.3.3.3 and 7.2."""
        own = {"configurations": link.configurations, "features": link.features}
        return self.bonds.setdefault(link.client, own) if self.keeps(link) else self.own(link, own)

    def keeps(self, link):
        return link.client is not None and link.level > 0

    def own(self, link, state):
        return state

    def set_features(self, link, value):
        """Reserved bits are ignored."""
        value = bytes(octet & 0x07 if index == 0 else 0 for index, octet in enumerate(value))
        self.check_features(link, value)
        link.features = value
        self.store(link)["features"] = value

    def check_features(self, link, value):
        """A bit that was set stays set. Core Vol 3, Part G, 7.2."""
        if any(old & ~new for old, new in zip(self.store(link)["features"], value.ljust(1, b"\0"))):
            raise Refusal(NOT_ALLOWED)

    def configuration(self, link, attribute):
        return self.store(link)["configurations"].get(attribute.handle, 0)

    def set_configuration(self, link, attribute, value):
        self.store(link)["configurations"][attribute.handle] = value

    def configure(self, link, attribute, value):
        self.check_configuration_length(value)
        bits = int.from_bytes(value, "little")
        self.check_configuration(attribute, bits)
        self.set_configuration(link, attribute, bits)
        self.configured(link, attribute.of, bits)

    def check_configuration_length(self, value):
        if len(value) != 2:
            raise Refusal(INVALID_LENGTH)

    def check_configuration(self, attribute, bits):
        legal = (1 if attribute.of.properties & NOTIFY else 0) | (2 if attribute.of.properties & INDICATE else 0)
        if bits & ~legal:
            raise Refusal(NOT_ALLOWED)

    def configured(self, link, attribute, bits):
        """The product's own rule."""

    # Values that the server sends

    def wants(self, link, attribute):
        return self.configuration(link, attribute.configuration)

    def may_send(self, link, attribute):
        if attribute is not self.changed and self.is_out_of_sync(link):
            return False
        return not self.security_fault(link, attribute.configuration.writes)

    def tell(self, link, attribute, value):
        if not link.is_open or not self.may_send(link, attribute):
            return
        wanted = self.wants(link, attribute)
        if wanted & 1:
            self.notify(link, attribute, value)
        if wanted & 2:
            self.indicate(link, attribute, value)

    def notify(self, link, attribute, value):
        link.send(b"\x1b" + short(attribute.handle) + self.told(link, value))

    def told(self, link, value):
        return value[:link.mtu - 3]

    def indicate(self, link, attribute, value):
        """One indication at a time. Core Vol 3, Part F, 3.3.2."""
        if link.is_waiting:
            link.indications.append((attribute, value))
            return
        link.is_waiting = True
        link.send(b"\x1d" + short(attribute.handle) + self.told(link, value))

    def confirmed(self, link):
        if link.is_told:
            link.is_told, link.is_aware = False, True
        link.is_waiting = False
        if link.indications:
            self.indicate(link, *link.indications.pop(0))

    # Requests

    def received(self, link, pdu):
        if not pdu:
            return
        opcode = pdu[0]
        if opcode == 0x1E:
            return self.confirmed(link)
        if opcode & 0x40:
            return self.command(link, pdu)
        if opcode & 1:
            return None
        for answer in self.answers(link, pdu):
            link.send(answer)
        return None

    def answers(self, link, pdu):
        answer = self.answer(link, pdu)
        return [] if answer is None else [answer]

    def answer(self, link, pdu):
        opcode, body = pdu[0], pdu[1:]
        try:
            if opcode not in self.supports:
                raise Refusal(NOT_SUPPORTED, self.unsupported_handle(body))
            if opcode == 0x08 and body[4:] == short(DATABASE_HASH):
                self.reads_hash(link)
            elif opcode not in (0x02, 0x18) and (fault := self.awareness_fault(link)):
                raise Refusal(fault, self.first_handle(body))
            if len(pdu) > link.mtu:
                raise Refusal(INVALID_PDU)
            return self.handlers[opcode](self, link, body)
        except Refusal as refusal:
            return self.error(opcode, refusal.handle if refusal.handle is not None else self.first_handle(body, opcode), refusal.code)
        except (struct.error, IndexError):
            return self.error(opcode, 0, INVALID_PDU)

    def unsupported_handle(self, body):
        """0x0000, since no attribute is known. Core Vol 3, Part F, 3.4.1.1."""
        return 0

    def first_handle(self, body, opcode=0x0A):
        return int.from_bytes(body[:2], "little") if opcode in (0x04, 0x06, 0x08, 0x0A, 0x0C, 0x10, 0x12, 0x16) else 0

    def error(self, opcode, handle, code):
        return bytes([0x01, opcode]) + short(handle) + bytes([code])

    def is_out_of_sync(self, link):
        return not link.is_aware and self.is_robust(link)

    def is_robust(self, link):
        return bool(self.store(link)["features"][0] & 1)

    def awareness_fault(self, link):
        """Robust caching: a client that does not know of a change is told once. Core Vol 3, Part G, 2.5.2.1."""
        if not self.is_out_of_sync(link):
            return None
        if link.was_refused:
            link.is_aware = True
            return None
        link.was_refused = True
        return OUT_OF_SYNC

    def reads_hash(self, link):
        link.is_aware = True

    def database_changed(self, first, last):
        """Tells each client that has subscribed, at once or when it is back. Core Vol 3, Part G, 7.1."""
        value = self.change_value(first, last)
        present = {link.client for link in self.links if self.keeps(link)}
        for client in self.bonds:
            if client not in present:
                self.changed_while_away(client, value)
        for link in self.links:
            link.is_aware, link.was_refused = False, False
            self.tell_change(link, value)

    def change_value(self, first, last):
        return short(first) + short(last)

    def changed_while_away(self, client, value):
        self.bonds[client]["change"] = value

    def tell_change(self, link, value):
        if self.changed and self.wants(link, self.changed) & 2:
            link.is_told = True
            self.indicate(link, self.changed, value)

    def secured(self, link):
        """The link of a bonded client is encrypted."""
        if value := self.store(link).pop("change", None):
            link.is_aware, link.was_refused = False, False
            self.tell_change(link, value)

    def exchange_mtu(self, link, body):
        [theirs] = struct.unpack("<H", body)
        link.mtu = max(23, min(theirs, self.largest_mtu))
        return b"\x03" + short(self.largest_mtu)

    def find_information(self, link, body):
        first, last = struct.unpack("<HH", body)
        found = self.within(first, last)
        if not found:
            raise Refusal(NOT_FOUND)
        size = len(found[0].type)
        answer = b"\x05" + (b"\x01" if size == 2 else b"\x02")
        for attribute in found:
            if len(attribute.type) != size or len(answer) + 2 + size > link.mtu:
                break
            answer += short(attribute.handle) + attribute.type
        return answer

    def equals(self, mine, theirs):
        return mine == theirs

    def group_end(self, attribute):
        return attribute.end or attribute.handle

    def find_by_type_value(self, link, body):
        first, last = struct.unpack("<HH", body[:4])
        answer = b"\x07"
        for attribute in self.within(first, last):
            is_open = attribute.reads is not None and not self.security_fault(link, attribute.reads)
            if attribute.type == body[4:6] and is_open and self.equals(self.value(link, attribute), body[6:]) and len(answer) + 4 <= link.mtu:
                answer += short(attribute.handle) + short(self.group_end(attribute))
        if len(answer) == 1:
            raise Refusal(NOT_FOUND)
        return answer

    def type_of(self, octets):
        if len(octets) not in (2, 16):
            raise Refusal(INVALID_PDU)
        return wide(octets)

    def row_room(self, link):
        """The most octets of a value in a row. Core Vol 3, Part F, 3.4.4.2."""
        return min(link.mtu - 4, 253)

    def read_by_type(self, link, body):
        first, last = struct.unpack("<HH", body[:4])
        wanted, rows = self.type_of(body[4:]), []
        for attribute in self.within(first, last):
            if wide(attribute.type) != wanted:
                continue
            try:
                self.check_by_type(link, attribute)
            except Refusal:
                if rows:
                    break
                raise
            row = short(attribute.handle) + self.value(link, attribute)[:self.row_room(link)]
            if rows and len(row) != len(rows[0]) or 2 + len(row) * (len(rows) + 1) > link.mtu:
                break
            rows.append(row)
        if not rows:
            raise Refusal(NOT_FOUND)
        return b"\x09" + bytes([len(rows[0])]) + b"".join(rows)

    def read(self, link, body):
        attribute = self.find(*struct.unpack("<H", body))
        self.check_read(link, attribute)
        return b"\x0b" + self.part(link, attribute, 0)[:link.mtu - 1]

    def part(self, link, attribute, offset):
        return self.value(link, attribute)[offset:]

    def check_offset(self, attribute, value, offset):
        if offset > len(value):
            raise Refusal(INVALID_OFFSET, attribute.handle)

    def read_blob(self, link, body):
        handle, offset = struct.unpack("<HH", body)
        attribute = self.find(handle)
        self.check_part(link, attribute)
        self.check_offset(attribute, self.value(link, attribute), offset)
        return b"\x0d" + self.part(link, attribute, offset)[:link.mtu - 1]

    def read_multiple(self, link, body):
        if len(body) < 4 or len(body) % 2:
            raise Refusal(INVALID_PDU, 0)
        answer = b"\x0f"
        for attribute in self.several(link, body):
            answer += self.value(link, attribute)
        return answer[:link.mtu]

    def several(self, link, body):
        attributes = [self.find(handle) for [handle] in struct.iter_unpack("<H", body)]
        for attribute in attributes:
            self.check_multiple(link, attribute)
        return attributes

    def read_multiple_variable(self, link, body):
        if len(body) < 4 or len(body) % 2:
            raise Refusal(INVALID_PDU, 0)
        answer = b"\x21"
        for attribute in self.several(link, body):
            value = self.value(link, attribute)
            answer += short(len(value)) + value
        return answer[:link.mtu]

    def read_by_group_type(self, link, body):
        first, last = struct.unpack("<HH", body[:4])
        wanted, rows = self.type_of(body[4:]), []
        found = self.within(first, last)
        if wanted not in (wide(short(PRIMARY)), wide(short(SECONDARY))):
            raise Refusal(NO_GROUP)
        for attribute in found:
            if wide(attribute.type) != wanted:
                continue
            row = short(attribute.handle) + short(self.group_end(attribute)) + attribute.value
            if rows and len(row) != len(rows[0]) or 2 + len(row) * (len(rows) + 1) > link.mtu:
                break
            rows.append(row)
        if not rows:
            raise Refusal(NOT_FOUND)
        return b"\x11" + bytes([len(rows[0])]) + b"".join(rows)

    # Writing

    def check_length(self, attribute, value):
        if not attribute.least <= len(value) <= attribute.most:
            raise Refusal(INVALID_LENGTH, attribute.handle)

    def put(self, link, attribute, value):
        if attribute.is_of(CONFIGURATION):
            return self.configure(link, attribute, value)
        self.check_length(attribute, value)
        if attribute.is_of(CLIENT_FEATURES):
            return self.set_features(link, value)
        attribute.value = self.written(attribute, value)
        if attribute.on_write:
            attribute.on_write(link, value)
        return None

    def written(self, attribute, value):
        return value

    def write(self, link, body):
        attribute = self.find(*struct.unpack("<H", body[:2]))
        self.check_write(link, attribute)
        self.put(link, attribute, body[2:])
        return b"\x13"

    def command(self, link, pdu):
        if self.is_out_of_sync(link):
            return
        if pdu[0] == 0x52:
            try:
                attribute = self.find(*struct.unpack("<H", pdu[1:3]))
                self.check_command(link, attribute)
                self.put(link, attribute, pdu[3:])
            except (Refusal, struct.error):
                return
        elif pdu[0] == 0xD2:
            self.signed(link, pdu)

    def signed(self, link, pdu):
        """Without a signing key of the client no signature is right."""

    def prepare_write(self, link, body):
        handle, offset = struct.unpack("<HH", body[:4])
        attribute = self.find(handle)
        self.check_prepare(link, attribute)
        if len(link.queue) >= self.queue_limit:
            raise Refusal(QUEUE_FULL, handle)
        self.queue_of(link).append((handle, offset, body[4:]))
        return b"\x17" + self.echo(handle, offset, body[4:])

    def queue_of(self, link):
        return link.queue

    def echo(self, handle, offset, part):
        return short(handle) + short(offset) + part

    def execute_write(self, link, body):
        [flags] = struct.unpack("<B", body)
        queue = self.queue_of(link)
        parts = list(queue)
        queue.clear()
        if flags == 1:
            self.execute(link, parts)
        elif flags == 0:
            self.cancelled(link, parts)
        else:
            raise Refusal(INVALID_PDU)
        return b"\x19"

    def cancelled(self, link, parts):
        pass

    def execute(self, link, parts):
        """All parts are checked before one is written. Core Vol 3, Part F, 3.4.6.3."""
        values = {}
        for handle, offset, part in parts:
            attribute = self.find(handle)
            whole = values.get(handle, b"" if offset == 0 else self.value(link, attribute))
            self.check_offset(attribute, whole, offset)
            values[handle] = self.joined(whole, offset, part)
            if not attribute.is_of(CONFIGURATION):
                self.check_length(attribute, values[handle])
        for handle, value in values.items():
            self.put(link, self.find(handle), value)

    def joined(self, whole, offset, part):
        return whole[:offset] + part

    # Links

    def opened(self, link):
        self.links.append(link)

    def closed(self, link):
        link.is_open = False
        link.queue.clear()
        self.links.remove(link)

    handlers = {
        0x02: lambda self, *rest: self.exchange_mtu(*rest), 0x04: lambda self, *rest: self.find_information(*rest),
        0x06: lambda self, *rest: self.find_by_type_value(*rest), 0x08: lambda self, *rest: self.read_by_type(*rest),
        0x0A: lambda self, *rest: self.read(*rest), 0x0C: lambda self, *rest: self.read_blob(*rest),
        0x0E: lambda self, *rest: self.read_multiple(*rest), 0x10: lambda self, *rest: self.read_by_group_type(*rest),
        0x12: lambda self, *rest: self.write(*rest), 0x16: lambda self, *rest: self.prepare_write(*rest),
        0x18: lambda self, *rest: self.execute_write(*rest), 0x20: lambda self, *rest: self.read_multiple_variable(*rest),
    }
