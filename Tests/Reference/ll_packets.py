"""Link layer packets in LE_LL_WITH_PHDR records, with CRC and time on air."""

import struct
from dataclasses import dataclass

ADVERTISING_ACCESS_ADDRESS = 0x8E89BED6
ADVERTISING_CRC_INIT = 0x555555

DEWHITENED = 0x0001
CRC_CHECKED = 0x0400
CRC_VALID = 0x0800

CENTRAL, PERIPHERAL = "central", "peripheral"


def _reverse(value, bits):
    return int(format(value, f"0{bits}b")[::-1], 2)


def _crc_table():
    # x^24 + x^10 + x^9 + x^6 + x^4 + x^3 + x + 1, reflected because octets are sent least significant bit first.
    table = []
    for octet in range(256):
        state = octet
        for _ in range(8):
            state = state >> 1 ^ 0xDA6000 if state & 1 else state >> 1
        table.append(state)
    return table


_CRC_TABLE = _crc_table()
_KNOWN_CRC = {}


def crc24(pdu, init):
    """The three CRC octets in the order of transmission. Core Vol 6, Part B, 3.1.1."""
    short = len(pdu) <= 4
    if short and (pdu, init) in _KNOWN_CRC:
        return _KNOWN_CRC[pdu, init]
    state = _reverse(init, 24)
    for octet in pdu:
        state = state >> 8 ^ _CRC_TABLE[(state ^ octet) & 0xFF]
    result = state.to_bytes(3, "little")
    if short:
        _KNOWN_CRC[pdu, init] = result
    return result


def air_time(phy, pdu_octets):
    """Air time of a packet in microseconds, by the octets of its PDU with header and MIC."""
    if phy == "1m":
        return 8 * (1 + 4 + pdu_octets + 3)
    if phy == "2m":
        return 4 * (2 + 4 + pdu_octets + 3)
    bits = 8 * (pdu_octets + 3) + 3
    return 376 + bits * (8 if phy == "coded-s8" else 2)


def channel_of(rf_channel):
    """The channel index of a physical channel counted from 2402 MHz."""
    special = {0: 37, 12: 38, 39: 39}
    if rf_channel in special:
        return special[rf_channel]
    return rf_channel - 1 if rf_channel < 12 else rf_channel - 2


@dataclass
class Packet:
    number: int
    start: int
    phy: str
    channel: int
    access_address: int
    pdu: bytes
    crc: bytes
    flags: int
    end: int = 0
    clear: bytes = None

    def __post_init__(self):
        self.end = self.start + air_time(self.phy, len(self.pdu))

    @property
    def sender(self):
        """The sender of a data channel packet; None on advertising channels."""
        return {2: CENTRAL, 3: PERIPHERAL}.get(self.flags >> 7 & 7)

    @property
    def llid(self):
        return self.pdu[0] & 3

    @property
    def nesn(self):
        return self.pdu[0] >> 2 & 1

    @property
    def sn(self):
        return self.pdu[0] >> 3 & 1

    @property
    def md(self):
        return self.pdu[0] >> 4 & 1

    @property
    def payload(self):
        return self.pdu[2:]

    @property
    def advertising_type(self):
        return self.pdu[0] & 0x0F

    @property
    def auxiliary_offset(self):
        """The time in the AuxPtr of an extended advertising PDU in microseconds; None without AuxPtr. Core Vol 6, Part B, 2.3.4"""
        if self.pdu[1] < 2 or not self.pdu[2] & 0x3F or not self.pdu[3] >> 4 & 1:
            return None
        flags = self.pdu[3]
        at = 4 + 6 * (flags & 1) + 6 * (flags >> 1 & 1) + (flags >> 2 & 1) + 2 * (flags >> 3 & 1)
        unit = 300 if self.pdu[at] >> 7 else 30
        return (int.from_bytes(self.pdu[at + 1 : at + 3], "little") & 0x1FFF) * unit


def parse(number, time, record):
    """A packet from a record's octets: 10-octet pseudo header, access address, coding indicator on Coded, PDU, CRC."""
    rf_channel, _, _, _, _, flags = struct.unpack_from("<BBBBIH", record)
    access_address = struct.unpack_from("<I", record, 10)[0]
    at = 14
    kind = flags >> 14
    if kind == 2:
        phy = "coded-s2" if record[at] & 3 == 1 else "coded-s8"
        at += 1
    else:
        phy = "2m" if kind == 1 else "1m"
    end = at + 2 + record[at + 1]
    return Packet(number, time, phy, channel_of(rf_channel), access_address, record[at:end], record[end:], flags)
