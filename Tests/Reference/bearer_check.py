"""Rechecks the bearers of ATT on a connection: one transaction at a time on each, in each direction. Core Vol 3, Part F, 3.2.11, 3.3.2 and 3.4.

Starts from the PDUs of the fixed channel and from the SDUs of channel_check.py, and shares nothing with the program that wrote the air log.
"""

from dataclasses import dataclass, field

FIXED, EATT = 0x0004, 0x0027
ON_FIXED = "fixed"
ERROR, INDICATION, CONFIRMATION = 0x01, 0x1D, 0x1E
# The response of each request.
RESPONSES = {0x02: 0x03, 0x04: 0x05, 0x06: 0x07, 0x08: 0x09, 0x0A: 0x0B, 0x0C: 0x0D, 0x0E: 0x0F, 0x10: 0x11, 0x12: 0x13, 0x16: 0x17, 0x18: 0x19, 0x20: 0x21}


@dataclass
class BearerCheck:
    """The bearers of one connection: `fixed`, and the numbers of channels."""

    violations: list = field(default_factory=list)
    transactions: dict = field(default_factory=dict)
    """Complete transactions of each bearer."""
    most: int = 0
    """The largest number of requests that were open at once."""
    _open: dict = field(default_factory=dict)

    def feed(self, time, sender, receiver, bearer, pdu):
        opcode = pdu[0]
        if opcode in RESPONSES or opcode == INDICATION:
            self._asked(time, sender, bearer, opcode)
        elif opcode == CONFIRMATION:
            self._answered(time, sender, (receiver, bearer, True), lambda _: True, opcode)
        elif opcode == ERROR:
            self._answered(time, sender, (receiver, bearer, False), lambda asked: pdu[1:2] == bytes([asked]), opcode)
        elif opcode in RESPONSES.values():
            self._answered(time, sender, (receiver, bearer, False), lambda asked: RESPONSES[asked] == opcode, opcode)

    def _asked(self, time, sender, bearer, opcode):
        key = sender, bearer, opcode == INDICATION
        if key in self._open:
            self._fault(time, sender, "one-at-a-time", f"0x{opcode:02X} while 0x{self._open[key]:02X} has no answer")
        self._open[key] = opcode
        self.most = max(self.most, len(self._open))

    def _answered(self, time, sender, key, fits, opcode):
        asked = self._open.pop(key, None)
        if asked is None:
            # A request with an unknown opcode is refused by an error that no known request precedes.
            if opcode != ERROR:
                self._fault(time, sender, "answer-unasked", f"0x{opcode:02X}")
        elif not fits(asked):
            self._fault(time, sender, "answer-of-another", f"0x{opcode:02X} to 0x{asked:02X}")
        else:
            self.transactions[key[1]] = self.transactions.get(key[1], 0) + 1

    def _fault(self, time, sender, rule, text):
        self.violations.append({"time": time, "sender": sender, "rule": rule, "text": text})


def check(frames, channels, other):
    """The bearers in the frames of a connection.

    - frames: tuples of time, sender, CID and payload.
    - channels: the ChannelCheck of the same frames.
    - other: the receiver of each sender.
    """
    bearers, ends = BearerCheck(), channels.ends
    pdus = [(time, sender, other[sender], ON_FIXED, payload) for time, sender, cid, payload in frames if cid == FIXED]
    pdus += [(time, sender, receiver, ends[receiver, cid], sdu) for time, sender, receiver, cid, spsm, sdu in channels.pdus if spsm == EATT]
    for time, sender, receiver, bearer, pdu in sorted(pdus, key=lambda pdu: pdu[0]):
        if pdu:
            bearers.feed(time, sender, receiver, bearer, pdu)
    return bearers
