"""One connection of an air log, followed packet by packet against the rules of Core Vol 6, Part B."""

from dataclasses import dataclass, field

from channel_selection import select_1, select_2
from ll_packets import CENTRAL, PERIPHERAL, air_time, crc24

T_IFS = 150
OTHER = {CENTRAL: PERIPHERAL, PERIPHERAL: CENTRAL}
PHY_BITS = {1: ("1m",), 2: ("2m",), 4: ("coded-s2", "coded-s8")}


@dataclass
class Parameters:
    access_address: int
    crc_init: int
    window: tuple
    interval: int
    channel_map: int
    hop: int
    algorithm: int
    phy: tuple


@dataclass
class Side:
    """What has been seen of one sender."""

    phy: tuple
    last: object = None
    acknowledged: bool = True
    retransmissions: int = 0
    packets: int = 0
    max_tx: int = 27
    max_rx: int = 27
    sdu: bytes = b""
    max_tx_offer: int = 27
    max_rx_offer: int = 27


@dataclass
class Delivery:
    """An ATT value that reached the other side."""

    time: int
    sender: str
    opcode: int
    octets: int


@dataclass
class ConnectionCheck:
    """`lossless` adds the rules that hold only when every packet is received."""

    parameters: Parameters
    lossless: bool = True
    violations: list = field(default_factory=list)
    deliveries: list = field(default_factory=list)
    events: int = 0
    exchanges: int = 0

    def __post_init__(self):
        self.sides = {role: Side(self.parameters.phy) for role in OTHER}
        self.reference = None
        self.counter = -1
        self.anchor = 0
        self.in_event = 0
        self.previous = None
        self.pending = {}
        self.encrypted = False

    def fault(self, packet, rule, text):
        self.violations.append({"packet": packet.number, "time": packet.start, "rule": rule, "text": text})

    # The event a packet belongs to

    def feed(self, packet):
        if crc24(packet.pdu, self.parameters.crc_init) != packet.crc:
            self.fault(packet, "crc", "CRC does not match the PDU")
        sender = packet.sender
        if sender is None:
            self.fault(packet, "direction", "data packet without a direction")
            return
        if sender == CENTRAL:
            self._central_starts(packet)
        else:
            self._peripheral_answers(packet)
        self._check_channel(packet)
        if packet.phy not in self.sides[sender].phy:
            self.fault(packet, "phy", f"{sender} sent on {packet.phy}, expected {' or '.join(self.sides[sender].phy)}")
        self._sequence(packet, sender)
        self.previous = packet

    def _central_starts(self, packet):
        previous = self.previous
        if previous is not None:
            gap = packet.start - previous.end
            # An event may fill its interval to the last microsecond: what starts at the next anchor point belongs to the next event.
            if gap == T_IFS and previous.sender == PERIPHERAL and packet.start < self.anchor + self.parameters.interval:
                self._continues(packet, previous)
                return
            if gap < 2 * T_IFS and not self._is_anchor(packet.start):
                self.fault(packet, "t-ifs", f"gap of {gap} us within the event")
                return
        self._opens_event(packet)

    def _continues(self, packet, previous):
        self.in_event += 1
        opener = self.sides[CENTRAL].last
        if self.lossless and not (previous.md or (opener and opener.md)):
            self.fault(packet, "more-data", "the event went on although neither side had more data")
        self._ends_in_time(packet, packet.end + T_IFS + air_time(packet.phy, 2) + T_IFS)

    def _ends_in_time(self, packet, end):
        next_anchor = self.anchor + self.parameters.interval
        if end > next_anchor:
            self.fault(packet, "event-end", f"exchange ends {end - next_anchor} us after the next anchor point")

    def _peripheral_answers(self, packet):
        previous = self.previous
        if previous is None or previous.sender != CENTRAL:
            self.fault(packet, "t-ifs", "peripheral sent without a packet of the central before it")
            return
        gap = packet.start - previous.end
        if gap != T_IFS:
            self.fault(packet, "t-ifs", f"peripheral answered after {gap} us")
        self.exchanges += 1
        if self.in_event > 0:
            self._ends_in_time(packet, packet.end + T_IFS)

    def _due_update(self, start):
        """The connection update whose instant lies between the last event and `start`, with the time of its instant."""
        for instant in sorted(self.pending):
            if "interval" in self.pending[instant]:
                at = self.reference[1] + self._distance(instant) * self.parameters.interval
                if start >= at:
                    return instant, at
        return None

    def _distance(self, instant):
        counter, _ = self.reference
        return ((instant - counter + 0x8000) & 0xFFFF) - 0x8000

    def _is_anchor(self, start):
        if self.reference is None or self._due_update(start):
            return True
        return (start - self.reference[1]) % self.parameters.interval == 0

    def _opens_event(self, packet):
        self.in_event = 0
        self.events += 1
        if self.reference is None:
            first, last = self.parameters.window
            if not first <= packet.start <= last:
                self.fault(packet, "window", f"first packet {packet.start - first} us after the window of {last - first} us opened")
            self.reference = (0, packet.start)
            self.counter = 0
        else:
            self._places(packet)
        self.anchor = packet.start

    def _places(self, packet):
        due = self._due_update(packet.start)
        if due:
            instant, at = due
            self.parameters.interval = self.pending[instant]["interval"]
            first, last = (at + bound for bound in self.pending[instant]["window"])
            skipped = max(0, (packet.start - first) // self.parameters.interval)
            anchor = packet.start - skipped * self.parameters.interval
            if not first <= anchor <= last:
                self.fault(packet, "window", f"instant {instant}: packet {anchor - first} us after the window opened")
            del self.pending[instant]["interval"]
            self.reference = (instant, anchor)
        counter, time = self.reference
        late = (packet.start - time) % self.parameters.interval
        if late:
            self.fault(packet, "anchor", f"{late} us off a multiple of {self.parameters.interval} us")
            self.reference = (counter, time + late)
            time += late
        self.counter = counter + (packet.start - time) // self.parameters.interval
        self._apply_instants()

    def _apply_instants(self):
        for instant in sorted(self.pending):
            update = self.pending[instant]
            if ((self.counter - instant) & 0xFFFF) >= 0x8000:
                continue
            if "channel_map" in update:
                self.parameters.channel_map = update.pop("channel_map")
            if "phy" in update:
                for role, phy in update.pop("phy").items():
                    if phy:
                        self.sides[role].phy = PHY_BITS[phy]
            if not update:
                del self.pending[instant]

    def _check_channel(self, packet):
        if self.counter < 0:
            return
        own = self.parameters
        if own.algorithm == 1:
            expected = select_1(self.counter, own.hop, own.channel_map)
        else:
            expected = select_2(self.counter, own.access_address, own.channel_map)
        if packet.channel != expected:
            self.fault(packet, "channel", f"channel {packet.channel} in event {self.counter}, expected {expected}")

    # Sequence numbers, 4.5.9

    def _sequence(self, packet, sender):
        side, peer = self.sides[sender], self.sides[OTHER[sender]]
        side.packets += 1
        if peer.last is not None and packet.nesn != peer.last.sn and not peer.acknowledged:
            peer.acknowledged = True
            self._delivered(peer.last, OTHER[sender])
        if side.last is None:
            if packet.sn or (packet.nesn if sender == CENTRAL else self.lossless and not packet.nesn):
                self.fault(packet, "sn", "the first packet does not start with SN 0 and the right NESN")
        else:
            self._follows(packet, side, peer)
        if len(packet.payload) > side.max_tx + (4 if self.encrypted else 0):
            self.fault(packet, "length", f"{len(packet.payload)} octets, {side.max_tx} agreed")
        if side.last is None or packet.sn != side.last.sn:
            side.acknowledged = False
        side.last = packet

    def _follows(self, packet, side, peer):
        last = side.last
        if packet.sn != last.sn:
            if not side.acknowledged:
                self.fault(packet, "sn", "SN advanced before the peer acknowledged")
        else:
            side.retransmissions += 1
            if (packet.llid, packet.payload) != (last.llid, last.payload):
                self.fault(packet, "sn", "a retransmission carries other octets")
            elif self.lossless:
                self.fault(packet, "sn", "retransmission on a link that loses nothing")
        if packet.nesn != last.nesn and (peer.last is None or peer.last.sn != last.nesn):
            self.fault(packet, "nesn", "NESN advanced without a packet to acknowledge")
        elif self.lossless and peer.last is not None and packet.nesn == peer.last.sn:
            self.fault(packet, "nesn", "a received packet was not acknowledged")

    # What the packets carry

    def _delivered(self, packet, sender):
        if self.encrypted:
            return
        if packet.llid == 3:
            self._control(packet, sender)
        elif packet.payload:
            side = self.sides[sender]
            side.sdu = packet.payload if packet.llid == 2 else side.sdu + packet.payload
            length = int.from_bytes(side.sdu[:2], "little")
            if len(side.sdu) < 4 + length or len(side.sdu) < 5:
                return
            if side.sdu[2:4] == b"\x04\x00":
                opcode = side.sdu[4]
                self.deliveries.append(Delivery(packet.end, sender, opcode, max(0, length - 3)))
            side.sdu = b""

    def _control(self, packet, sender):
        code, data = packet.payload[0], packet.payload[1:]
        if code == 0x00:
            size, offset, interval, _, _, instant = (
                int.from_bytes(data[a:b], "little") for a, b in ((0, 1), (1, 3), (3, 5), (5, 7), (7, 9), (9, 11))
            )
            window = (offset * 1250, (offset + size) * 1250)
            self._schedule(packet, instant, {"interval": interval * 1250, "window": window})
        elif code == 0x01:
            instant = int.from_bytes(data[5:7], "little")
            self._schedule(packet, instant, {"channel_map": int.from_bytes(data[:5], "little")})
        elif code == 0x05:
            self.encrypted = True
        elif code in (0x14, 0x15):
            side = self.sides[sender]
            side.max_rx_offer, side.max_tx_offer = (int.from_bytes(data[a : a + 2], "little") for a in (0, 4))
            if code == 0x15:
                self._lengths()
        elif code == 0x18 and (data[0] or data[1]):
            instant = int.from_bytes(data[2:4], "little")
            self._schedule(packet, instant, {"phy": {CENTRAL: data[0], PERIPHERAL: data[1]}})

    def _lengths(self):
        for role, side in self.sides.items():
            other = self.sides[OTHER[role]]
            side.max_tx = max(side.max_tx, min(side.max_tx_offer, other.max_rx_offer))

    def _schedule(self, packet, instant, change):
        ahead = ((instant - self.counter + 0x8000) & 0xFFFF) - 0x8000
        if ahead < 0:
            self.fault(packet, "instant", f"instant {instant} lies {-ahead} events in the past")
        self.pending.setdefault(instant, {}).update(change)

    # Goodput

    def goodput_kbps(self, begin, end, sender=None, opcodes=(0x1B, 0x52)):
        """Payload of notifications and write commands delivered after `begin` and not after `end`, in kbit/s."""
        octets = sum(
            item.octets
            for item in self.deliveries
            if begin < item.time <= end and item.opcode in opcodes and sender in (None, item.sender)
        )
        return octets * 8 * 1000 / (end - begin) if end > begin else 0.0
