"""Changes of the product in channel_product.py: defects, each with the case that finds it, and legal behaviour, each with its section.

A change replaces methods or numbers of the server; most are one line. `self` is the server, `T` the server without the change.
"""

import struct

from att_changes import Change, Freedom, nothing
from att_server import ENCRYPTED, LONG_KEY, short
from channel_server import (
    BAD_CID, CID_TAKEN, CONNECTED, CONNECTED_ENHANCED, DISCONNECTED, GUARDED, LESS_MTU, NO_AUTHORIZATION, NO_ENCRYPTION,
    NO_SERVICE, RECONFIGURED, UNACCEPTABLE,
)
from channel_server import Channels as T

CHANGES = {}


def defect(name, case, **methods):
    assert name not in CHANGES, name
    CHANGES[name] = Change(f"accessory-channel/{case}", methods)


def legal(name, section, **methods):
    assert name not in CHANGES, name
    CHANGES[name] = Freedom(section, methods)


def channels(name):
    return type("Changed", (T,), CHANGES[name].methods if name else {})()


def answered(code, change):
    """The answer of a code, changed: identifier and body in, both out; None for no answer."""
    def answer(self, link, own, identifier, body):
        found = change(identifier, body) if own == code else (identifier, body)
        if found:
            T.answer(self, link, own, *found)
    return answer


def field(code, at, value):
    """The answer of a code, if it accepts, with another number in its body."""
    result = 8 if code == CONNECTED else 6
    return answered(code, lambda identifier, body: (
        identifier, body[:at] + short(value) + body[at + 2:] if body[result:result + 2] == b"\0\0" else body))


silent = answered(CONNECTED, nothing)
other_identifier = lambda identifier, body: (identifier % 255 + 1, body)  # noqa: E731

# Opening

defect("no-answer", "opens", answer=silent)
defect("answer-of-another-identifier", "opens", answer=answered(CONNECTED, other_identifier))
defect("answer-cut", "opens", answer=answered(CONNECTED, lambda identifier, body: (identifier, body[:8])))
defect("cid-of-fixed-channels", "opens", answer=field(CONNECTED, 0, 0x3F))
defect("cid-of-bredr", "opens", answer=field(CONNECTED, 0, 0x80))
defect("mtu-of-22", "opens", answer=field(CONNECTED, 2, 22))
defect("mps-of-22", "opens", answer=field(CONNECTED, 4, 22))
defect("mps-of-65534", "opens", answer=field(CONNECTED, 4, 65534))
defect("published-and-not-there", "opens", services={})
defect("every-cid-is-taken", "opens", cid_fault=lambda self, link, remote: CID_TAKEN)
defect("result-of-no-meaning", "opens", answer=answered(CONNECTED, lambda identifier, body: (identifier, body[:8] + b"\x03\0")))
defect("rejected-as-unknown", "opens", connect=lambda self, link, identifier, body: self.reject(link, identifier, 0))
defect("any-service", "other-service", service_fault=lambda self, link, psm: 0)
defect("other-service-unanswered", "other-service", refuse=lambda self, link, identifier, result: None if result == NO_SERVICE else T.refuse(self, link, identifier, result))
defect("other-service-is-a-bad-cid", "other-service", service_fault=lambda self, link, psm: T.service_fault(self, link, psm) and BAD_CID)
defect("any-source-cid", "source-cid-invalid", cid_fault=lambda self, link, remote: T.cid_fault(self, link, remote) % BAD_CID)
defect("source-cid-from-zero", "source-cid-invalid", cid_fault=lambda self, link, remote: 0 if remote < 0x40 else T.cid_fault(self, link, remote))
defect("source-cid-twice", "source-cid[request=connection]", cid_fault=lambda self, link, remote: T.cid_fault(self, link, remote) % CID_TAKEN)
defect("taken-is-no-service", "source-cid[request=connection]", cid_fault=lambda self, link, remote: (fault := T.cid_fault(self, link, remote), NO_SERVICE if fault == CID_TAKEN else fault)[1])
defect("one-cid-for-all", "opens-twice", free_cid=lambda self, link: 0x41)
defect("second-takes-the-first", "opens-twice", open=lambda self, link, *rest: (link.channels.clear(), T.open(self, link, *rest))[1])
defect("three-in-a-lifetime", "opens-again", has_room=lambda self, link: setattr(link, "count", getattr(link, "count", 0) + 1) or link.count <= 3)
defect("cids-never-free", "opens-again", closed=lambda self, link, channel: setattr(channel, "is_open", False))


