"""A server of credit-based channels of its own, from Core Vol 3, Part A. It takes and gives the frames of LE channels; links and pairing are its caller's.

Each rule of the specification is one short method, so that a defect or another legal behaviour is the replacement of one method.
"""

import struct
from dataclasses import dataclass, field

from att_server import AUTHENTICATED, ENCRYPTED, LONG_KEY, short

SIGNALLING = 5
DYNAMIC = range(0x40, 0x80)
"""The CIDs of dynamic channels of LE. Core Vol 3, Part A, 2.1."""
REJECT, DISCONNECT, DISCONNECTED, CONNECT, CONNECTED, CREDIT, CONNECT_ENHANCED, CONNECTED_ENHANCED, RECONFIGURE, RECONFIGURED = (
    0x01, 0x06, 0x07, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1A)
NO_SERVICE, NO_RESOURCES, NO_AUTHENTICATION, NO_AUTHORIZATION, SHORT_KEY, NO_ENCRYPTION, BAD_CID, CID_TAKEN, UNACCEPTABLE, INVALID = 2, 4, 5, 6, 7, 8, 9, 10, 11, 12
"""Results of a refusal, Core Vol 3, Part A, 4.23 and 4.26."""
LESS_MTU, LESS_MPS, NO_CHANNEL, BAD_PARAMETERS = 1, 2, 3, 4
"""Results of a reconfiguration, Core Vol 3, Part A, 4.28."""
ECHO, GUARDED, OPERATOR, STRONG = 0x85, 0x86, 0x87, 0x88
"""The services. Each returns each SDU; the first two are published."""


@dataclass(eq=False)
class Channel:
    psm: int
    own: int
    remote: int
    mtu: int
    """The longest SDU of the client."""
    mps: int
    credits: int
    """Frames that may be sent."""
    given: int
    """Frames that the client may send."""
    is_enhanced: bool = False
    length: int | None = None
    sdu: bytes = b""
    outgoing: list = field(default_factory=list)
    is_open: bool = True


@dataclass(eq=False)
class ChannelLink:
    """A connection. `send` takes a CID and the payload of a frame, `security` is the Link of the attribute server."""
    send: object
    later: object
    security: object
    channels: dict = field(default_factory=dict)
    """By the server's own CID."""
    identifier: int = 0


