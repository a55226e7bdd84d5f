"""Changes of the product in att_product.py: defects, each with the case that finds it, and legal behaviour, each with its section.

A change replaces methods or numbers of the product; most are one line. `self` is the product, `T` the product without the change.
"""

import collections

import att_server as att
from att_product import Tally as T
from att_product import octets
from att_server import COMMAND, CONFIGURATION, DATABASE_HASH, ENCRYPTED, INDICATE, NOTIFY, READ, WRITE, Refusal, short

Change = collections.namedtuple("Change", "case methods")
Freedom = collections.namedtuple("Freedom", "section methods")
CHANGES = {}


def defect(name, case, **methods):
    assert name not in CHANGES, name
    CHANGES[name] = Change(case if case.startswith("smp-") else f"accessory-{case}", methods)


def legal(name, section, **methods):
    assert name not in CHANGES, name
    CHANGES[name] = Freedom(section, methods)


def product(name):
    import legal_changes  # noqa: F401 - it and what it imports add their rows to CHANGES
    return type("Changed", (T,), CHANGES[name].methods if name else {})()


def nothing(*_):
    return None


def changed(attribute, **fields):
    for field, value in fields.items():
        setattr(attribute, field, value)


def answers(change):
    """The answers to a request, changed."""
    return lambda self, link, pdu: change(T.answers(self, link, pdu), link, pdu)


def silent_to(opcode):
    return lambda self, link, pdu: [] if pdu[0] == opcode else T.answers(self, link, pdu)


# Values