def kept(self, link, *rest):
    """A client's CID stays in use after the link."""
    self.kept = getattr(self, "kept", {})
    channel = T.open(self, link, *rest)
    self.kept.setdefault(channel.remote, link)
    return channel


defect("cids-outlive-the-link", "opens-after-reconnection", open=kept, cid_fault=lambda self, link, remote: (
    CID_TAKEN if getattr(self, "kept", {}).get(remote, link) is not link else T.cid_fault(self, link, remote)))

# Security

defect("guarded-in-clear", "guarded-in-clear", services=dict.fromkeys(T.services, 0))
defect("guarded-is-no-service", "guarded-in-clear", security_fault=lambda self, link, level: T.security_fault(self, link, level) and NO_SERVICE)
defect("guarded-for-ever", "guarded[by=encryption]", security_fault=lambda self, link, level: NO_ENCRYPTION if level else 0)
defect("guarded-once", "guarded-again", security_fault=lambda self, link, level: (
    0 if getattr(self, "was_met", False) or level and link.security.level and setattr(self, "was_met", True) else T.security_fault(self, link, level)))
defect("encryption-is-enough", "guarded[by=authentication]", security_fault=lambda self, link, level: T.security_fault(self, link, min(level, ENCRYPTED)))
defect("short-key-is-enough", "guarded[by=long-key]", security_fault=lambda self, link, level: T.security_fault(self, link, level % LONG_KEY or min(level, ENCRYPTED)))
defect("guarded-in-one-mode", "guarded-enhanced-in-clear", connect_enhanced=lambda self, link, identifier, body: (
    setattr(self, "services", dict.fromkeys(T.services, 0)), T.connect_enhanced(self, link, identifier, body), delattr(self, "services")))

# Closing

defect("disconnection-unanswered", "closes", answer=answered(DISCONNECTED, nothing))
defect("disconnection-of-swapped-cids", "closes", answer=answered(DISCONNECTED, lambda identifier, body: (identifier, body[2:] + body[:2])))
defect("disconnection-of-another-identifier", "closes", answer=answered(DISCONNECTED, other_identifier))
defect("disconnected-twice", "closes", reject=lambda self, link, identifier, reason, data=b"": (
    self.answer(link, DISCONNECTED, identifier, data) if reason == 2 else T.reject(self, link, identifier, reason, data)))
defect("no-channel-is-not-understood", "disconnection-of-no-channel", reject=lambda self, link, identifier, reason, data=b"": T.reject(self, link, identifier, 0))
defect("no-channel-unanswered", "disconnection-of-no-channel", reject=nothing)
defect("rejection-of-swapped-cids", "disconnection-of-no-channel", reject=lambda self, link, identifier, reason, data=b"": (
    T.reject(self, link, identifier, reason, data[2:] + data[:2])))
defect("source-of-another-closes", "source-cid[request=disconnection]", disconnect=lambda self, link, identifier, body: (
    T.disconnect(self, link, identifier, body) if body[:2] not in map(short, link.channels) or link.channels[body[0]].remote == body[2] else self.closed(link, link.channels[body[0]])))
defect("sends-after-the-end", "closes", arrived=lambda self, link, channel, sdu: link.later(0.05, lambda: self.write(link, channel, sdu)), may_send=lambda self, channel: channel.credits > 0)

# Faults of the client, each of which ends the channel


def at_the_end(name):
    return {name: lambda *_: False}


defect("mps-unchecked", "frame-beyond-mps", **at_the_end("is_beyond_mps"))
defect("mps-discards-the-frame", "frame-beyond-mps", data=lambda self, link, channel, payload: None if len(payload) > self.mps + 2 else T.data(self, link, channel, payload))
defect("mtu-unchecked", "sdu-beyond-mtu", **at_the_end("is_beyond_mtu"))
defect("length-unchecked", "frames-beyond-length", **at_the_end("is_beyond_length"))
defect("credits-unchecked", "frames-beyond-credits", **at_the_end("is_beyond_credits"))
defect("credits-without-limit", "credits-beyond-65535", most_credits=1 << 20)
defect("credits-wrap-around", "credits-beyond-65535", most_credits=1 << 20, may_send=lambda self, channel: (channel.credits & 0xFFFF) > 0 and channel.is_open)
defect("ends-the-channel-of-zero", "credits-beyond-65535", end=lambda self, link, channel: self.answer(link, 6, 9, bytes(4)))

