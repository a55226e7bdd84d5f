"""Rechecks the credit-based channels of a connection: credits, SDU lengths, MTU and MPS of every K-frame. Core Vol 3, Part A, 3.4.3, 4.22 to 4.28, 10.

Starts from the L2CAP PDUs of a connection in an air log, and shares nothing with the program that wrote it.
"""

import struct
from dataclasses import dataclass, field

SIGNALLING = 0x0005
DYNAMIC = range(0x0040, 0x0080)
MOST_CREDITS = 65535


@dataclass
class Flow:
    """One direction of a channel: what its receiver accepts."""

    mtu: int
    mps: int
    credits: int
    spsm: int = 0
    left: int = None
    sdu: bytes = b""
    frames: int = 0
    sdus: int = 0


@dataclass
class Request:
    spsm: int
    cids: list
    mtu: int
    mps: int
    credits: int


@dataclass
class ChannelCheck:
    """The channels of one connection. Keys are a receiver and the CID of its end."""

    flows: dict = field(default_factory=dict)
    closed: list = field(default_factory=list)
    violations: list = field(default_factory=list)
    delivered: list = field(default_factory=list)
    """Time, sender and octets of each complete SDU."""
    pdus: list = field(default_factory=list)
    """Time, sender, receiver, CID, SPSM and SDU, of the same."""
    ends: dict = field(default_factory=dict)
    """A number for each channel that was opened, by the same keys; the later one if a CID is used again."""
    _asked: dict = field(default_factory=dict)
    _moved: dict = field(default_factory=dict)

    def feed(self, time, sender, receiver, cid, payload):
        if cid == SIGNALLING:
            self._signalling(time, sender, receiver, payload)
        elif cid in DYNAMIC and (receiver, cid) in self.flows:
            self._frame(time, sender, (receiver, cid), payload)

    def _fault(self, time, sender, rule, text):
        self.violations.append({"time": time, "sender": sender, "rule": rule, "text": text})

    def _signalling(self, time, sender, receiver, pdu):
        if len(pdu) < 4 or len(pdu) != 4 + int.from_bytes(pdu[2:4], "little"):
            return
        code, identifier, data = pdu[0], pdu[1], pdu[4:]
        words = struct.unpack(f"<{len(data) // 2}H", data[: len(data) // 2 * 2])
        if code == 0x14 and len(words) == 5:
            self._asked[sender, identifier] = Request(words[0], [words[1]], *words[2:5])
        elif code == 0x17 and len(words) >= 5:
            self._asked[sender, identifier] = Request(words[0], list(words[4:]), *words[1:4])
        elif code == 0x15 and len(words) == 5:
            self._answer(receiver, sender, identifier, words[:1] if words[4] == 0 else (), words[1:4], True)
        elif code == 0x18 and len(words) >= 4:
            self._answer(receiver, sender, identifier, words[4:], words[:3], words[3] not in (13, 14, 15))
        elif code == 0x16 and len(words) == 2:
            self._credit(time, sender, *words)
        elif code == 0x07 and len(words) == 2:
            for key in ((sender, words[0]), (receiver, words[1])):
                if key in self.flows:
                    self.closed.append(self.flows.pop(key))
        elif code == 0x19 and len(words) >= 3:
            self._moved[sender, identifier] = words
        elif code == 0x1A and words[:1] == (0,) and (receiver, identifier) in self._moved:
            mtu, mps, *cids = self._moved.pop((receiver, identifier))
            for flow in (self.flows[receiver, cid] for cid in cids if (receiver, cid) in self.flows):
                flow.mtu, flow.mps = mtu, mps

    def _answer(self, asker, answerer, identifier, cids, terms, is_final):
        request = self._asked.get((asker, identifier))
        if request is None:
            return
        if is_final:
            del self._asked[asker, identifier]
        for source, destination in zip(request.cids, cids):
            if destination in DYNAMIC and source in DYNAMIC:
                self.ends[asker, source] = self.ends[answerer, destination] = len(self.ends)
                self.flows[asker, source] = Flow(request.mtu, request.mps, request.credits, request.spsm)
                self.flows[answerer, destination] = Flow(*terms, request.spsm)

    def _credit(self, time, sender, cid, more):
        flow = self.flows.get((sender, cid))
        if flow is None:
            return
        if more == 0:
            self._fault(time, sender, "credits-zero", "an indication has 1 credit or more")
        flow.credits += more
        if flow.credits > MOST_CREDITS:
            self._fault(time, sender, "credits-most", f"{flow.credits} credits, {MOST_CREDITS} at most")

    def _frame(self, time, sender, key, payload):
        flow = self.flows[key]
        flow.frames += 1
        if flow.credits == 0:
            self._fault(time, sender, "credit", "a K-frame without a credit")
        flow.credits = max(0, flow.credits - 1)
        if flow.left is None:
            if len(payload) < 2:
                self._fault(time, sender, "sdu-length", f"the first K-frame of an SDU has {len(payload)} octets")
                return
            flow.left, payload = int.from_bytes(payload[:2], "little"), payload[2:]
            flow.sdu = b""
            if flow.left > flow.mtu:
                self._fault(time, sender, "mtu", f"an SDU of {flow.left} octets, {flow.mtu} accepted")
        if len(payload) > flow.mps:
            self._fault(time, sender, "mps", f"a payload of {len(payload)} octets, {flow.mps} accepted")
        flow.left -= len(payload)
        flow.sdu += payload
        if flow.left < 0:
            self._fault(time, sender, "sdu-length", f"{-flow.left} octets more than the SDU length")
        if flow.left <= 0:
            self.delivered.append((time, sender, len(flow.sdu)))
            self.pdus.append((time, sender, *key, flow.spsm, flow.sdu))
            flow.left, flow.sdus = None, flow.sdus + 1

    def totals(self):
        """Numbers of K-frames and complete SDUs."""
        everything = [*self.flows.values(), *self.closed]
        return sum(flow.frames for flow in everything), sum(flow.sdus for flow in everything)


def check(frames, other):
    """The channels in the frames of a connection: tuples of time, sender, CID and payload.

    - other: the receiver of each sender.
    """
    channels = ChannelCheck()
    for time, sender, cid, payload in sorted(frames, key=lambda frame: frame[0]):
        channels.feed(time, sender, other[sender], cid, payload)
    return channels
