"""Status codes of a virtual controller for LE commands that are wrong or come at the wrong time, over a plain socket. Core Vol 4, Part E, 7.8."""

import socket
import struct

import pytest

from support import TIMEOUT

SUCCESS, UNKNOWN_CONNECTION, DISALLOWED, INVALID = 0x00, 0x02, 0x0C, 0x12
PEER, OTHER, KEY, ZEROS = bytes.fromhex("010203040506"), bytes.fromhex("060504030201"), bytes(range(16)), bytes(16)
ADD, PRIVACY_MODE, RESOLUTION = 0x2027, 0x204E, 0x202D


class Controller:
    """HCI over H4: one command at a time."""

    def __init__(self, port):
        self.pipe = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
        self.stream = self.pipe.makefile("rb")
        self.command(0x0C03)
        self.command(0x0C01, b"\xff" * 8)
        self.command(0x2001, b"\xff" * 5 + bytes(3))

    def event(self):
        kind, code, length = self.stream.read(3)
        assert kind == 4
        return code, self.stream.read(length)

    def command(self, opcode, parameters=b""):
        """Status in Command Complete or Command Status; LE meta events in between are dropped."""
        self.pipe.sendall(b"\x01" + struct.pack("<HB", opcode, len(parameters)) + parameters)
        while True:
            code, data = self.event()
            if code == 0x0E and data[1:3] == struct.pack("<H", opcode):
                return data[3]
            if code == 0x0F and data[2:4] == struct.pack("<H", opcode):
                return data[0]

    def completes(self, subevent):
        """Status in the LE meta event."""
        while True:
            code, data = self.event()
            if code == 0x3E and data[0] == subevent:
                return data[1]


def entry(kind, address, key=KEY):
    return bytes([kind]) + address + key + ZEROS


def advertising(own_type):
    return struct.pack("<HHBBB", 0xA0, 0xA0, 0, own_type, 0) + PEER + b"\x07\x00"


TABLES = {
    "resolving list": [
        (PRIVACY_MODE, b"\0" + PEER + b"\x01", UNKNOWN_CONNECTION), (RESOLUTION, b"\x02", INVALID), (ADD, entry(2, PEER), INVALID),
        (ADD, entry(0, PEER), SUCCESS), (ADD, entry(0, PEER), INVALID), (ADD, entry(0, OTHER), INVALID),
        # Neither public nor static: 0b01 resolvable, 0b00 non-resolvable. 7.8.38.
        (ADD, entry(1, PEER[:5] + b"\x46", ZEROS), INVALID), (ADD, entry(1, PEER[:5] + b"\x06", ZEROS), INVALID),
        (ADD, entry(1, PEER[:5] + b"\xc6", ZEROS), SUCCESS),
        (PRIVACY_MODE, b"\0" + PEER + b"\x02", INVALID), (PRIVACY_MODE, b"\0" + PEER + b"\x01", SUCCESS),
        (0x202E, b"\0\0", INVALID), (0x202E, b"\x11\x0e", INVALID),
    ],
    "keys": [(0x205E, b"\xff" * 64 + b"\x02", INVALID)],
    "handles": [
        (0x2019, b"\x40\0" + bytes(10) + KEY, UNKNOWN_CONNECTION), (0x201A, b"\x40\0" + KEY, UNKNOWN_CONNECTION),
        (0x201B, b"\x40\0", UNKNOWN_CONNECTION), (0x0C7C, b"\x40\0\x01\0", UNKNOWN_CONNECTION),
    ],
    "while advertising": [
        (ADD, entry(0, PEER), SUCCESS), (0x2006, advertising(0), SUCCESS), (RESOLUTION, b"\x01", SUCCESS), (0x200A, b"\x01", SUCCESS),
        (RESOLUTION, b"\0", DISALLOWED), (0x2029, b"", DISALLOWED), (ADD, entry(0, OTHER, bytes(15) + b"\x01"), DISALLOWED),
        (0x2006, advertising(0), DISALLOWED), (0x200A, b"\0", SUCCESS),
    ],
    "no address to advertise": [(0x2006, advertising(3), SUCCESS), (0x200A, b"\x01", INVALID)],
}


@pytest.mark.parametrize("name", TABLES)
def test_wrong_commands_get_their_status(ports, name):
    controller = Controller(ports[0])
    answers = [(hex(opcode), controller.command(opcode, parameters)) for opcode, parameters, _ in TABLES[name]]
    assert answers == [(hex(opcode), status) for opcode, _, status in TABLES[name]]


def test_a_shared_secret_wants_a_key_pair_and_a_point(ports):
    """LE_Generate_DHKey before the controller has a key pair, and with a point outside the curve. 7.8.37 and 7.7.65.9."""
    controller = Controller(ports[0])
    early = controller.command(0x2026, bytes(64))
    assert DISALLOWED in (early, early or controller.completes(0x09))
    assert controller.command(0x2025) == SUCCESS and controller.completes(0x08) == SUCCESS
    assert controller.command(0x2026, bytes(64)) == SUCCESS and controller.completes(0x09) == INVALID