# Credits

defect("zero-credits-are-one", "credits-ignored", credited=lambda self, link, identifier, body: T.credited(self, link, identifier, body[:2] + (body[2:] if any(body[2:]) else b"\1\0")))
defect("zero-credits-end", "credits-ignored", credited=lambda self, link, identifier, body: (
    T.credited(self, link, identifier, body) if any(body[2:]) else [self.end(link, channel) for channel in link.channels.values()]))
defect("credits-of-any-channel", "credits-ignored", credited=lambda self, link, identifier, body: T.credited(
    self, link, identifier, (short(next(iter(link.channels.values())).remote) if link.channels else body[:2]) + body[2:]))
defect("sends-without-credits", "fed", may_send=lambda self, channel: channel.is_open)
defect("one-credit-too-many", "fed", may_send=lambda self, channel: channel.credits > -1 and channel.is_open)
defect("initial-credits-lost", "echo", open=lambda self, link, psm, remote, mtu, mps, credits, *rest: T.open(self, link, psm, remote, mtu, mps, 0, *rest))
defect("no-credits-returned", "echo-goes-on", give=nothing)
defect("credits-for-the-other-cid", "echo-goes-on", granted=lambda self, channel, more: short(channel.remote) + short(more))
defect("credits-of-zero", "credits-given", granted=lambda self, channel, more: short(channel.own) + short(0))
defect("credits-beyond-all", "credits-given", granted=lambda self, channel, more: short(channel.own) + short(0xFFFF))
defect("one-credit-short", "echo-goes-on", granted=lambda self, channel, more: short(channel.own) + short(max(1, more - 1)), give=lambda self, link, channel, more: (
    T.give(self, link, channel, more) if more > 1 else None))
defect("credit-before-a-frame", "credits-unasked", credits=0xFFFF, accept=lambda self, link, identifier, channel: (
    T.accept(self, link, identifier, channel), self.give(link, channel, 1)))

# Data

defect("mps-of-the-client-ignored", "fed", room=lambda self, channel: 64)
defect("mps-of-the-client-exceeded", "echo", room=lambda self, channel: channel.mps + 3)
defect("mtu-of-the-client-ignored", "fed", longest=lambda self, channel: 0xFFFF)
defect("length-one-short", "echo", length_of=lambda self, sdu: short(len(sdu) - 1))
defect("length-with-itself", "echo", length_of=lambda self, sdu: short(len(sdu) + 2))
defect("length-big-endian", "echo", length_of=lambda self, sdu: struct.pack(">H", len(sdu)))
defect("no-length", "echo", length_of=lambda self, sdu: b"")
defect("length-in-each-frame", "echo", frames=lambda self, channel, sdu: [
    short(len(sdu)) + sdu[start:start + channel.mps - 2] for start in range(0, len(sdu), channel.mps - 2)])
defect("last-frame-lost", "echo", frames=lambda self, channel, sdu: (all := T.frames(self, channel, sdu), all[:-1] if len(all) > 1 else all)[1])
defect("frames-exchanged", "echo", frames=lambda self, channel, sdu: (all := T.frames(self, channel, sdu), all[:1] + all[:0:-1])[1])
defect("octet-changed", "echo", arrived=lambda self, link, channel, sdu: self.write(link, channel, sdu[:-1] + bytes([sdu[-1] ^ 1]) if sdu else sdu))
defect("echo-cut", "echo", arrived=lambda self, link, channel, sdu: self.write(link, channel, sdu[:100]))
defect("two-in-one", "echo-order", arrived=lambda self, link, channel, sdu: (
    (T.arrived(self, link, channel, channel.half + sdu), delattr(channel, "half"))[1] if hasattr(channel, "half") else setattr(channel, "half", sdu)))
defect("last-first", "echo-order", arrived=lambda self, link, channel, sdu: (
    setattr(channel, "held", [sdu, *getattr(channel, "held", [])]),
    link.later(0.3, lambda: (self.write(link, channel, channel.held.pop(0)) if channel.held else None))))
