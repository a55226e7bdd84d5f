"""Rechecks an air log: CRC, hop sequence, T_IFS, anchor points, instants, SN and NESN, lengths, and goodput.

Shares nothing with the program that wrote the log: it starts from the octets of the file and from CONNECT_IND and AUX_CONNECT_REQ.
"""

import argparse
import json
import struct
import sys
from collections import deque

from connection_check import PHY_BITS, T_IFS, ConnectionCheck, Parameters
from decryption import read_keys
from ll_packets import ADVERTISING_ACCESS_ADDRESS, ADVERTISING_CRC_INIT, crc24, parse
from pcapng_reader import NotAnAirLog, read

ADV_TYPES_WITH_CHSEL = (0, 1)
CONNECT_REQUEST = 5
EXTENDED = 7
T_MAFS = 300
RESPONSES = {3: "SCAN_REQ", 5: "CONNECT_IND or AUX_CONNECT_REQ", 8: "AUX_CONNECT_RSP"}


class AirLog:
    """The transmissions of one simulated air."""

    def __init__(self, lossless=True, keys=None):
        self.lossless = lossless
        self.keys = keys or {}
        self.packets = 0
        self.end = 0
        self.connections = []
        self.violations = []
        self._current = {}
        self._chsel = {}
        self._recent = deque(maxlen=16)

    def feed(self, packet):
        self.packets += 1
        self.end = packet.end
        if packet.access_address == ADVERTISING_ACCESS_ADDRESS:
            self._advertising(packet)
        elif packet.access_address in self._current:
            self._current[packet.access_address].feed(packet)
        else:
            self._fault(packet, "access-address", f"access address {packet.access_address:08X} belongs to no connection of this log")

    def _fault(self, packet, rule, text):
        self.violations.append({"packet": packet.number, "time": packet.start, "rule": rule, "text": text})

    def _advertising(self, packet):
        if crc24(packet.pdu, ADVERTISING_CRC_INIT) != packet.crc:
            self._fault(packet, "crc", "CRC does not match the PDU")
        kind = packet.advertising_type
        if kind in RESPONSES:
            if not any(packet.start - before.end == T_IFS for before in self._recent if before.channel == packet.channel):
                self._fault(packet, "t-ifs", f"{RESPONSES[kind]} does not follow a packet of its channel by {T_IFS} us")
        if kind == EXTENDED:
            self._check_pointer(packet)
        self._recent.append(packet)
        if kind in ADV_TYPES_WITH_CHSEL and packet.channel >= 37:
            self._chsel[packet.pdu[2:8]] = packet.pdu[0] >> 5 & 1
        elif kind == CONNECT_REQUEST:
            self._connect(packet)

    def _check_pointer(self, packet):
        """An AuxPtr points beyond the packet and T_MAFS. 2.3.4.5"""
        offset = packet.auxiliary_offset
        if offset is not None and offset < packet.end - packet.start + T_MAFS:
            self._fault(packet, "aux-offset", f"Aux Offset of {offset} us, the packet and T_MAFS take {packet.end - packet.start + T_MAFS} us")

    def _connect(self, packet):
        data = packet.pdu[14:36]
        if len(data) < 22:
            self._fault(packet, "length", "connect request too short")
            return
        secondary = packet.channel < 37
        access_address = struct.unpack_from("<I", data)[0]
        crc_init = int.from_bytes(data[4:7], "little")
        size, offset, interval, latency, timeout = struct.unpack_from("<BHHHH", data, 7)
        if secondary:
            algorithm, delay = 2, 3750 if packet.phy.startswith("coded") else 2500
        else:
            both = self._chsel.get(packet.pdu[8:14], 0) and packet.pdu[0] >> 5 & 1
            algorithm, delay = 2 if both else 1, 1250
        opens = packet.end + delay + offset * 1250
        phy = next(names for names in PHY_BITS.values() if packet.phy in names)
        parameters = Parameters(
            access_address, crc_init, (opens, opens + size * 1250), interval * 1250,
            int.from_bytes(data[16:21], "little"), data[21] & 0x1F, algorithm, phy, latency, timeout * 10_000,
        )
        check = ConnectionCheck(parameters, self.lossless, tuple(self.keys.get(access_address, ())))
        self.connections.append(check)
        self._current[access_address] = check

    def finish(self):
        for connection in self.connections:
            connection.finish(self.end)

    def faults(self):
        """All violations in chronological order."""
        everything = list(self.violations)
        for connection in self.connections:
            everything += connection.violations
        return sorted(everything, key=lambda fault: (fault["time"], fault["packet"]))


def load(path, lossless=True, keys=None):
    log = AirLog(lossless, keys)
    for number, (time, record) in enumerate(read(path), 1):
        log.feed(parse(number, time, record))
    log.finish()
    return log


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--lossy", action="store_true", help="packets may have been lost on the air")
    parser.add_argument("--window", type=int, nargs=2, metavar=("BEGIN_US", "END_US"), help="the span whose goodput is wanted")
    parser.add_argument("--keylog", metavar="FILE", help="keys of encrypted links, as bluebench throughput --keylog writes them")
    chosen = parser.parse_args()
    try:
        log = load(chosen.file, not chosen.lossy, read_keys(chosen.keylog) if chosen.keylog else None)
    except (NotAnAirLog, OSError) as error:
        print(error, file=sys.stderr)
        return 3
    faults = log.faults()
    connections = []
    for check in log.connections:
        entry = {
            "access_address": f"{check.parameters.access_address:08X}",
            "events": check.events,
            "exchanges": check.exchanges,
            "retransmissions": sum(side.retransmissions for side in check.sides.values()),
            "delivered": len(check.deliveries),
            "decrypted": check.encryption.opened,
        }
        if chosen.window:
            entry["goodput_kbps"] = round(check.goodput_kbps(*chosen.window), 3)
        connections.append(entry)
    print(json.dumps({"packets": log.packets, "connections": connections, "violations": faults}, indent=1))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