class Channels:
    services = {ECHO: 0, GUARDED: ENCRYPTED, OPERATOR: AUTHENTICATED, STRONG: LONG_KEY}
    mtu, mps, credits = 200, 64, 8
    most = 5
    """Channels of one connection."""
    is_enhanced = True

    # Signalling

    def received(self, link, cid, payload):
        if cid == SIGNALLING:
            return self.signalled(link, payload)
        if channel := link.channels.get(cid):
            return self.data(link, channel, payload)
        return None

    def signalled(self, link, payload):
        if len(payload) < 4 or not payload[1]:
            return
        code, identifier, length = struct.unpack("<BBH", payload[:4])
        handler = self.handlers.get(code) if self.is_enhanced or code not in (CONNECT_ENHANCED, RECONFIGURE) else None
        try:
            if not handler or length != len(payload) - 4:
                raise struct.error
            handler(self, link, identifier, payload[4:])
        except struct.error:
            if code not in (REJECT, DISCONNECTED, CONNECTED, CONNECTED_ENHANCED, RECONFIGURED, CREDIT, 0x13):
                self.reject(link, identifier, 0)

    def answer(self, link, code, identifier, body):
        link.send(SIGNALLING, bytes([code, identifier]) + short(len(body)) + body)

    def reject(self, link, identifier, reason, data=b""):
        self.answer(link, REJECT, identifier, short(reason) + data)

    # Opening

    def security_fault(self, link, level):
        """Core Vol 3, Part C, 10.3.1: Insufficient Authentication without a key, Insufficient Encryption with one."""
        if level and not link.security.level:
            return NO_ENCRYPTION if link.security.client is not None else NO_AUTHENTICATION
        if level == AUTHENTICATED and link.security.level < AUTHENTICATED:
            return NO_AUTHENTICATION
        return SHORT_KEY if level == LONG_KEY and link.security.key_size < 16 else 0

    def cid_fault(self, link, remote):
        if remote not in DYNAMIC:
            return BAD_CID
        return CID_TAKEN if any(channel.remote == remote for channel in link.channels.values()) else 0

    def service_fault(self, link, psm):
        if psm not in self.services:
            return NO_SERVICE
        return self.security_fault(link, self.services[psm])

    def has_room(self, link):
        return len(link.channels) < self.most

    def free_cid(self, link):
        return next(cid for cid in DYNAMIC[1:] if cid not in link.channels)

    def open(self, link, psm, remote, mtu, mps, credits, is_enhanced=False):
        channel = Channel(psm, self.free_cid(link), remote, mtu, mps, credits, self.credits, is_enhanced)
        link.channels[channel.own] = channel
        return channel

    def parameter_fault(self, mtu, mps):
        return 0 if mtu >= 23 and 23 <= mps <= 65533 else UNACCEPTABLE

    def connect(self, link, identifier, body):
        """Core Vol 3, Part A, 4.22."""
        psm, remote, mtu, mps, credits = struct.unpack("<HHHHH", body)
        fault = self.service_fault(link, psm) or self.cid_fault(link, remote) or self.parameter_fault(mtu, mps) or (
            0 if self.has_room(link) else NO_RESOURCES)
        if fault:
            self.refuse(link, identifier, fault)
        else:
            self.accept(link, identifier, self.open(link, psm, remote, mtu, mps, credits))

    def refuse(self, link, identifier, result):
        self.answer(link, CONNECTED, identifier, bytes(8) + short(result))

    def accept(self, link, identifier, channel):
        self.answer(link, CONNECTED, identifier, self.accepted(channel))

    def accepted(self, channel):
        return short(channel.own) + short(self.mtu) + short(self.mps) + short(channel.given) + short(0)

    def enhanced_parameter_fault(self, mtu, mps, credits):
        """Core Vol 3, Part A, 4.25."""
        return 0 if mtu >= 64 and 64 <= mps <= 65533 and credits else INVALID

    def connect_enhanced(self, link, identifier, body):
        """Core Vol 3, Part A, 4.25: each channel is accepted or refused by itself, unless a fault concerns all."""
        psm, mtu, mps, credits = struct.unpack("<HHHH", body[:8])
        remotes = [cid for cid, in struct.iter_unpack("<H", body[8:])]
        if not 1 <= len(remotes) <= 5:
            raise struct.error
        fault = self.service_fault(link, psm) or self.enhanced_parameter_fault(mtu, mps, credits)
        opened, result = [], fault
        for remote in remotes:
            own = 0 if fault else self.cid_fault(link, remote) or (0 if self.has_room(link) else NO_RESOURCES)
            result = result or own
            opened.append(None if fault or own else self.open(link, psm, remote, mtu, mps, credits, True))
        self.answer(link, CONNECTED_ENHANCED, identifier, self.accepted_enhanced(opened, result))

    def accepted_enhanced(self, opened, result):
        cids = b"".join(short(channel.own if channel else 0) for channel in opened)
        return short(self.mtu) + short(self.mps) + short(self.credits) + short(result) + cids

    def reconfigure(self, link, identifier, body):
        """Core Vol 3, Part A, 4.27."""
        mtu, mps = struct.unpack("<HH", body[:4])
        channels = [self.by_remote(link, cid) for cid, in struct.iter_unpack("<H", body[4:])]
        result = self.reconfiguration_fault(channels, mtu, mps)
        if not result:
            for channel in channels:
                channel.mtu, channel.mps = mtu, mps
        self.answer(link, RECONFIGURED, identifier, short(result))

    def by_remote(self, link, cid):
        return next((channel for channel in link.channels.values() if channel.remote == cid and channel.is_enhanced), None)

    def reconfiguration_fault(self, channels, mtu, mps):
        if not channels or None in channels:
            return NO_CHANNEL
        if self.enhanced_parameter_fault(mtu, mps, 1):
            return BAD_PARAMETERS
        if self.shrinks_mtu(channels, mtu):
            return LESS_MTU
        return LESS_MPS if self.shrinks_mps(channels, mps) else 0

    def shrinks_mtu(self, channels, mtu):
        return any(mtu < channel.mtu for channel in channels)

    def shrinks_mps(self, channels, mps):
        """The MPS of one channel may shrink, not that of several."""
        return len(channels) > 1 and any(mps < channel.mps for channel in channels)

    # Closing

    def disconnect(self, link, identifier, body):
        """Core Vol 3, Part A, 4.6: a wrong destination is rejected, a wrong source is discarded."""
        own, remote = struct.unpack("<HH", body)
        channel = link.channels.get(own)
        if not channel:
            return self.reject(link, identifier, 2, body)
        if channel.remote == remote:
            self.closed(link, channel)
            self.answer(link, DISCONNECTED, identifier, body)
        return None

    def closed(self, link, channel):
        channel.is_open = False
        link.channels.pop(channel.own, None)

    def end(self, link, channel):
        """Disconnects the channel for a fault of the client."""
        if channel.is_open:
            channel.is_open = False
            link.identifier = link.identifier % 255 + 1
            self.answer(link, DISCONNECT, link.identifier, short(channel.remote) + short(channel.own))

    def ended(self, link, identifier, body):
        own = struct.unpack("<HH", body)[1]
        link.channels.pop(own, None)

    # Data

    def credited(self, link, identifier, body):
        """Core Vol 3, Part A, 4.24 and 10.1: zero credits and those for no channel are ignored."""
        remote, more = struct.unpack("<HH", body)
        channel = next((channel for channel in link.channels.values() if channel.remote == remote), None)
        if channel is None or not self.are_credits(more):
            return
        if channel.credits + more > self.most_credits:
            return self.end(link, channel)
        channel.credits += more
        self.flush(link, channel)

    most_credits = 0xFFFF

    def are_credits(self, more):
        return more > 0

    def data(self, link, channel, payload):
        """Core Vol 3, Part A, 3.4.3 and 10.1."""
        if not channel.is_open:
            return None
        if self.is_beyond_credits(channel):
            return self.end(link, channel)
        channel.given -= 1
        is_first = channel.length is None
        if is_first and len(payload) < 2:
            return self.end(link, channel)
        if is_first:
            channel.length, payload = int.from_bytes(payload[:2], "little"), payload[2:]
        if self.is_too_long(channel, payload):
            return self.end(link, channel)
        channel.sdu += payload
        if len(channel.sdu) >= channel.length:
            sdu, channel.sdu, channel.length = channel.sdu, b"", None
            self.arrived(link, channel, sdu)
        self.replenish(link, channel)
        return None

    def is_beyond_credits(self, channel):
        return channel.given <= 0

    def is_too_long(self, channel, payload):
        return self.is_beyond_mps(payload) or self.is_beyond_mtu(channel) or self.is_beyond_length(channel, payload)

    def is_beyond_mps(self, payload):
        return len(payload) > self.mps

    def is_beyond_mtu(self, channel):
        return channel.length > self.mtu

    def is_beyond_length(self, channel, payload):
        return len(channel.sdu) + len(payload) > channel.length

    def replenish(self, link, channel):
        """Gives the credits back when an SDU is complete."""
        if channel.length is None:
            self.give(link, channel, self.credits - channel.given)

    def give(self, link, channel, more):
        channel.given += more
        link.identifier = link.identifier % 255 + 1
        self.answer(link, CREDIT, link.identifier, self.granted(channel, more))

    def granted(self, channel, more):
        return short(channel.own) + short(more)

    def arrived(self, link, channel, sdu):
        """The application of both services: each SDU that the client can take is returned."""
        self.write(link, channel, sdu)

    def write(self, link, channel, sdu):
        if len(sdu) <= self.longest(channel):
            channel.outgoing += self.frames(channel, sdu)
            self.flush(link, channel)

    def longest(self, channel):
        return channel.mtu

    def frames(self, channel, sdu):
        whole = self.length_of(sdu) + sdu
        return [whole[start:start + self.room(channel)] for start in range(0, len(whole), self.room(channel))]

    def length_of(self, sdu):
        return short(len(sdu))

    def room(self, channel):
        """Octets of a frame; the SDU length counts, which the client cannot mistake."""
        return channel.mps

    def flush(self, link, channel):
        while channel.outgoing and self.may_send(channel):
            channel.credits -= 1
            link.send(channel.remote, channel.outgoing.pop(0))

    def may_send(self, channel):
        return channel.credits > 0 and channel.is_open

    handlers = {
        CONNECT: lambda self, *rest: self.connect(*rest), CONNECT_ENHANCED: lambda self, *rest: self.connect_enhanced(*rest),
        RECONFIGURE: lambda self, *rest: self.reconfigure(*rest), DISCONNECT: lambda self, *rest: self.disconnect(*rest),
        DISCONNECTED: lambda self, *rest: self.ended(*rest), CREDIT: lambda self, *rest: self.credited(*rest),
        CONNECTED: lambda *_: None, CONNECTED_ENHANCED: lambda *_: None, RECONFIGURED: lambda *_: None, REJECT: lambda *_: None,
    }
