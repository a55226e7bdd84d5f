"""Rechecks the BR/EDR packets of an air log: pages, access code, HEC, CRC, FEC, whitening, hop sequence, slots, sniff anchors, lengths, SEQN and ARQN, and goodput.

Shares nothing with the program that wrote the log: it starts from the octets of the file and from the FHS packets that hand over a clock. Core Vol 2, Part B.
"""

import argparse
import json
import struct
import sys
from dataclasses import dataclass, field
from fractions import Fraction

from baseband import TYPES, adapted, basic, clock_register, crc, hec, kernel, octet_bits, phase_register, sync_word
from baseband_packets import CONTINUATION, LINK_MANAGER, START, number, read
from coded_bits import decode
from pcapng_reader import NotAnAirLog
from synchronous_check import SCO_NAMES, Transports

HALF_SLOT = Fraction(625, 2)
SLOT = 625
INQUIRY_LAPS = range(0x9E8B00, 0x9E8B40)
GENERAL_INQUIRY = 0x9E8B33
SET_AFH, SLOT_OFFSET, SNIFF, UNSNIFF, ACCEPTED = 60, 52, 23, 24, 3


@dataclass
class Sniff:
    """LMP_sniff_req: the slots in which the peripheral listens. Core Vol 2, Part B, 8.7, and Part C, 4.5.3.1."""

    interval: int
    offset: int
    attempt: int
    timeout: int
    # Bit 1 of the timing control flags: the most significant bit of the clock is inverted.
    inverts: bool
    agreed: int = 0

    @classmethod
    def parse(cls, data):
        flags, offset, interval, attempt, timeout = struct.unpack_from("<BHHHH", data)
        return cls(interval, offset, attempt, timeout, bool(flags & 2))

    def since_anchor(self, slot):
        return ((slot ^ 1 << 26 if self.inverts else slot) - self.offset) % self.interval

    def hears(self, slot, last):
        """True if the peripheral listens in a slot of its central; `last` is the first slot after the last packet on the link."""
        if slot < self.agreed + 2 * self.interval:
            return True
        after = self.since_anchor(slot)
        return after < 2 * self.attempt or last is not None and slot - last < 2 * self.timeout


@dataclass
class Direction:
    """The packets of one end of a link."""

    seqn: bool = False
    # The transmitted payload, and its plaintext.
    body: bytes = None
    clear: bytes = None
    acknowledged: bool = True
    packets: int = 0
    retransmissions: int = 0
    deliveries: list = field(default_factory=list)


class Link:
    def __init__(self, lt_addr):
        self.lt_addr = lt_addr
        self.directions = {"central": Direction(), "peripheral": Direction()}
        self.heard = False
        # Channel maps by the first slot in which they apply; None for the basic sequence.
        self.maps = []
        self.adapted = 0
        self.secrets = None
        self.asked_to_sniff = self.sniff = self.last_slot = None
        self.anchors, self.sniffs = 0, False
        self.transports = Transports()

    def at(self, slot):
        """The central sends in a slot; returns True if the peripheral can receive it there."""
        heard = self.sniff is None or self.sniff.hears(slot, self.last_slot)
        self.anchors += self.sniff is not None and self.sniff.since_anchor(slot) == 0
        return heard

    def manage(self, body, slot):
        """Sniff mode, SCO and eSCO from new LMP messages: established by LMP_accepted, and ended as soon as one side requests it."""
        if body[0] & 3 != LINK_MANAGER or len(body) < 2:
            return
        code, data = body[1] >> 1, body[2:]
        self.transports.manage(code, data, slot)
        if code == SNIFF and len(data) == 9:
            self.asked_to_sniff = Sniff.parse(data)
        elif code == UNSNIFF and not data:
            self.sniff = None
        elif code == ACCEPTED and data == bytes([SNIFF]) and self.asked_to_sniff:
            self.sniff, self.asked_to_sniff = self.asked_to_sniff, None
            self.sniff.agreed, self.sniffs = slot, True

    def channel_map(self, tick):
        return next((channels for slot, channels in reversed(self.maps) if tick >> 1 >= slot), None)

    def adapt(self, body):
        """LMP_set_AFH: the instant in slots, a flag for the map, and the map. Core Vol 2, Part C, 4.1.4."""
        if len(body) == 17 and body[0] & 3 == LINK_MANAGER and body[1] >> 1 == SET_AFH and body[6] < 2 and not body[16] & 0x80:
            channels = int.from_bytes(body[7:17], "little") if body[6] else None
            self.maps.append((int.from_bytes(body[2:6], "little"), channels))


