"""SCO and eSCO on a link of BR/EDR: slots, windows, packet types, lengths, SEQN and ARQN. Core Vol 2, Part B, 4.3, 4.4, 7.6 and 8.6; Part C, 4.6."""

import struct
from dataclasses import dataclass, field

from baseband import TYPES

SCO_REQUEST, REMOVE_SCO, ACCEPTED, ESCAPE = 43, 44, 3, 127
ACCEPTED_EXTENDED, ESCO_REQUEST, REMOVE_ESCO = 1, 12, 13
SCO_TYPES = {0: "HV1", 1: "HV2", 2: "HV3"}
ESCO_TYPES = {0: None, 0x07: "EV3", 0x0C: "EV4", 0x0D: "EV5", 0x26: "2-EV3", 0x2C: "2-EV5", 0x37: "3-EV3", 0x3D: "3-EV5"}
OTHER = {"central": "peripheral", "peripheral": "central"}
SCO_NAMES = set(SCO_TYPES.values())


@dataclass
class Transport:
    """The agreed terms: D, T and W in slots, types and octets by sender."""

    handle: int
    # The LT_ADDR of eSCO; SCO uses the link's.
    lt_addr: int
    inverts: bool
    offset: int
    interval: int
    window: int
    types: dict
    lengths: dict
    # The first instant after the acceptance.
    begins: int = None
    ended: bool = False
    instant: int = None
    # The current interval: the packets of each side, and whether the other side has received them.
    sent: dict = field(default_factory=dict)
    taken: set = field(default_factory=set)
    # SEQN of each side in even intervals.
    phases: dict = field(default_factory=dict)
    packets: int = 0
    repeated: int = 0

    @classmethod
    def sco(cls, data):
        handle, flags, offset, interval, kind, _ = data
        name = SCO_TYPES.get(kind)
        return cls(handle, None, bool(flags & 2), offset, interval, 0, dict.fromkeys(OTHER, name), dict.fromkeys(OTHER, name and TYPES[name][3]))

    @classmethod
    def esco(cls, data):
        handle, lt_addr, flags, offset, interval, window, *kinds, down, up, _, _ = struct.unpack("<8BHHBB", data)
        names = [ESCO_TYPES.get(kind) for kind in kinds]
        return cls(handle, lt_addr, bool(flags & 2), offset, interval, window, dict(zip(OTHER, names, strict=True)), {"central": down, "peripheral": up})

    @property
    def is_extended(self):
        return self.lt_addr is not None

    def slots(self, side):
        return TYPES[self.types[side]][1] if self.types[side] else 1

    @property
    def reserved(self):
        return self.slots("central") + self.slots("peripheral")

    def since(self, slot):
        return ((slot ^ 1 << 26 if self.inverts else slot) - self.offset) % self.interval

    def owns(self, slot, count):
        return not self.ended and any(one >= self.begins and self.since(one) < self.reserved for one in range(slot, slot + count))

    def feed(self, packet, side, slot, loses=False):
        """The violations of a packet as pairs of rule and text; if the air loses packets, an acknowledgement may be lost."""
        since, name = self.since(slot), packet.name
        self.packets += 1
        if not self.is_extended:
            if since != (side == "peripheral"):
                yield "reserved", f"{name} {since} slots after the instant"
            if name != self.types[side]:
                yield "type", f"{name} where {self.types[side]} was agreed on"
            return
        if name != self.types[side] and name != ("POLL" if side == "central" else "NULL"):
            yield "type", f"{name} where {self.types[side]} was agreed on"
        if since + TYPES[name][1] > self.reserved + self.window:
            yield "window", f"{name} {since} slots after the instant, in a window of {self.window}"
        elif since < self.reserved and since != (0 if side == "central" else self.slots("central")):
            yield "reserved", f"{name} {since} slots after the instant"
        if slot - since != self.instant:
            self.instant, self.sent, self.taken = slot - since, {}, set()
        yield from self._exchange(packet, side, loses)

    def _exchange(self, packet, side, loses):
        if packet.arqn:
            if OTHER[side] not in self.sent:
                yield "arqn", "acknowledges what was not sent in this interval"
            self.taken.add(OTHER[side])
        if packet.name != self.types[side]:
            return
        if len(packet.body) != self.lengths[side]:
            yield "length", f"{len(packet.body)} octets where {self.lengths[side]} were agreed on"
        if side in self.taken and not loses:
            yield "arqn", "sent again after it was acknowledged"
        self.repeated += side in self.sent
        if self.sent.setdefault(side, packet.body) != packet.body:
            yield "seqn", "another payload in the same interval"
        phase = packet.seqn ^ self.instant // self.interval & 1
        if self.phases.setdefault(side, phase) != phase:
            yield "seqn", "SEQN does not alternate from interval to interval"


class Transports:
    """The synchronous transports of a link, as its LMP messages create and end them."""

    def __init__(self):
        self.made, self._asked, self._removed = [], None, None

    def manage(self, code, data, slot):
        if code == ESCAPE and data:
            code, data = (ESCAPE, data[0]), data[1:]
        if code == SCO_REQUEST and len(data) == 6:
            self._asked = Transport.sco(data)
        elif code == (ESCAPE, ESCO_REQUEST) and len(data) == 14:
            self._asked = Transport.esco(data)
        elif code in (REMOVE_SCO, (ESCAPE, REMOVE_ESCO)) and data:
            self._removed = code == REMOVE_SCO, data[0]
        elif (code == ACCEPTED and data[:1] == bytes([SCO_REQUEST])) or (code == (ESCAPE, ACCEPTED_EXTENDED) and data == bytes([ESCAPE, ESCO_REQUEST])):
            self._make(slot)
        elif (code == ACCEPTED and data[:1] == bytes([REMOVE_SCO])) or (code == (ESCAPE, ACCEPTED_EXTENDED) and data == bytes([ESCAPE, REMOVE_ESCO])):
            self._end()

    def _make(self, slot):
        if self._asked:
            self._asked.begins = slot + 2 + -self._asked.since(slot + 2) % self._asked.interval
            made = [one for one in self.made if (one.is_extended, one.handle) == (self._asked.is_extended, self._asked.handle) and not one.ended]
            for one in made:
                one.ended = True
            self.made.append(self._asked)
            self._asked = None

    def _end(self):
        for one in self.made:
            if self._removed == (not one.is_extended, one.handle):
                one.ended = True
        self._removed = None

    def carrying(self, packet, slot):
        """The transport that a packet belongs to, by the LT_ADDR of eSCO or the type of SCO.

        One that has ended may have a last packet; one that the central offers, whose offer has a handle, may have its first ones while the acceptance waits.
        """
        offered = [self._asked] if self._asked and self._asked.handle else []
        known = [one for one in self.made + offered if one.is_extended != (packet.name in SCO_NAMES)]
        if packet.name in SCO_NAMES:
            return next((one for one in reversed(known) if one.since(slot) < one.reserved), known[-1] if known else None)
        return next((one for one in reversed(known) if one.lt_addr == packet.lt_addr), None)
