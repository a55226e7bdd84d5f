"""Writes air logs for the tests of the rechecker: a connection that satisfies the rules, or deliberately violates one."""

import struct

from channel_selection import select_1, select_2
from greedy_packer import air_time_us
from ll_packets import ADVERTISING_ACCESS_ADDRESS, ADVERTISING_CRC_INIT, crc24

CENTRAL_ADDRESS = bytes.fromhex("c1c2c3c4c5c6")
PERIPHERAL_ADDRESS = bytes.fromhex("a1a2a3a4a5a6")
ACCESS_ADDRESS = 0x50655D9A
CRC_INIT = 0x123456
PHY_BIT = {"1m": 1, "2m": 2, "coded-s2": 4, "coded-s8": 4}
ALL_CHANNELS = (1 << 37) - 1


class Recorder:
    """Collects packets and writes them as pcapng."""

    def __init__(self):
        self.records = []

    def add(self, start, phy, channel, access_address, crc_init, pdu, kind=0, spoil_crc=False):
        physical = {37: 0, 38: 12, 39: 39}.get(channel, channel + 1 if channel < 11 else channel + 2)
        phy_flag = {"1m": 0, "2m": 1}.get(phy, 2)
        flags = 0x0C01 | kind << 7 | phy_flag << 14
        coding = {"coded-s8": b"\x00", "coded-s2": b"\x01"}.get(phy, b"")
        crc = crc24(pdu, crc_init)
        if spoil_crc:
            crc = bytes((crc[0] ^ 1, crc[1], crc[2]))
        header = struct.pack("<BbbBIH", physical, -40, -100, 0, access_address, flags)
        self.records.append((start, header + struct.pack("<I", access_address) + coding + pdu + crc))

    def write(self, path):
        def block(kind, body):
            body += bytes(-len(body) % 4)
            length = len(body) + 12
            return struct.pack("<II", kind, length) + body + struct.pack("<I", length)

        with open(path, "wb") as file:
            file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
            file.write(block(1, struct.pack("<HHI", 256, 0, 0)))
            for time, octets in sorted(self.records, key=lambda record: record[0]):
                file.write(block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(octets), len(octets)) + octets))


