"""`bluebench btp`: two of our hosts on one air, driven by a client of the protocol that shares nothing with the program."""

import contextlib
import struct

import pytest

from btp_client import CORE, GAP, GATT, GATT_CLIENT, L2CAP, Listener, Refused
from support import Process, bluebench, dongles

VALUE = bytes(range(30))


@contextlib.contextmanager
def served(port):
    listener = Listener()
    with Process(bluebench(), "btp", f"tcp:127.0.0.1:{port}", "--btp", listener.address) as process:
        client = listener.accept()
        try:
            assert client.event(CORE, 0x80) == b""
            yield client
        finally:
            client.close()
            assert process.wait() == 0, process.text


@pytest.fixture
def pair():
    """A central and a peripheral."""
    with dongles(2) as ports, served(ports[0]) as central, served(ports[1]) as peripheral:
        for client in (central, peripheral):
            client.register(GAP, GATT, L2CAP)
        yield central, peripheral


def uuid(short):
    return b"\x02" + struct.pack("<H", short)


def connect(central, peripheral):
    assert struct.unpack("<I", peripheral.command(GAP, 6, b"\x01"))[0] & 1 << 1
    assert struct.unpack("<I", peripheral.command(GAP, 8, b"\x01"))[0] & 1 << 3
    name = b"bench"
    advertising = bytes([9, len(name)]) + name
    settings = peripheral.command(GAP, 0x0A, bytes([len(advertising), 0]) + advertising + b"\xff\xff\xff\xff\x00")
    assert struct.unpack("<I", settings)[0] & 1 << 10
    there = peripheral.address()
    central.command(GAP, 0x0C, b"\x09")
    while True:
        found = central.event(GAP, 0x81)
        if found[:7] == there and found[8] & 2:
            break
    assert b"\x06\x09bench" in found and struct.unpack_from("<H", found, 9)[0] == len(found) - 11
    central.command(GAP, 0x0D)
    central.command(GAP, 0x0E, there + b"\x00")
    assert central.event(GAP, 0x82)[:7] == there
    here = peripheral.event(GAP, 0x82)[:7]
    assert not struct.unpack("<I", peripheral.event(GAP, 0x80))[0] & 1 << 10, "a connection ends advertising"
    assert here == central.address()
    return there, here


def test_core_tells_of_services_and_refuses_nonsense():
    with dongles(1) as ports, served(ports[0]) as client:
        assert client.command(CORE, 2)[0] & 0x0F == 0x0F
        assert client.command(CORE, 1) == b"\x1e"
        for service, opcode, data, index, reason in [
                (GAP, 6, b"\x01", 0, 2), (CORE, 3, b"\x00", None, 1), (CORE, 3, b"\x77", None, 1), (CORE, 0x55, b"", None, 2)]:
            with pytest.raises(Refused) as refused:
                client.command(service, opcode, data, index)
            assert refused.value.reason == reason
        client.register(GAP)
        for opcode, data, index, reason in [(6, b"\x01", 3, 4), (6, b"", 0, 1), (6, b"\x01\x01", 0, 1), (0x7F, b"", 0, 2)]:
            with pytest.raises(Refused) as refused:
                client.command(GAP, opcode, data, index)
            assert refused.value.reason == reason
        # A command in three pieces.
        for piece in (b"\x01", b"\x02\xff\x00", b"\x00"):
            client.send(piece)
        assert client.receive() == (GAP, 2, 0xFF, b"\x01\x00")


def test_gatt_between_two_servers(pair):
    central, peripheral = pair
    service = struct.unpack("<H", peripheral.command(GATT, 2, b"\x00" + uuid(0xB1B0)))[0]
    declaration = struct.unpack("<H", peripheral.command(GATT, 3, struct.pack("<HBB", service, 0x1A, 0x03) + uuid(0xB1B1)))[0]
    peripheral.command(GATT, 6, struct.pack("<HH", 0, len(VALUE)) + VALUE)
    peripheral.command(GATT, 7)
    there, here = connect(central, peripheral)
    central.command(GATT, 0x0A, there)
    found = central.command(GATT, 0x0C, there + uuid(0xB1B0))
    count, start, end = struct.unpack_from("<BHH", found)
    assert (count, start, found[5:]) == (1, service, uuid(0xB1B0))
    rows = central.command(GATT, 0x0E, there + struct.pack("<HH", start, end))
    assert rows == struct.pack("<BHHB", 1, declaration, declaration + 1, 0x1A) + uuid(0xB1B1)
    handle = struct.pack("<H", declaration + 1)
    assert central.command(GATT, 0x11, there + handle) == struct.pack("<BH", 0, len(VALUE)) + VALUE
    assert central.command(GATT, 0x11, there + b"\xff\xfe") == b"\x01\x00\x00", "Invalid Handle is part of a normal response"
    assert central.command(GATT, 0x17, there + handle + b"\x03\x00abc") == b"\x00"
    assert peripheral.event(GATT, 0x81) == handle + b"\x03\x00abc"
    descriptors = central.command(GATT, 0x10, there + struct.pack("<HH", declaration + 2, end))
    assert descriptors == struct.pack("<BH", 1, declaration + 2) + uuid(0x2902)
    central.command(GATT, 0x1A, there + b"\x01" + struct.pack("<H", declaration + 2))
    peripheral.command(GATT, 6, handle + b"\x02\x00ok")
    assert central.event(GATT, 0x80) == there + b"\x01" + handle + b"\x02\x00ok"
    peripheral.command(GAP, 0x0F, here)
    assert central.event(GAP, 0x83) == there