defect("first-frame-alone", "echo", data=lambda self, link, channel, payload: (
    T.data(self, link, channel, payload) if channel.length is not None or len(payload) < 4 else T.data(self, link, channel, short(len(payload) - 2) + payload[2:])))
defect("echo-on-the-last-channel", "echo-of-two", arrived=lambda self, link, channel, sdu: self.write(link, list(link.channels.values())[-1], sdu))
defect("credits-shared", "echo-of-two", may_send=lambda self, channel: channel.is_open and (channel.credits > 0 or channel.remote == 0x42))

# Enhanced credit-based mode

defect("enhanced-unanswered", "enhanced-opens", connect_enhanced=nothing)
defect("enhanced-of-another-identifier", "enhanced-opens", answer=answered(CONNECTED_ENHANCED, other_identifier))
defect("enhanced-mtu-of-63", "enhanced-opens", answer=field(CONNECTED_ENHANCED, 0, 63))
defect("enhanced-mps-of-63", "enhanced-opens", answer=field(CONNECTED_ENHANCED, 2, 63))
defect("enhanced-without-credits", "enhanced-opens", answer=field(CONNECTED_ENHANCED, 4, 0))
defect("enhanced-one-cid", "enhanced-closes-one", accepted_enhanced=lambda self, opened, result: (
    T.accepted_enhanced(self, [opened[0] for _ in opened], result)))
defect("enhanced-first-alone", "enhanced-opens", accepted_enhanced=lambda self, opened, result: T.accepted_enhanced(self, opened[:1], result))
defect("enhanced-cid-out-of-range", "enhanced-opens", answer=field(CONNECTED_ENHANCED, 8, 0x80))
defect("enhanced-success-of-none", "enhanced-opens", accepted_enhanced=lambda self, opened, result: T.accepted_enhanced(self, [None for _ in opened], result))
defect("enhanced-any-service", "enhanced-other-service", service_fault=lambda self, link, psm: 0)
defect("enhanced-any-source-cid", "enhanced-source-cid-invalid", cid_fault=lambda self, link, remote: T.cid_fault(self, link, remote) % BAD_CID)
defect("enhanced-taken-cid", "enhanced-source-cid-taken", cid_fault=lambda self, link, remote: T.cid_fault(self, link, remote) % CID_TAKEN)
defect("enhanced-small-parameters", "enhanced-parameters", enhanced_parameter_fault=lambda *_: 0)
defect("enhanced-closes-all", "enhanced-closes-one", closed=lambda self, link, channel: [
    T.closed(self, link, other) for other in list(link.channels.values()) if other.is_enhanced])
defect("enhanced-echo-on-the-first", "enhanced-echo", arrived=lambda self, link, channel, sdu: self.write(link, next(iter(link.channels.values())), sdu))
defect("reconfiguration-unanswered", "reconfigures", answer=answered(RECONFIGURED, nothing))
defect("reconfiguration-refused", "reconfigures", answer=answered(RECONFIGURED, lambda identifier, body: (identifier, b"\1\0")))
defect("reconfiguration-without-effect", "reconfigures", reconfigure=lambda self, link, identifier, body: self.answer(link, RECONFIGURED, identifier, short(0)))
defect("mtu-shrinks", "shrinks[size=mtu]", shrinks_mtu=lambda *_: False)
defect("mps-of-several-shrinks", "shrinks[size=mps-of-several]", shrinks_mps=lambda *_: False)
defect("mps-is-an-mtu", "shrinks[size=mps-of-several]", reconfiguration_fault=lambda self, channels, mtu, mps: LESS_MTU if T.reconfiguration_fault(self, channels, mtu, mps) == 2 else T.reconfiguration_fault(self, channels, mtu, mps))
defect("reconfigures-no-channel", "shrinks[size=unknown-channel]", reconfiguration_fault=lambda self, channels, mtu, mps: 0,
       reconfigure=lambda self, link, identifier, body: self.answer(link, RECONFIGURED, identifier, short(0)))
defect("no-channel-is-unacceptable", "shrinks[size=unknown-channel]", reconfiguration_fault=lambda self, channels, mtu, mps: (
    4 if None in channels else T.reconfiguration_fault(self, channels, mtu, mps)))