class Link:
    """A connection whose peripheral sends notifications of `mtu` octets without end, one LL control procedure of each kind on the way.

    Faults: `ifs`, `crc`, `overtime`, `hop`, `anchor`, `sn`, `nesn`, `phy`, `length`, `window`, `map`, `long`, `restrict`, `times`, `symmetry`, `lost`.
    The peripheral does not answer in the events of `sleeps`.
    """

    def __init__(self, later_phy="2m", interval=15000, mtu=247, octets=251, algorithm=2, fault=None, updates=True, latency=0, sleeps=()):
        self.out = Recorder()
        self.phy, self.later_phy, self.updates = "1m", later_phy, updates
        self.interval, self.mtu, self.octets, self.algorithm, self.fault = interval, mtu, octets, algorithm, fault
        self.channel_map, self.hop = ALL_CHANNELS, 7
        self.sn = {2: 0, 3: 0}
        self.next_expected = {2: 0, 3: 0}
        self.rest, self.is_start = b"", True
        self.latency, self.sleeps = latency, sleeps
        self.control = {}
        self.delivered = 0
        self.agreed = 27

    def run(self, events):
        anchor = self._connect()
        if self.updates:
            self.control[1] = [b"\x08" + (1 << 11).to_bytes(8, "little")]
            self.control[2] = [b"\x14" + struct.pack("<HHHH", 251, 17040, 251, 17040)]
            self.control[5] = [b"\x01" + (ALL_CHANNELS & ~0xFF00).to_bytes(5, "little") + struct.pack("<H", 12)]
            self.control[14] = [b"\x00" + struct.pack("<BHHHHH", 2, 1, self.interval // 625, self.latency, 200, 22)]
            back = PHY_BIT[self.later_phy] if self.fault != "symmetry" else 0
            self.control[24] = [b"\x16" + bytes((3, 3))]
            self.control[25] = [b"\x18" + struct.pack("<BBH", PHY_BIT[self.later_phy], back, 33)]
        for counter in range(events if self.fault != "lost" else 22):
            if self.updates and counter == 12 and self.fault != "map":
                self.channel_map &= ~0xFF00
            if self.updates and counter == 22:
                anchor += 1250 + (0 if self.fault != "window" else 2 * 1250 + 1)
                self.interval *= 2
            if self.updates and counter == 33 and self.fault != "phy":
                self.phy = self.later_phy
            self._event(counter, anchor + (3 if self.fault == "anchor" and counter == 9 else 0))
            anchor += self.interval
        # Another device continues.
        adv = bytes((0x00, 6)) + PERIPHERAL_ADDRESS
        self.out.add(anchor + 10 * self.interval, "1m", 37, ADVERTISING_ACCESS_ADDRESS, ADVERTISING_CRC_INIT, adv)
        return self.out

    def _connect(self):
        # An ADV_IND that allows algorithm #2 and its CONNECT_IND; the transmit window starts 1.25 ms later and has one step.
        chsel = 0x20 if self.algorithm == 2 else 0
        adv = bytes((0x00 | chsel, 6)) + PERIPHERAL_ADDRESS
        self.out.add(1000, "1m", 37, ADVERTISING_ACCESS_ADDRESS, ADVERTISING_CRC_INIT, adv)
        start = 1000 + 8 * (8 + len(adv)) + 150
        data = struct.pack("<I", ACCESS_ADDRESS) + CRC_INIT.to_bytes(3, "little")
        data += struct.pack("<BHHHH", 1, 0, self.interval // 1250, self.latency, 100) + self.channel_map.to_bytes(5, "little") + bytes((self.hop,))
        pdu = bytes((0x05 | chsel, 34)) + CENTRAL_ADDRESS + PERIPHERAL_ADDRESS + data
        self.out.add(start, "1m", 37, ADVERTISING_ACCESS_ADDRESS, ADVERTISING_CRC_INIT, pdu)
        return start + 8 * (8 + len(pdu)) + 1250 + 400

    def _channel(self, counter):
        if self.fault == "hop" and counter == 6:
            counter += 1
        if self.algorithm == 1:
            return select_1(counter, self.hop, self.channel_map)
        return select_2(counter, ACCESS_ADDRESS, self.channel_map)

    def _send(self, side, start, channel, llid, payload, more, spoil=False):
        sn = self.sn[side] ^ (self.fault == "sn" and side == 3 and self.delivered == 5)
        nesn = self.next_expected[side] ^ (self.fault == "nesn" and side == 2 and self.delivered == 5)
        self.out.add(
            start, self.phy, channel, ACCESS_ADDRESS, CRC_INIT, bytes((llid | nesn << 2 | sn << 3 | more << 4, len(payload))) + payload, side, spoil
        )
        self.sn[side] ^= 1
        self.next_expected[5 - side] ^= 1
        return start + air_time_us(self.phy, len(payload))

    def _fragment(self, counter):
        if not self.rest:
            self.rest, self.is_start = struct.pack("<HH", self.mtu, 4) + b"\x1b\x10\x00" + bytes(self.mtu - 3), True
        size = self.octets if self.fault == "length" else self.agreed
        # Retransmissions on LE Coded must fit: beside the central's longest packet, 17,040 us, and at least 2,704 us.
        if self.later_phy.startswith("coded") and counter >= (33 if self.fault == "restrict" else 24) and self.fault != "long" and self.updates:
            while air_time_us(self.later_phy, size) > max(2704, self.interval - 300 - 17040):
                size -= 1
        return 2 if self.is_start else 1, self.rest[:size]

    def _event(self, counter, anchor):
        clock, exchanges, overtime = anchor, 0, self.fault == "overtime" and counter == 8
        while True:
            if counter in self.sleeps:
                pdu = bytes((1 | self.next_expected[2] << 2 | self.sn[2] << 3, 0))
                self.out.add(anchor, self.phy, self._channel(counter), ACCESS_ADDRESS, CRC_INIT, pdu, 2)
                return
            control = self.control.get(counter, [])
            request = control.pop(0) if control else b""
            llid, payload = self._fragment(counter)
            if request[:1] == b"\x14":
                llid, payload = 3, b"\x15" + struct.pack("<HHHH", 251, 17040, 251, 17040)
            elif request[:1] == b"\x08":
                llid, payload = 3, b"\x09" + (0 if self.fault == "times" else 1 << 11).to_bytes(8, "little")
            elif request[:1] == b"\x16":
                llid, payload = 3, b"\x17" + bytes((PHY_BIT[self.later_phy],) * 2)
            length = air_time_us(self.phy, len(request)) + air_time_us(self.phy, len(payload)) + 300
            if exchanges and clock + length > anchor + self.interval:
                if not overtime:
                    return
                overtime = False
            channel = self._channel(counter)
            end = self._send(2, clock, channel, 3 if request else 1, request, 0)
            gap = 151 if self.fault == "ifs" and (counter, exchanges) == (7, 1) else 150
            end = self._send(3, end + gap, channel, llid, payload, 1, self.fault == "crc" and (counter, exchanges) == (7, 0))
            if llid == 3:
                if payload[0] == 0x15:
                    self.agreed = self.octets
            else:
                self.rest, self.is_start = self.rest[len(payload) :], False
                self.delivered += not self.rest
            clock = end + 150
            exchanges += 1