def test_reads_are_under_way_at_a_time(pair):
    """Service 6 answers a command at once; an event has the value, and each of several values its length."""
    central, peripheral = pair
    central.register(GATT_CLIENT)
    service = struct.unpack("<H", peripheral.command(GATT, 2, b"\x00" + uuid(0xB1B0)))[0]
    declaration = struct.unpack("<H", peripheral.command(GATT, 3, struct.pack("<HBB", service, 0x02, 0x01) + uuid(0xB1B1)))[0]
    peripheral.command(GATT, 6, struct.pack("<HH", 0, 3) + b"abc")
    peripheral.command(GATT, 7)
    there, _ = connect(central, peripheral)
    handle = struct.pack("<H", declaration + 1)
    assert central.command(GATT_CLIENT, 0x09, there + handle) == b""
    assert central.command(GATT_CLIENT, 0x14, there + b"\x02" + 2 * handle) == b""
    assert central.event(GATT_CLIENT, 0x87) == there + b"\x00\x03\x00abc"
    assert central.event(GATT_CLIENT, 0x91) == there + b"\x00\x0a\x00" + 2 * b"\x03\x00abc"
    assert central.command(GATT, 0x20, there + b"\x02" + 2 * handle) == b"\x00\x0a\x00" + 2 * b"\x03\x00abc"


@pytest.mark.parametrize("io, event, level", [((3, 3), None, 1), ((1, 1), 0x86, 3), ((2, 0), 0x85, 3)])
def test_pairing_with_answers_of_the_user(pair, io, event, level):
    central, peripheral = pair
    for client, capability in zip(pair, io):
        client.command(GAP, 0x10, bytes([capability]))
    there, here = connect(central, peripheral)
    central.command(GAP, 0x11, there)
    if event == 0x86:
        numbers = [central.event(GAP, 0x86), peripheral.event(GAP, 0x86)]
        assert numbers[0][7:] == numbers[1][7:]
        central.command(GAP, 0x14, there + b"\x01")
        peripheral.command(GAP, 0x14, here + b"\x01")
    elif event == 0x85:
        shown = peripheral.event(GAP, 0x84)
        assert central.event(GAP, 0x85) == there
        central.command(GAP, 0x13, there + shown[7:])
    assert central.event(GAP, 0x89) == there + bytes([level])
    assert peripheral.event(GAP, 0x89) == here + bytes([level])


def test_a_channel_carries_sdus(pair):
    central, peripheral = pair
    there, here = connect(central, peripheral)
    peripheral.command(L2CAP, 5, struct.pack("<HBHH", 0x80, 1, 200, 0))
    channel = central.command(L2CAP, 2, there + struct.pack("<HHBB", 0x80, 300, 1, 0))
    assert channel[0] == 1 and len(channel) == 2
    opened, accepted = central.event(L2CAP, 0x81), peripheral.event(L2CAP, 0x81)
    assert struct.unpack_from("<BHH", opened) == (channel[1], 0x80, 200) and opened[-7:] == there
    assert struct.unpack_from("<BHH", accepted) == (accepted[0], 0x80, 300) and accepted[-7:] == here
    sdu = bytes(200)
    central.command(L2CAP, 4, channel[1:] + struct.pack("<H", len(sdu)) + sdu)
    assert peripheral.event(L2CAP, 0x83) == accepted[:1] + struct.pack("<H", len(sdu)) + sdu
    with pytest.raises(Refused):
        central.command(L2CAP, 4, channel[1:] + struct.pack("<H", 201) + bytes(201))
    central.command(L2CAP, 3, channel[1:])
    assert central.event(L2CAP, 0x82)[2:3] == channel[1:]
    assert peripheral.event(L2CAP, 0x82)[2:3] == accepted[:1]
