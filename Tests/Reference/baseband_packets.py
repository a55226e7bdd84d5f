"""The BR/EDR packets of an air log, in the format LINKTYPE_BLUETOOTH_BREDR_BB."""

import struct
from dataclasses import dataclass
from fractions import Fraction

from baseband import TYPES, air_time, lsb_first
from pcapng_reader import packets

LINK_TYPE = 255
# The option with the bits of a packet on the air.
ON_AIR = 0x8001
# TYPE by logical transport and payload rate; NULL, POLL, FHS and DM1 are the same for all, and ACL in the log.
SCO, ESCO, ACL = 1, 2, 3
NAMES = {
    (ACL, 0): {0: "NULL", 1: "POLL", 2: "FHS", 3: "DM1", 4: "DH1", 9: "AUX1", 10: "DM3", 11: "DH3", 14: "DM5", 15: "DH5"},
    (ACL, 1): {4: "2-DH1", 10: "2-DH3", 14: "2-DH5"},
    (ACL, 2): {8: "3-DH1", 11: "3-DH3", 15: "3-DH5"},
    (SCO, 0): {5: "HV1", 6: "HV2", 7: "HV3"},
    (ESCO, 0): {7: "EV3", 12: "EV4", 13: "EV5"},
    (ESCO, 1): {6: "2-EV3", 12: "2-EV5"},
    (ESCO, 2): {7: "3-EV3", 13: "3-EV5"},
}
START, CONTINUATION, LINK_MANAGER = 2, 1, 3


def number(bits):
    """The number in a text of bits, the least significant first."""
    return int(bits[::-1], 2) if bits else 0


@dataclass
class Packet:
    number: int
    start: Fraction
    channel: int
    lap: int
    uap: int
    rate: int
    header: str
    payload: bytes
    is_id: bool
    on_air: bytes = None
    transport: int = ACL
    # As sent, or decrypted.
    is_decrypted: bool = False

    @classmethod
    def parse(cls, number_, time, record, options):
        channel, _, _, _, kind = struct.unpack_from("<BbbBB", record)
        lap, reference, header, flags = struct.unpack_from("<IIIH", record, 8)
        header, is_id = lsb_first(header, 18), not flags & 0x100
        return cls(number_, time, channel, lap & 0xFFFFFF, reference >> 24, kind & 15, header, record[22:], is_id, options.get(ON_AIR), kind >> 4, bool(flags & 8))

    @property
    def lt_addr(self):
        return number(self.header[:3])

    @property
    def name(self):
        return "ID" if self.is_id else NAMES.get((self.transport, self.rate), {}).get(number(self.header[3:7]), "?")

    @property
    def flow(self):
        return self.header[7] == "1"

    @property
    def arqn(self):
        return self.header[8] == "1"

    @property
    def seqn(self):
        return self.header[9] == "1"

    @property
    def body(self):
        """Without the CRC."""
        return self.payload[:-2] if self.name in TYPES and TYPES[self.name][5] else self.payload

    @property
    def logical_link(self):
        """LLID; None without a payload header."""
        return self.payload[0] & 3 if self.name in TYPES and TYPES[self.name][2] and self.payload else None

    @property
    def air_time(self):
        return 68 if self.is_id else air_time(self.name, len(self.body))


def read(path):
    """The BR/EDR packets of an air log."""
    for number_, (link_type, ticks, per_second, record, options) in enumerate(packets(path), 1):
        if link_type == LINK_TYPE:
            yield Packet.parse(number_, Fraction(ticks * 1_000_000, per_second), record, options)