defect("part-one-too-far", "att/long-value", part=lambda self, link, a, offset: T.part(self, link, a, offset + 1 if offset else 0))
defect("part-one-too-near", "att/long-value", part=lambda self, link, a, offset: T.part(self, link, a, max(0, offset - 1)))
defect("part-from-a-multiple-of-22", "att/long-value", part=lambda self, link, a, offset: T.part(self, link, a, offset // 22 * 22))
defect("part-always-the-first", "att/long-value", part=lambda self, link, a, offset: T.part(self, link, a, 0))


def cursor(self, link, attribute, offset):
    """A position of its own, which only a read resets."""
    if offset == 0:
        self.position = 0
    start, self.position = self.position, self.position + 22
    return T.part(self, link, attribute, start)


defect("part-by-a-cursor", "att/long-value", part=cursor)
defect("part-unanswered", "att/long-value", answers=silent_to(0x0C))
defect("part-after-64-zero", "att/long-value", part=lambda self, link, a, offset: T.part(self, link, a, offset) if offset < 20 else bytes(len(T.part(self, link, a, offset))))
defect("end-refused", "att/part-at-the-end", check_offset=lambda self, a, value, offset: T.check_offset(self, a, value, offset + 1))
defect("beyond-the-end-empty", "att/part-at-the-end", check_offset=nothing)
defect("short-part-empty", "att/part-of-short-value", part=lambda self, link, a, offset: b"" if self.is_part and len(a.value) < 22 else T.part(self, link, a, offset),
       is_part=False, answers=lambda self, link, pdu: (setattr(self, "is_part", pdu[0] == 0x0C), T.answers(self, link, pdu))[1])
defect("multiple-only-first", "att/read-multiple", answers=answers(lambda all, link, pdu: [all[0][:1 + len(all[0]) // 2]] if pdu[0] == 0x0E and all[0][0] == 0x0F else all))
defect("multiple-with-lengths", "att/read-multiple", read_multiple=lambda self, link, body: b"\x0f" + T.read_multiple_variable(self, link, body)[1:])
defect("variable-without-lengths", "att/read-multiple-variable", read_multiple_variable=lambda self, link, body: b"\x21" + T.read_multiple(self, link, body)[1:])
defect("by-type-one-short", "att/read-by-type-long", row_room=lambda self, link: link.mtu - 5)
defect("by-type-too-long", "att/read-by-type-long", row_room=lambda self, link: link.mtu)
defect("by-type-other-value", "att/read-by-type-value", read_by_type=lambda self, link, body: (
    answer := T.read_by_type(self, link, body), answer if body[4:] in (b"\x03\x28", b"\x2a\x2b") or len(answer) < 7 else answer[:-1] + bytes([answer[-1] ^ 1]))[1])
defect("echo-offset-zero", "att/prepare-echo", echo=lambda self, handle, offset, part: T.echo(self, handle, 0, part))
defect("echo-without-value", "att/prepare-echo", echo=lambda self, handle, offset, part: short(handle) + short(offset))
defect("echo-handle-one", "att/prepare-echo", echo=lambda self, handle, offset, part: T.echo(self, 1, offset, part))
defect("cancel-writes", "att/prepared[end=cancelled]", cancelled=lambda self, link, parts: self.execute(link, parts))
defect("prepare-writes", "att/prepared[end=unexecuted]", prepare_write=lambda self, link, body: (T.prepare_write(self, link, body), self.execute(link, link.queue))[0])


def shared_queue(self, link):
    self.queue = getattr(self, "queue", [])
    return self.queue


defect("queue-outlives-the-link", "att/prepare-left-behind", queue_of=shared_queue)
defect("gap-filled", "att/prepare-beyond-the-end", check_offset=lambda self, a, value, offset: None if offset > 500 and a.properties & WRITE else T.check_offset(self, a, value, offset),
       check_length=nothing, joined=lambda self, whole, offset, part: whole.ljust(offset, b"\0") + part)
defect("parts-from-zero", "att/executed", joined=lambda self, whole, offset, part: part)
defect("parts-reversed", "att/executed", joined=lambda self, whole, offset, part: part + whole[:offset])
defect("any-length-taken", "att/write-too-long", check_length=nothing)
defect("write-cuts", "att/rewritten", written=lambda self, a, value: value[:-1] if len(value) > 1 else value)
defect("write-adds-a-zero", "att/rewritten", written=lambda self, a, value: value + b"\0")
defect("write-without-effect-zero", "att/rewritten", written=lambda self, a, value: bytes(len(value)))
defect("mtu-of-last-link", "att/mtu-per-connection", opened=lambda self, link: (T.opened(self, link), setattr(link, "mtu", getattr(self, "last", 23)))[0],
       exchange_mtu=lambda self, link, body: (T.exchange_mtu(self, link, body), setattr(self, "last", link.mtu))[0])
defect("longer-than-mtu", "att/values-fit", read=lambda self, link, body: b"\x0b" + self.part(link, self.find(int.from_bytes(body, "little")), 0)[:link.mtu + 5])
defect("commands-answered", "att/command-unanswered", command=lambda self, link, pdu: (T.command(self, link, pdu), link.send(b"\x13"))[0])
defect("read-twice", "att/one-answer", answers=answers(lambda all, link, pdu: all * 2 if pdu[0] == 0x0A else all))
defect("writes-anything", "att/not-permitted[request=write]", check_write=nothing)
defect("prepares-anything", "att/not-permitted[request=prepare]", check_prepare=nothing)

# Discovery

defect("end-of-range-ignored", "discovery/everything", within=lambda self, first, last: T.within(self, first, 0xFFFF if first < last else last))
defect("search-beyond-the-range", "discovery/search-within-the-range", find_by_type_value=lambda self, link, body: T.find_by_type_value(self, link, body[:2] + (body[2:4] if body[:2] >= body[2:4] else b"\xff\xff") + body[4:]))
defect("search-by-two-octets", "discovery/whole-value", equals=lambda self, mine, theirs: mine[:2] == theirs[:2])
defect("search-by-prefix", "discovery/whole-value", equals=lambda self, mine, theirs: mine.startswith(theirs))
defect("long-form-unknown", "discovery/uuid-forms", type_of=lambda self, octets: T.type_of(self, bytes(16) if octets.startswith(att.BASE) else octets))
defect("long-form-is-bad", "discovery/uuid-forms", type_of=lambda self, octets: T.type_of(self, octets if len(octets) == 2 else b""))
defect("services-end-at-their-start", "discovery/service-by-uuid", find_by_type_value=lambda self, link, body: (answer := T.find_by_type_value(self, link, body), answer[:3] + answer[1:3] + answer[5:])[1])
defect("error-by-wrong-handle", "discovery/unknown-type", error=lambda self, opcode, handle, code: T.error(self, opcode, handle + 1, code))

# Protection

defect("blob-unprotected", "security/requests-refused-in-clear[request=read-blob]", check_part=nothing)
defect("by-type-unprotected", "security/requests-refused-in-clear[request=read-by-type]", check_by_type=lambda self, link, a: None if a.reads is not None else T.check_by_type(self, link, a))
defect("multiple-unprotected", "security/requests-refused-in-clear[request=read-multiple]", check_multiple=nothing)
defect("variable-unprotected", "security/requests-refused-in-clear[request=read-multiple-variable]", read_multiple_variable=lambda self, link, body: b"\x21" + b"".join(
    short(len(self.find(h).value)) + self.find(h).value for h in (body[0] | body[1] << 8, body[2] | body[3] << 8))[:link.mtu - 1])
defect("secret-open", "security/declared-reads", finish=lambda self, a: changed(a, reads=0) if a is self.secret else None)
defect("long-secret-open", "security/declared-reads", finish=lambda self, a: changed(a, reads=0) if a is self.long_secret else None)
defect("operator-open", "security/declared-reads", finish=lambda self, a: changed(a, reads=0) if a.reads == att.AUTHENTICATED else None)
defect("strong-open", "security/declared-reads", finish=lambda self, a: changed(a, reads=0) if a.reads == att.LONG_KEY else None)
defect("lock-open", "security/declared-writes", finish=lambda self, a: changed(a, writes=0) if a is self.lock else None)
defect("secret-written-in-clear", "security/declared-writes", finish=lambda self, a: changed(a, writes=0) if a is self.secret else None)
defect("prepared-in-clear", "security/declared-writes", check_prepare=lambda self, link, a: None if a.writes is not None else T.check_prepare(self, link, a))
defect("commanded-in-clear", "security/declared-commands", check_command=lambda self, link, a: None if a.properties & COMMAND else T.check_command(self, link, a))
defect("subscribed-in-clear", "security/declared-subscriptions", finish=lambda self, a: changed(a, writes=0) if a.is_of(CONFIGURATION) else None)
defect("told-in-clear", "security/silent-in-clear", may_send=lambda self, link, a: True, keeps=lambda self, link: link.client is not None)
defect("protection-once", "security/refused-after-disconnection", security_fault=lambda self, link, level: None if getattr(self, "was_met", False) or link.level and setattr(self, "was_met", True) else T.security_fault(self, link, level))
defect("bond-is-enough", "security/refused-after-disconnection", security_fault=lambda self, link, level: T.security_fault(self, link, level) if link.client is None else None)
defect("encryption-is-enough", "security/authentication-needed", security_fault=lambda self, link, level: T.security_fault(self, link, min(level, ENCRYPTED)))
defect("refused-after-pairing", "security/read-after-pairing", security_fault=lambda self, link, level: att.NO_ENCRYPTION if level else None)

# Notifications and indications

defect("never-notifies", "subscribe/values-come[kind=notifications]", notify=nothing)
defect("notifies-after-a-minute", "subscribe/values-come[kind=notifications]", tick=60.0)
defect("never-indicates", "subscribe/values-come[kind=indications]", indicate=nothing)
defect("notifies-for-indications", "subscribe/values-come[kind=indications]", tell=lambda self, link, a, value: self.notify(link, a, value) if self.wants(link, a) else None)
defect("indicates-for-notifications", "subscribe/values-come[kind=notifications]", tell=lambda self, link, a, value: self.indicate(link, a, value) if self.wants(link, a) else None)
defect("both-kinds", "subscribe/values-come[kind=notifications]", wants=lambda self, link, a: T.wants(self, link, a) and (a.properties >> 4 & 3))
defect("tells-everybody", "subscribe/declared-unasked", wants=lambda self, link, a: 1 if a is self.level else T.wants(self, link, a), configured=nothing)
defect("goes-on-unsubscribed", "subscribe/values-come[kind=notifications]", set_configuration=lambda self, link, a, value: T.set_configuration(self, link, a, value) if value else None,
       value=lambda self, link, a: b"\0\0" if a.is_of(CONFIGURATION) else T.value(self, link, a))
defect("too-long-told", "subscribe/values-come[kind=indications]", told=lambda self, link, value: value)
defect("two-indications", "subscribe/one-indication", indicate=lambda self, link, a, value: link.send(b"\x1d" + short(a.handle) + value[:20]))
defect("still-while-it-waits", "subscribe/one-indication", answers=lambda self, link, pdu: [] if link.is_waiting else T.answers(self, link, pdu))
defect("three-octets-taken", "subscribe/configuration-length", check_configuration_length=nothing)
defect("one-octet-read", "subscribe/configuration-length", value=lambda self, link, a: T.value(self, link, a)[:1] if a.is_of(CONFIGURATION) else T.value(self, link, a))
defect("bond-without-configuration", "subscribe/kept-for-a-bond", keeps=lambda self, link: False)
defect("configurations-of-the-last", "subscribe/each-connection[client=of-the-run]", store=lambda self, link: self.bonds.setdefault("all", {"configurations": {}, "features": b"\0"}))
defect("subscription-unread", "subscribe/subscribes[kind=notifications]", value=lambda self, link, a: b"\0\0" if a.is_of(CONFIGURATION) else T.value(self, link, a))

# Change

defect("hash-reversed", "gatt/database-hash", database_hash=lambda self: T.database_hash(self)[::-1])
defect("hash-of-a-constant", "gatt/database-hash", database_hash=lambda self: bytes(range(16)))
defect("hash-without-descriptors", "gatt/database-hash", hashed=lambda self: b"".join(
    short(a.handle) + a.type + a.value for a in self.attributes if 0x2800 <= int.from_bytes(a.type, "little") <= 0x2803))
defect("hash-without-includes", "gatt/database-hash", hashed=lambda self: T.hashed(type("Rest", (), {"attributes": [a for a in self.attributes if not a.is_of(att.INCLUDE)]})))
defect("hash-with-configurations", "gatt/database-hash", hashed=lambda self: b"".join(
    short(a.handle) + a.type + (b"\0\0" if a.is_of(CONFIGURATION) else a.value) for a in self.attributes if int.from_bytes(a.type, "little") >> 8 in (0x28, 0x29)))
defect("hash-of-8", "gatt/database-hash", database_hash=lambda self: T.database_hash(self)[:8])
defect("feature-cleared", "gatt/client-features", check_features=nothing)
defect("feature-not-kept", "gatt/client-features", set_features=nothing)
defect("features-of-all", "gatt/client-features", finish=lambda self, a: changed(a, value=b"\1") if a.is_of(att.CLIENT_FEATURES) else None,
       value=lambda self, link, a: a.value if a.is_of(att.CLIENT_FEATURES) else T.value(self, link, a))

# Legal

legal("as-it-is", "Core Vol 3, Part G")
legal("no-blob-of-short", "Core Vol 3, Part F, 3.4.4.5", check_part=lambda self, link, a: (T.check_part(self, link, a), self.refuse_short(link, a))[0],
      refuse_short=lambda self, link, a: (_ for _ in ()).throw(Refusal(att.NOT_LONG, a.handle)) if len(self.value(link, a)) < link.mtu else None)
legal("no-multiple", "Core Vol 3, Part F, 3.4.1.1", supports=T.supports - {0x0E, 0x20})
legal("no-variable", "Core Vol 3, Part F, 3.4.1.1", supports=T.supports - {0x20})
legal("no-prepare", "Core Vol 3, Part F, 3.4.1.1", supports=T.supports - {0x16, 0x18})
legal("no-mtu-request", "Core Vol 3, Part F, 3.4.2.1", supports=T.supports - {0x02})
legal("mtu-23", "Core Vol 3, Part F, 3.4.2.2", largest_mtu=23)
legal("mtu-517", "Core Vol 3, Part F, 3.4.2.2", largest_mtu=517)
legal("queue-of-one", "Core Vol 3, Part F, 3.4.6.1", queue_limit=1)
legal("queue-of-none", "Core Vol 3, Part F, 3.4.6.1", queue_limit=0)


def counting(self, link, attribute):
    """A value that changes with each read."""
    if attribute is not self.table and attribute is not self.level:
        return T.value(self, link, attribute)
    self.count = getattr(self, "count", 0) + 1
    return bytes([self.count % 101]) if attribute is self.level else octets(200, self.count % 50)


legal("values-change", "Core Vol 3, Part F, 3.2.4", value=counting)


def growing(self, link, attribute):
    self.count = getattr(self, "count", 0) + 1
    return octets(self.count % 60, 3) if attribute is self.table else T.value(self, link, attribute)


legal("lengths-change", "Core Vol 3, Part F, 3.2.9", value=growing)


def busy(self, link, attribute):
    T.check_read(self, link, attribute)
    self.count = getattr(self, "count", 0) + 1
    if attribute in (self.table, self.common, self.text, self.small) and self.count % 3 == 0:
        raise Refusal(att.APPLICATION, attribute.handle)


legal("busy-now-and-then", "Core Vol 3, Part F, 3.4.1.1", check_read=busy)
legal("writes-refused-by-application", "Core Vol 3, Part F, 3.4.1.1", check_length=lambda self, a, value: (_ for _ in ()).throw(Refusal(0x82, a.handle)) if a in (self.text, self.small) else T.check_length(self, a, value))
legal("own-length-fixed", "Core Vol 3, Part F, 3.4.5.1", finish=lambda self, a: changed(a, least=2, most=2) if a is self.small else None)
legal("prepares-checked-early", "Core Vol 3, Part F, 3.4.6.1", prepare_write=lambda self, link, body: (
    self.check_prepare(link, self.find(body[0] | body[1] << 8)), self.check_length(self.find(body[0] | body[1] << 8), body[4:]), T.prepare_write(self, link, body))[2])
legal("offset-checked-at-prepare", "Core Vol 3, Part F, 3.4.6.1", echo=lambda self, handle, offset, part: (
    (_ for _ in ()).throw(Refusal(att.INVALID_OFFSET, handle)) if offset > 100 else T.echo(self, handle, offset, part)))
legal("handles-with-gaps", "Core Vol 3, Part F, 3.2.2", gap=7)
legal("no-notifications-soon", "Core Vol 3, Part G, 4.10", tick=1.9)
legal("many-notifications", "Core Vol 3, Part G, 4.10", tick=0.05)
legal("waits-with-indications", "Core Vol 3, Part G, 4.11", pause=0.9)
legal("short-notifications", "Core Vol 3, Part G, 4.10", told=lambda self, link, value: value if len(value) == 4 else value[:1])
legal("configuration-of-one-octet-taken", "Core Vol 3, Part F, 3.4.5.1", check_configuration_length=lambda self, value: T.check_configuration_length(self, value) if len(value) > 2 else None)
legal("insufficient-encryption", "Core Vol 3, Part C, 10.3.1", has_key=lambda self, link: True)
legal("authentication-first", "Core Vol 3, Part F, 3.2.5", has_key=lambda self, link: False)
legal("authorization", "Core Vol 3, Part F, 3.2.5", security_fault=lambda self, link, level: 8 if level else None)
legal("signed-with-a-key-it-has-not", "Core Vol 3, Part F, 3.4.5.4", signed=nothing)
legal("features-of-two-octets", "Core Vol 3, Part G, 7.2", finish=lambda self, a: changed(a, most=8) if a.is_of(att.CLIENT_FEATURES) else None)
legal("refuses-the-whole-queue", "Core Vol 3, Part F, 3.4.6.3", execute=lambda self, link, parts: (_ for _ in ()).throw(Refusal(att.UNLIKELY, parts[0][0])) if parts else None)
legal("normalises-case", "Core Vol 3, Part G, 4.9.3", written=lambda self, a, value: value.lower() if a is self.text else value)
legal("error-handle-zero-unsupported", "Core Vol 3, Part F, 3.4.1.1", supports=T.supports - {0x0E, 0x20, 0x16, 0x18}, unsupported_handle=lambda self, body: 0)
