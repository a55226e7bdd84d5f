"""Follows a connection of an air log packet by packet and checks the rules of Core Vol 6, Part B."""

import struct
from dataclasses import dataclass, field

from channel_check import check as check_channels
from channel_selection import select_1, select_2
from decryption import Decryption
from ll_packets import CENTRAL, PERIPHERAL, air_time, crc24

T_IFS = 150
CODED_MINIMUM = 2704
MIC = 4
SDU = "sdu"
"""In place of an opcode, for the SDUs of channels."""
UNCODED_MAXIMUM = 2128
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
    latency: int = 0
    timeout: int = 0


@dataclass
class Side:
    """The observations of one sender."""

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
    max_tx_time: int = 328
    max_rx_time: int = 328
    features: int = None


@dataclass
class Delivery:
    """An ATT value, or an SDU of a channel, that reached the other side."""

    time: int
    sender: str
    opcode: object
    octets: int


@dataclass
class ConnectionCheck:
    """`lossless` adds the rules that apply only if every packet is received."""

    parameters: Parameters
    lossless: bool = True
    long_term_keys: tuple = ()
    violations: list = field(default_factory=list)
    deliveries: list = field(default_factory=list)
    frames: list = field(default_factory=list)
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
        self.encryption = Decryption(self.long_term_keys)
        self.terminated = False
        self.wanted = None
        self.answered = True
        self.asleep = 0
        self.awake = set()
        self.next_phy = {}
        self.offered_times = {}

    def fault(self, packet, rule, text):
        self.violations.append({"packet": packet.number, "time": packet.start, "rule": rule, "text": text})

    # The event of a packet

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
        self._check_time(packet, sender)
        self.previous = packet

    def _central_starts(self, packet):
        previous = self.previous
        if previous is not None:
            gap = packet.start - previous.end
            # An event may fill its interval to the last microsecond: a packet at the next anchor point belongs to the next event.
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
        self.answered, self.asleep = True, 0
        if self.in_event > 0:
            self._ends_in_time(packet, packet.end + T_IFS)

    def _due_update(self, start):
        """The connection update with an instant between the last event and `start`, with the time of its instant."""
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
        if not self.answered:
            self._slept(packet)
        self.answered = False
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
            self.parameters.latency, self.parameters.timeout = self.pending[instant].pop("supervision")
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
                self.next_phy = {}
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

    # Sleeping peripherals, 4.5.1, 5.1.1 and 5.5.1

    def _slept(self, packet):
        """The event before the one that `packet` starts was not answered."""
        if not self.lossless:
            return
        self.asleep += 1
        if self.asleep > self.parameters.latency:
            self.fault(packet, "latency", f"{self.asleep} events without an answer, latency {self.parameters.latency}")
        elif self.counter in self.awake:
            self.fault(packet, "listening", f"the peripheral slept in event {self.counter}, around an instant")

    # Time on the air, 4.5.10, 5.1.7.4 and 5.1.10.1

    def _effective_time(self, sender, phy):
        """connEffectiveMaxTxTime of `sender` for transmission on `phy`."""
        own, other = self.sides[sender], self.sides[OTHER[sender]]
        time = min(own.max_tx_time, other.max_rx_time)
        if not phy.startswith("coded"):
            return time
        reply = min(own.max_rx_time, other.max_tx_time)
        if other.phy[0].startswith("coded"):
            reply = max(reply, CODED_MINIMUM)
        reply = min(reply, 64 * min(own.max_rx_offer, other.max_tx_offer) + 976)
        return max(CODED_MINIMUM, min(time, self.parameters.interval - 2 * T_IFS - reply))

    def _check_time(self, packet, sender):
        taken = packet.end - packet.start
        allowed = self._effective_time(sender, packet.phy)
        if packet.llid != 3 and taken > allowed:
            self.fault(packet, "tx-time", f"{sender} sent for {taken} us, {allowed} us are allowed")
        # LE Coded may use the faster coding.
        later = self.next_phy.get(sender)
        if later and packet.llid != 3 and air_time(later[-1], len(packet.pdu)) > self._effective_time(sender, later[-1]):
            self.fault(packet, "tx-time", f"{sender} sent {len(packet.payload)} octets, too many for {later[-1]} after the instant to come")
        if sender == CENTRAL and packet.llid == 3 and packet.clear and packet.clear[:1] == b"\x18":
            self.next_phy = {role: PHY_BITS[bits][::-1] for role, bits in zip((CENTRAL, PERIPHERAL), packet.clear[1:3]) if bits in PHY_BITS}

    def finish(self, end):
        """The end of the log: the channels of the connection, and its last update."""
        self.channels = check_channels(self.frames, OTHER)
        self.violations += [{"packet": 0} | fault for fault in self.channels.violations]
        self.deliveries += [Delivery(time, sender, SDU, octets) for time, sender, octets in self.channels.delivered]
        self._finish_update(end)

    def _finish_update(self, end):
        """A link that changed its parameters must have used them, since supervision restarts at the instant. 5.1.1"""
        due = self.reference and not self.terminated and self._due_update(end)
        if not due or self.previous is None:
            return
        instant, at = due
        if at + self.pending[instant]["interval"] * 2 < end and at < self.previous.end + self.parameters.timeout:
            self.fault(self.previous, "supervision", f"the link ended at the instant {instant}, where its supervision starts anew")

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
        self._open(packet, sender, side.last)
        if len(packet.payload) > side.max_tx + (MIC if self.encryption.is_encrypted(sender) else 0):
            self.fault(packet, "length", f"{len(packet.payload)} octets, {side.max_tx} agreed")
        if side.last is None or packet.sn != side.last.sn:
            side.acknowledged = False
        side.last = packet

    def _open(self, packet, sender, last):
        """Decrypts new packets; retransmissions are unchanged."""
        if last is not None and packet.sn == last.sn:
            packet.clear = last.clear
            return
        packet.clear = self.encryption.open(packet, sender)
        if packet.clear is None and self.encryption.has_key:
            self.fault(packet, "mic", "the MIC does not match")

    def _follows(self, packet, side, peer):
        last = side.last
        if packet.sn != last.sn:
            if not side.acknowledged:
                self.fault(packet, "sn", "SN advanced before the peer acknowledged")
        else:
            side.retransmissions += 1
            if (packet.llid, packet.payload) != (last.llid, last.payload):
                self.fault(packet, "sn", "a retransmission carries other octets")
            elif self.lossless and not self.asleep:
                self.fault(packet, "sn", "retransmission on a link that loses nothing")
        if packet.nesn != last.nesn and (peer.last is None or peer.last.sn != last.nesn):
            self.fault(packet, "nesn", "NESN advanced without a packet to acknowledge")
        elif self.lossless and peer.last is not None and packet.nesn == peer.last.sn:
            self.fault(packet, "nesn", "a received packet was not acknowledged")

    # Contents of packets

    def _delivered(self, packet, sender):
        if not packet.clear:
            return
        if packet.llid == 3:
            self.encryption.delivered(packet.clear, sender)
            self._control(packet, sender)
        else:
            side = self.sides[sender]
            side.sdu = packet.clear if packet.llid == 2 else side.sdu + packet.clear
            length = int.from_bytes(side.sdu[:2], "little")
            if len(side.sdu) < 4 + length or len(side.sdu) < 5:
                return
            self.frames.append((packet.end, sender, int.from_bytes(side.sdu[2:4], "little"), bytes(side.sdu[4 : 4 + length])))
            if side.sdu[2:4] == b"\x04\x00":
                opcode = side.sdu[4]
                self.deliveries.append(Delivery(packet.end, sender, opcode, max(0, length - 3)))
            side.sdu = b""

    def _control(self, packet, sender):
        code, data = packet.clear[0], packet.clear[1:]
        if code == 0x00:
            size, offset, interval, latency, timeout, instant = (
                int.from_bytes(data[a:b], "little") for a, b in ((0, 1), (1, 3), (3, 5), (5, 7), (7, 9), (9, 11))
            )
            window = (offset * 1250, (offset + size) * 1250)
            supervision = (latency, timeout * 10_000)
            self._schedule(packet, instant, {"interval": interval * 1250, "window": window, "supervision": supervision})
        elif code == 0x01:
            instant = int.from_bytes(data[5:7], "little")
            self._schedule(packet, instant, {"channel_map": int.from_bytes(data[:5], "little")})
        elif code == 0x02:
            self.terminated = True
        elif code in (0x08, 0x09, 0x0E):
            self.sides[sender].features = int.from_bytes(data[:8], "little")
        elif code in (0x14, 0x15):
            side = self.sides[sender]
            side.max_rx_offer, rx_time, side.max_tx_offer, tx_time = struct.unpack_from("<HHHH", data)
            other = self.sides[OTHER[sender]]
            if other.features is not None and not other.features >> 11 & 1 and max(rx_time, tx_time) > UNCODED_MAXIMUM:
                self.fault(packet, "length-time", f"times of {rx_time} and {tx_time} us to a peer without LE Coded")
            self.offered_times[sender] = (tx_time, rx_time)
            if code == 0x15:
                self._lengths()
        elif code in (0x16, 0x17) and sender == PERIPHERAL:
            self.wanted = (data[0], data[1])
        elif code == 0x18:
            self._phy_update(packet, data)

    def _phy_update(self, packet, data):
        """A peripheral that requests one PHY for both directions gets it in both, or nothing changes. 5.1.10"""
        if self.wanted and self.wanted[0] == self.wanted[1] and self.wanted[0] in PHY_BITS:
            result = [PHY_BITS.get(bits, side.phy) for bits, side in zip(data[:2], self.sides.values())]
            if any(data[:2]) and result != [PHY_BITS[self.wanted[0]]] * 2:
                self.fault(packet, "phy-symmetry", f"LL_PHY_UPDATE_IND {data[0]} {data[1]}, the peripheral requested {self.wanted[0]} both ways")
        self.wanted = None
        if data[0] or data[1]:
            self._schedule(packet, int.from_bytes(data[2:4], "little"), {"phy": {CENTRAL: data[0], PERIPHERAL: data[1]}})
        else:
            self.next_phy = {}

    def _lengths(self):
        for role, side in self.sides.items():
            other = self.sides[OTHER[role]]
            side.max_tx = max(side.max_tx, min(side.max_tx_offer, other.max_rx_offer))
            times = self.offered_times.get(role, (328, 328))
            side.max_tx_time, side.max_rx_time = max(side.max_tx_time, times[0]), max(side.max_rx_time, times[1])

    def _schedule(self, packet, instant, change):
        ahead = ((instant - self.counter + 0x8000) & 0xFFFF) - 0x8000
        if ahead < 0:
            self.fault(packet, "instant", f"instant {instant} lies {-ahead} events in the past")
        # It receives the confirmation of its acknowledgement in the next event, and listens before and at the instant.
        self.awake |= {self.counter + 1, self.counter + ahead - 1, self.counter + ahead}
        self.pending.setdefault(instant, {}).update(change)

    # Goodput

    def goodput_kbps(self, begin, end, sender=None, opcodes=(0x1B, 0x52, SDU)):
        """Payload of notifications, write commands and SDUs of channels delivered after `begin` and not after `end`, in kbit/s."""
        octets = sum(
            item.octets
            for item in self.deliveries
            if begin < item.time <= end and item.opcode in opcodes and sender in (None, item.sender)
        )
        return octets * 8 * 1000 / (end - begin) if end > begin else 0.0