class Piconet:
    """The start of a piconet by an FHS packet: address and clock of a central, and the links that join it."""

    def __init__(self, check, address, clock, start):
        self.check, self.address, self.lap, self.uap = check, address & 0xFFFFFFF, address & 0xFFFFFF, address >> 24 & 0xFF
        self.clock, self.start = clock, start
        self.links, self.asked = {}, None
        # The slot offset of the reporting device's piconet from the start of an even slot of this one. Core Vol 2, Part C, 4.1.4.4.
        self.slot_offset = 0

    def tick(self, time):
        return self.clock + (time - self.start) / HALF_SLOT

    def feed(self, packet):
        fault = self.check.fault
        if packet.is_id or packet.name == "?":
            return fault(packet, "type", f"{packet.name} with the access code of a piconet")
        tick = self.tick(packet.start)
        if tick.denominator != 1 or tick % 2:
            return fault(packet, "slot", f"starts {float(tick % 2)} ticks into a slot")
        self.check.decode(packet, clock_register(int(tick)))
        if hec(packet.header[:10], self.uap) != packet.header[10:]:
            return fault(packet, "hec", "HEC does not match the header")
        tick = int(tick) % (1 << 28)
        link, transport = self._addressee(packet, tick >> 1)
        if link is None:
            return fault(packet, "lt-addr", f"nobody has LT_ADDR {packet.lt_addr}")
        if transport:
            return self._voice(packet, tick, link, transport)
        own, other = ("peripheral", "central") if tick & 2 else ("central", "peripheral")
        self._acknowledge(packet, link, other)
        if link.secrets:
            packet.payload = link.secrets.open(packet.payload, own, tick)
        self._content(packet)
        if tick & 2:
            self._answer(packet, tick, link)
        else:
            self._expect_channel(packet, link, tick, tick)
            if packet.name == "NULL":
                fault(packet, "poll", "a central that neither polls nor sends")
            if not link.at(tick >> 1):
                fault(packet, "sniff", "the peripheral does not listen in this slot")
            self.asked = (packet.lt_addr, tick + 2 * TYPES[packet.name][1], tick)
            link.last_slot = (tick >> 1) + TYPES[packet.name][1]
            self._sequence(packet, link, "central")

    def _addressee(self, packet, slot):
        """The link, and the synchronous transport, of a packet."""
        link = self.links.get(packet.lt_addr)
        if link and packet.name not in SCO_NAMES:
            self._give_way(packet, slot)
            return link, None
        for one in [link] if link else self.links.values():
            if transport := one.transports.carrying(packet, slot):
                return one, transport
        return None, None

    def _give_way(self, packet, slot):
        """User data, with the slot of its answer, does not overlap slots that are reserved for voice. 8.6.2 and 8.6.3"""
        count = TYPES[packet.name][1] + (1 - slot % 2)
        if packet.logical_link in (START, CONTINUATION) and any(one.owns(slot, count) for link in self.links.values() for one in link.transports.made):
            self.check.fault(packet, "reserved", f"{packet.name} in slots that are reserved for voice")

    def _voice(self, packet, tick, link, transport):
        own = "peripheral" if tick & 2 else "central"
        if link.secrets:
            packet.payload = link.secrets.open(packet.payload, own, tick)
        self._content(packet)
        if link.secrets and packet.body:
            packet.payload = link.secrets.voice(packet.body, own, tick) + packet.payload[len(packet.body) :]
        asked = tick
        if own == "central":
            self.asked = (packet.lt_addr, tick + 2 * TYPES[packet.name][1], tick)
        else:
            # A peripheral sends in its reserved slots even if it has not received its central's packet.
            asked, self.asked = self.asked, None
            if asked and asked[:2] == (packet.lt_addr, tick):
                asked = asked[2]
            else:
                asked = tick - 2 * transport.slots("central")
                if transport.since(tick >> 1) != transport.slots("central"):
                    self.check.fault(packet, "slot", "a peripheral that was not addressed in the slot before")
        self._expect_channel(packet, link, tick, asked)
        for rule, text in transport.feed(packet, own, tick >> 1, self.check.loses):
            self.check.fault(packet, rule, text)

    def _answer(self, packet, tick, link):
        asked, self.asked = self.asked, None
        if asked is None or asked[:2] != (packet.lt_addr, tick):
            self.check.fault(packet, "slot", "a peripheral that was not addressed in the slot before")
            return
        self._expect_channel(packet, link, tick, asked[2])
        if packet.name == "POLL":
            self.check.fault(packet, "poll", "a peripheral does not poll")
        link.heard, link.last_slot = True, (tick >> 1) + TYPES[packet.name][1]
        self._sequence(packet, link, "peripheral")

    def _expect_channel(self, packet, link, tick, asked):
        """With a map the peripheral answers on the channel of the central's packet, which is a used one. 2.6.4.6"""
        channels = link.channel_map(asked)
        expected = adapted(asked, self.address, channels) if channels else basic(tick, self.address)
        link.adapted += channels is not None
        if packet.channel != expected:
            self.check.fault(packet, "hop", f"on channel {packet.channel}, due on {expected}")

    def _content(self, packet):
        _, slots, header, capacity, _, has_crc, _ = TYPES[packet.name]
        if packet.air_time > slots * SLOT:
            self.check.fault(packet, "length", f"{packet.air_time} us in {slots} slots")
        if not has_crc:
            return
        if crc(octet_bits(packet.body), self.uap) != octet_bits(packet.payload[-2:]):
            self.check.fault(packet, "crc", "CRC does not match the payload")
            return
        length = len(packet.body) if not header else int.from_bytes(packet.body[:header], "little") >> 3 & (31 if header == 1 else 1023)
        if length != len(packet.body) - header or length > capacity:
            self.check.fault(packet, "length", f"{len(packet.body) - header} octets of user data, the header says {length}")

    @staticmethod
    def _acknowledge(packet, link, other):
        """The other side's last packet is processed before this packet is sent, which may already be encrypted because of it."""
        receiver = link.directions[other]
        if packet.arqn and not receiver.acknowledged:
            receiver.acknowledged = True
            receiver.deliveries.append((packet.start, receiver.clear))
            if link.secrets and receiver.body[0] & 3 == LINK_MANAGER:
                link.secrets.taken(receiver.body[1:], other)

    def _sequence(self, packet, link, own):
        """A payload is sent with its SEQN until it is acknowledged; the next one has the inverse SEQN. 7.6"""
        sender = link.directions[own]
        if not TYPES[packet.name][5]:
            return
        sender.packets += 1
        if sender.acknowledged and (link.sniffs or self.check.loses) and (packet.seqn, packet.body) == (sender.seqn, sender.body):
            # The acknowledgement was lost, or sent when the peripheral no longer listened.
            sender.retransmissions += 1
        elif sender.acknowledged:
            if packet.seqn == sender.seqn:
                self.check.fault(packet, "seqn", "a new payload with the SEQN of the one before")
            sender.seqn, sender.body, sender.clear, sender.acknowledged = packet.seqn, packet.body, packet.body, False
            if link.secrets and (clear := link.secrets.unseal(packet.body, TYPES[packet.name][2], own)) is None:
                self.check.fault(packet, "mic", "the MIC does not match the data")
            elif link.secrets:
                sender.clear = clear
            link.manage(packet.body, int(self.tick(packet.start)) >> 1)
            if own == "central":
                link.adapt(packet.body)
            if len(packet.body) == 10 and packet.body[0] & 3 == LINK_MANAGER and packet.body[1] >> 1 == SLOT_OFFSET:
                self.slot_offset = int.from_bytes(packet.body[2:4], "little")
            if link.secrets and packet.body[0] & 3 == LINK_MANAGER and (wrong := link.secrets.sent(packet.body[1:], own)):
                self.check.fault(packet, "authentication", wrong)
        elif packet.seqn != sender.seqn:
            self.check.fault(packet, "seqn", "another SEQN before the payload was acknowledged")
        elif packet.body != sender.body:
            self.check.fault(packet, "seqn", "another payload with the same SEQN")
        else:
            sender.retransmissions += 1

    def goodput_kbps(self, lt_addr, own, begin, end):
        """The number of acknowledged L2CAP octets in a period."""
        octets = 0
        for time, body in self.links[lt_addr].directions[own].deliveries:
            if begin <= time < end and body[0] & 3 in (START, CONTINUATION):
                octets += len(body) - (1 if len(body) < 2 or body[0] >> 3 == len(body) - 1 else 2)
        return octets * 8000 / (end - begin)