# Legal

legal("as-it-is", "Core Vol 3, Part A, 10")
legal("no-enhanced-mode", "Core Vol 3, Part A, 4.25", is_enhanced=False)
legal("smallest-limits", "Core Vol 3, Part A, 4.23", mtu=23, mps=23, is_enhanced=False)
legal("largest-limits", "Core Vol 3, Part A, 4.23", mtu=65535, mps=65533, credits=65535)
legal("one-credit-at-a-time", "Core Vol 3, Part A, 10.1", credits=1, replenish=lambda self, link, channel: self.give(link, channel, 1))
legal("a-credit-for-each-frame", "Core Vol 3, Part A, 10.1", replenish=lambda self, link, channel: self.give(link, channel, 1))
legal("no-initial-credits", "Core Vol 3, Part A, 4.23", credits=0, is_enhanced=False, accept=lambda self, link, identifier, channel: (
    T.accept(self, link, identifier, channel), link.later(0.4, lambda: self.give(link, channel, 5))),
    replenish=lambda self, link, channel: self.give(link, channel, 1))
legal("late-credits", "Core Vol 3, Part A, 4.24", credits=3, replenish=lambda self, link, channel: link.later(
    1.5, lambda: channel.is_open and self.give(link, channel, 1)))
legal("one-channel", "Core Vol 3, Part A, 4.23", most=1)
legal("three-of-five", "Core Vol 3, Part A, 4.26", most=3)
legal("no-resources", "Core Vol 3, Part A, 4.23", has_room=lambda self, link: False)
legal("authorization", "Core Vol 3, Part A, 4.23", security_fault=lambda self, link, level: NO_AUTHORIZATION if level else 0)
legal("length-beside-mps", "Core Vol 3, Part A, 3.4.3", frames=lambda self, channel, sdu: [
    (short(len(sdu)) if start == 0 else b"") + sdu[start:start + channel.mps] for start in range(0, max(1, len(sdu)), channel.mps)])
legal("small-frames", "Core Vol 3, Part A, 3.4.3", room=lambda self, channel: 9)
legal("slow-echo", "Core Vol 3, Part A, 10.1", arrived=lambda self, link, channel, sdu: link.later(2.5, lambda: channel.is_open and self.write(link, channel, sdu)))
legal("other-source-answered", "Core Vol 3, Part A, 4.6", disconnect=lambda self, link, identifier, body: (
    T.disconnect(self, link, identifier, body) if body[:2] not in map(short, link.channels) else
    (self.closed(link, link.channels[body[0]]), self.answer(link, DISCONNECTED, identifier, body))[1]))
legal("invalid-for-both", "Core Vol 3, Part A, 4.26", enhanced_parameter_fault=lambda self, *rest: T.enhanced_parameter_fault(self, *rest) and UNACCEPTABLE)
legal("small-parameters-accepted", "Core Vol 3, Part A, 4.22", parameter_fault=lambda *_: 0)
legal("enhanced-beyond-accepted", "Core Vol 3, Part A, 4.25", enhanced_parameter_fault=lambda self, mtu, mps, credits: (
    T.enhanced_parameter_fault(self, mtu, min(mps, 65533), 1)))
legal("small-clients-refused", "Core Vol 3, Part A, 4.23", parameter_fault=lambda self, mtu, mps: UNACCEPTABLE if mps < 48 else 0)
legal("no-reconfiguration", "Core Vol 3, Part A, 4.1", reconfigure=lambda self, link, identifier, body: self.reject(link, identifier, 0))
legal("cids-from-the-top", "Core Vol 3, Part A, 2.1", free_cid=lambda self, link: next(cid for cid in range(0x7F, 0x3F, -1) if cid not in link.channels))
legal("ends-idle-channels", "Core Vol 3, Part A, 4.6", open=lambda self, link, *rest: (
    channel := T.open(self, link, *rest), link.later(90, lambda: channel.own in link.channels and self.end(link, channel)), channel)[2])
legal("says-something-first", "Core Vol 3, Part A, 10.1", accept=lambda self, link, identifier, channel: (
    T.accept(self, link, identifier, channel), self.write(link, channel, b"hello") if channel.psm == GUARDED else None))
