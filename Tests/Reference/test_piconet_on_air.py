"""Two dongles connect over BR/EDR and exchange data at full speed; their air log satisfies every rule of the rechecker, and the rate of each packet type."""

import contextlib
import re
import socket
import struct
import subprocess

import pytest

from baseband import TYPES
from piconet_check import SLOT, PiconetCheck, load, read
from test_throughput_agreement import bluebench

TIMEOUT = 20
ADDRESSES = re.compile(rb"127\.0\.0\.1:(\d+)")


@contextlib.contextmanager
def dongles(air, *options):
    command = [bluebench(), "dongle", "--tcp", "0", "--count", "2", "--profile", "dual", "--air", str(air), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        ports, text = [], b""
        while len(ports) < 2:
            line = server.stdout.readline()
            assert line, text.decode()
            text += line
            ports += [int(port) for port in ADDRESSES.findall(line)]
        hosts = [Host(port) for port in ports]
        try:
            yield hosts
        finally:
            for host in hosts:
                host.socket.close()
            server.terminate()
            server.wait(TIMEOUT)


class Host:
    """H4 over a socket, as far as a connection needs it."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
        self.octets, self.data, self.voice, self.credits = b"", [], [], 0

    def command(self, opcode, *parameters):
        octets = bytes(parameters)
        self.socket.sendall(struct.pack("<BHB", 1, opcode, len(octets)) + octets)
        code, answer = self.event(0x0E, 0x0F)
        assert (answer[3] if code == 0x0E else answer[0]) == 0, f"{opcode:04x}: {answer.hex()}"
        return answer[4:]

    def packet(self):
        while True:
            # By packet type: the offset of the length, and its size.
            before, width = {2: (3, 2), 3: (3, 1), 4: (2, 1)}[self.octets[0]] if self.octets else (0, 0)
            head = before + width
            if self.octets and len(self.octets) >= head:
                whole = head + int.from_bytes(self.octets[before:head], "little")
                if len(self.octets) >= whole:
                    return self._take(whole)
            received = self.socket.recv(65536)
            assert received, "the dongle has gone"
            self.octets += received

    def _take(self, count):
        taken, self.octets = self.octets[:count], self.octets[count:]
        if taken[0] == 2:
            self.data.append(taken[5:])
        elif taken[0] == 3:
            self.voice.append(taken[4:])
        return taken

    def event(self, *codes):
        """The next event of some codes, with its code and parameters; earlier data and credits are kept."""
        while True:
            packet = self.packet()
            if packet[0] == 4 and packet[1] == 0x13:
                self.credits += sum(struct.unpack_from("<HH", packet, 4 + 4 * row)[1] for row in range(packet[3]))
            if packet[0] == 4 and packet[1] in codes:
                return packet[1], packet[3:]

    def speak(self, handle, voice):
        self.socket.sendall(struct.pack("<BHB", 3, handle, len(voice)) + voice)

    def send(self, handle, payload):
        self.socket.sendall(struct.pack("<BHH", 2, handle, len(payload)) + payload)


def connect(hosts, packet_type):
    """The handles of a connection initiated by the first host."""
    for host in hosts:
        host.command(0x0C03)
        host.command(0x0C01, *bytes.fromhex("ffffffffffffff3f"))
    address = hosts[1].command(0x1009)[:6]
    # Continuously, so that a page succeeds despite lost packets.
    hosts[1].command(0x0C1C, *struct.pack("<HH", 0x0800, 0x0800))
    hosts[1].command(0x0C1A, 2)
    hosts[0].command(0x0405, *address, *struct.pack("<H", packet_type), 1, 0, 0, 0, 0)
    _, request = hosts[1].event(0x04)
    hosts[1].command(0x0409, *request[:6], 1)
    handles = []
    for host in hosts:
        _, complete = host.event(0x03)
        assert complete[0] == 0
        handles.append(struct.unpack_from("<H", complete, 1)[0])
    # Packets of three and five slots are negotiated after that.
    hosts[0].event(0x1B)
    return handles


@pytest.mark.parametrize(("packet_type", "name"), [(0x330E, "DM1"), (0xFF1E, "DH5"), (0xCC18, "3-DH5")])
def test_the_log_of_a_connection_keeps_the_rules(tmp_path, packet_type, name):
    air = tmp_path / "air.pcapng"
    sdu, count = TYPES[name][3], 24
    with dongles(air) as hosts:
        handles = connect(hosts, packet_type)
        for host, handle in zip(hosts, handles, strict=True):
            host.credits = 8
            for index in range(count):
                while not host.credits:
                    host.event(0x13)
                host.credits -= 1
                host.send(handle, bytes([index]) * sdu)
        for host, other in zip(hosts, reversed(hosts), strict=True):
            while sum(map(len, host.data)) < count * sdu:
                host.packet()
            assert b"".join(host.data) == b"".join(bytes([index]) * sdu for index in range(count)), other
        hosts[0].command(0x0406, *struct.pack("<H", handles[0]), 0x13)
        for host in hosts:
            host.event(0x05)
    check = load(air)
    assert check.violations == [] and check.pages >= 1
    assert check.decoded == sum(not packet.is_id for packet in read(air)) > 2 * count
    link = next(iter(check.piconets.values())).links[1]
    for side in link.directions.values():
        data = [time for time, body in side.deliveries if len(body) - TYPES[name][2] == sdu]
        assert len(data) == count and side.retransmissions == 0
        gaps = [later - earlier for earlier, later in zip(data, data[1:], strict=False)]
        assert min(gaps) in ((TYPES[name][1] + 1) * SLOT, 2 * TYPES[name][1] * SLOT)


@pytest.mark.parametrize(("octet", "bit", "rules"), [(0, 1, {"fec"}), (9, 0x40, {"fec"}), (9, 0x41, {"fec", "whitening"})], ids=["header", "payload", "two bits"])
def test_wrong_bits_in_the_log_are_found(tmp_path, octet, bit, rules):
    air = tmp_path / "air.pcapng"
    with dongles(air) as hosts:
        connect(hosts, 0x330E)
    packets = list(read(air))
    wrong = next(packet for packet in packets[::-1] if packet.name == "DM1")
    wrong.on_air = wrong.on_air[:octet] + bytes([wrong.on_air[octet] ^ bit]) + wrong.on_air[octet + 1 :]
    check = PiconetCheck()
    for packet in packets:
        check.feed(packet)
    assert {(fault["packet"], fault["rule"]) for fault in check.violations} == {(wrong.number, rule) for rule in rules}


def echo(hosts, handles, count=4):
    """Both send, and have received the other's data."""
    for host, handle in zip(hosts, handles, strict=True):
        host.data.clear()
        for index in range(count):
            host.send(handle, bytes([index]) * 27)
    for host in hosts:
        while sum(map(len, host.data)) < count * 27:
            host.packet()


def test_an_adapted_link_keeps_to_its_channels(tmp_path):
    air, channels = tmp_path / "air.pcapng", 0x7FFFFC00000000000000 | 0x1F
    with dongles(air) as hosts:
        handles = connect(hosts, 0xCC18)
        echo(hosts, handles)
        hosts[0].command(0x0C3F, *channels.to_bytes(10, "little"))
        for host, handle in zip(hosts, handles, strict=True):
            # Until the instant has passed the previous map is used.
            while host.command(0x1406, *struct.pack("<H", handle))[2:] != bytes([1]) + channels.to_bytes(10, "little"):
                pass
        for _ in range(10):
            echo(hosts, handles)
    check = load(air)
    assert check.violations == []
    link = next(iter(check.piconets.values())).links[1]
    assert [held for _, held in link.maps] == [channels] and link.adapted > 20


@pytest.mark.parametrize("asks", [0, 1], ids=["the central", "the peripheral"])
def test_a_role_switch_begins_another_piconet(tmp_path, asks):
    air = tmp_path / "air.pcapng"
    with dongles(air) as hosts:
        handles = connect(hosts, 0xCC18)
        addresses = [host.command(0x1009)[:6] for host in hosts]
        for host, handle in zip(hosts, handles, strict=True):
            host.command(0x080D, *struct.pack("<HH", handle, 1))
        echo(hosts, handles)
        hosts[asks].command(0x080B, *addresses[1 - asks], 1 - asks)
        for side, host in enumerate(hosts):
            assert host.event(0x12)[1] == b"\0" + addresses[1 - side] + bytes([1 - side])
        echo(hosts, handles)
    check = load(air)
    assert check.violations == [] and len(check.piconets) == 2
    assert [len(way.deliveries) >= 4 for piconet in check.piconets.values() for link in piconet.links.values() for way in link.directions.values()] == [True] * 4


@pytest.mark.parametrize(("attempt", "timeout"), [(1, 0), (4, 1), (2, 20)])
def test_a_link_in_sniff_mode_keeps_to_its_anchor_points(tmp_path, attempt, timeout):
    air, interval = tmp_path / "air.pcapng", 20
    with dongles(air) as hosts:
        assert hosts[0].command(0x1003)[0] & 0x80, "the controller does not claim sniff mode"
        handles = connect(hosts, 0xCC18)
        for host, handle in zip(hosts, handles, strict=True):
            host.command(0x080D, *struct.pack("<HH", handle, 4))
        echo(hosts, handles)
        hosts[0].command(0x0803, *struct.pack("<HHHHH", handles[0], interval, interval, attempt, timeout))
        for host in hosts:
            assert host.event(0x14)[1][3:] == struct.pack("<BH", 2, interval)
        for _ in range(15):
            echo(hosts, handles)
        hosts[1].command(0x0804, *struct.pack("<H", handles[1]))
        for host in hosts:
            assert host.event(0x14)[1][3] == 0
        echo(hosts, handles)
    check = load(air)
    assert check.violations == []
    link = next(iter(check.piconets.values())).links[1]
    assert link.anchors >= 1 and link.sniff is None


def test_answers_to_an_inquiry(tmp_path):
    """FHS packet and extended response use the whitening of the phase of the response, and the general inquiry LAP's default check initialization."""
    air = tmp_path / "air.pcapng"
    with dongles(air) as hosts:
        for host in hosts:
            host.command(0x0C03)
            host.command(0x0C01, *bytes.fromhex("ffffffffffffff3f"))
        hosts[0].command(0x0C45, 2)
        hosts[1].command(0x0C52, 0, *b"\x05\x09Name".ljust(240, b"\0"))
        hosts[1].command(0x0C1E, *struct.pack("<HH", 0x0800, 0x0800))
        hosts[1].command(0x0C1A, 1)
        hosts[0].command(0x0401, 0x33, 0x8B, 0x9E, 4, 1)
        assert hosts[0].event(0x2F)[1][15:21] == b"\x05\x09Name"
    check, answers = load(air), [packet for packet in read(air) if not packet.is_id]
    assert check.violations == [] and check.decoded == len(answers)
    assert answers[0].name == "FHS" and answers[1].name in ("DM1", "DH1") and answers[1].start - answers[0].start == 2 * SLOT