class PiconetCheck:
    """`secrets` creates those of a link from the LAP of its central, or None; `loses` is True if the air loses packets, including acknowledgements."""

    def __init__(self, secrets=lambda lap: None, loses=False):
        self.secrets, self.loses = secrets, loses
        self.piconets, self.violations, self.recent, self.count, self.pages, self.decoded = {}, [], [], 0, 0, 0

    def fault(self, packet, rule, text):
        self.violations.append({"packet": packet.number, "time": float(packet.start), "rule": rule, "text": text})

    def decode(self, packet, register):
        """The bits on the air, corrected by FEC, agree with the header and the payload used by the other checks."""
        if packet.on_air is None or packet.name not in TYPES:
            return
        self.decoded += 1
        header, payload, faults = decode(packet.on_air, register, TYPES[packet.name][4], len(packet.payload))
        for text in faults:
            self.fault(packet, "fec", text)
        if (header, payload) != (packet.header, packet.payload):
            self.fault(packet, "whitening", "what is on the air is not the header and the payload of the log")

    def feed(self, packet):
        self.count += 1
        if packet.name == "FHS":
            self._fhs(packet)
        elif packet.lap in INQUIRY_LAPS and not packet.is_id:
            self._extended_response(packet)
        elif packet.lap in self.piconets and not packet.is_id:
            self.piconets[packet.lap].feed(packet)
        elif not packet.is_id:
            self.fault(packet, "access-code", f"access code of {packet.lap:06X} belongs to no piconet of this log")
        self.recent = [before for before in self.recent if packet.start - before.start <= 2 * SLOT] + [packet]

    def _register(self, packet):
        """Of a packet outside a piconet: its channel determines the phase, because the channels of a sequence are unique."""
        if packet.lt_addr and packet.lap in self.piconets:
            return clock_register(int(self.piconets[packet.lap].tick(packet.start)))
        is_inquiry = packet.lap in INQUIRY_LAPS
        address = GENERAL_INQUIRY if is_inquiry else packet.uap << 24 | packet.lap
        return next((phase_register(phase) for phase in range(32) if kernel(phase, int(is_inquiry), address) == packet.channel), None)

    def _extended_response(self, packet):
        if (register := self._register(packet)) is None:
            return self.fault(packet, "hop", "on a channel that no answer to an inquiry has")
        self.decode(packet, register)
        if hec(packet.header[:10], packet.uap) != packet.header[10:] or crc(octet_bits(packet.body), packet.uap) != octet_bits(packet.payload[-2:]):
            self.fault(packet, "crc", "HEC or CRC of an extended inquiry response does not match")

    def _fhs(self, packet):
        if register := self._register(packet):
            self.decode(packet, register)
        if hec(packet.header[:10], packet.uap) != packet.header[10:] or crc(octet_bits(packet.body), packet.uap) != octet_bits(packet.payload[-2:]):
            return self.fault(packet, "crc", "HEC or CRC of an FHS packet does not match")
        bits = octet_bits(packet.body)
        lap, address = number(bits[34:58]), number(bits[64:88]) << 24 | number(bits[34:58])
        if bits[:34] != sync_word(lap)[:34]:
            self.fault(packet, "access-code", "the parity bits of an FHS packet are not those of its LAP")
        if packet.lap in INQUIRY_LAPS:
            return
        self.pages += 1
        self._response(packet)
        clock, lt_addr = number(bits[115:141]) << 2, number(bits[112:115])
        # In a role switch the FHS packet is sent in a slot of the old piconet, within a slot pair of the new one.
        before = self.piconets.get(packet.lap)
        start = packet.start
        if before:
            even = start - before.tick(start) % 4 * HALF_SLOT + before.slot_offset
            start -= (start - even) % (2 * SLOT)
        old = self.piconets.get(lap)
        if old is None:
            old = self.piconets[lap] = Piconet(self, address, clock, start)
        elif (old.tick(start) - clock) % (1 << 28):
            self.fault(packet, "clock", "an FHS packet whose clock is not that of the one before")
        if not 1 <= lt_addr <= 7:
            self.fault(packet, "lt-addr", f"LT_ADDR {lt_addr} is handed over")
        old.links[lt_addr] = Link(lt_addr)
        old.links[lt_addr].secrets = self.secrets(lap)

    def _response(self, packet):
        """ID, ID and FHS of a page: 625 us apart, then the next even slot; two channels of a phase of the page sequence, then that of the next. 8.3.3"""
        address = packet.uap << 24 | packet.lap
        answers = [before for before in self.recent if before.is_id and before.lap == packet.lap and packet.start - before.start in (SLOT, HALF_SLOT)]
        if not answers:
            # Repeated: the response is further back.
            return
        channels = [(kernel(x, 1, address), kernel((x + 1) % 32, 0, address)) for x in range(32)]
        if not any((answer.channel, packet.channel) in channels for answer in answers):
            self.fault(packet, "page-hop", "the FHS packet is not on the channel after that of the answer")


def load(path, secrets=lambda lap: None, loses=False):
    check = PiconetCheck(secrets, loses)
    for packet in read(path):
        check.feed(packet)
    return check


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    chosen = parser.parse_args()
    try:
        check = load(chosen.file)
    except (NotAnAirLog, OSError) as error:
        print(error, file=sys.stderr)
        return 3
    links = [
        {"central": f"{piconet.lap:06X}", "lt_addr": link.lt_addr, **{
            side: {"packets": way.packets, "retransmissions": way.retransmissions, "delivered": len(way.deliveries)} for side, way in link.directions.items()
        }}
        for piconet in check.piconets.values() for link in piconet.links.values()
    ]  # fmt: skip
    print(json.dumps({"packets": check.count, "pages": check.pages, "links": links, "violations": check.violations}, indent=1))
    return 1 if check.violations else 0


if __name__ == "__main__":
    sys.exit(main())
