"""Further changes of the product in att_product.py: to its discovery, its errors, its values, its advertising, its link and its pairing."""

import asyncio

from bumble import smp
from bumble.core import AdvertisingData
from bumble.hci import OwnAddressType, Phy
from bumble.pairing import PairingConfig, PairingDelegate

import att_server as att
from att_changes import CHANGES, answers, changed, defect, legal, nothing
from att_product import CID, GIVEN, KEYS, NAME, Database, octets, own, structures
from att_product import Tally as T
from att_server import (
    CHARACTERISTIC, COMMAND, CONFIGURATION, DESCRIPTION, ENCRYPTED, EXTENDED, EXTENDED_PROPERTIES, INDICATE, NOTIFY, PRIMARY, READ, SERVICE_CHANGED,
    WRITE, Refusal, short,
)

assert CHANGES


def finish(condition, **fields):
    """Changes the attributes that satisfy a condition."""
    return lambda self, attribute: changed(attribute, **{
        name: value(attribute) if callable(value) else value for name, value in fields.items()}) if condition(self, attribute) else None


def renamed(number, other):
    """The characteristic has another UUID."""
    return finish(
        lambda self, a: a.is_of(number) or a.is_of(CHARACTERISTIC) and a.value[3:] == short(number),
        type=lambda a: a.type if a.is_of(CHARACTERISTIC) else other, value=lambda a: a.value[:3] + other if a.is_of(CHARACTERISTIC) else a.value)


def is_service(number):
    return lambda self, a: a.is_of(PRIMARY) and a.value == short(number)


def is_value(number):
    return lambda self, a: a.is_of(number)


def rewritten(opcode, change):
    """A request is taken for another one."""
    return lambda self, link, pdu: T.answers(self, link, change(pdu) if pdu[0] == opcode else pdu)


def other_error(opcode, code, other):
    """The answer to a request has another error."""
    return answers(lambda all, link, pdu: [answer[:4] + bytes([other]) if answer[:2] == bytes([1, opcode]) and answer[4] == code else answer for answer in all])


# Discovery

defect("no-gap-service", "discovery/gap-service", finish=finish(is_service(0x1800), value=short(0x1234)))
defect("two-gatt-services", "discovery/gatt-service", finish=finish(is_service(0x180F), value=short(0x1801)))
defect("appearance-of-one-octet", "discovery/gap-service", finish=finish(is_value(0x2A01), value=b"\x00"))
defect("nothing-found-by-short-uuid", "discovery/everything", type_of=lambda self, octets: octets)
defect("any-group", "discovery/unknown-group", read_by_group_type=lambda self, link, body: T.read_by_group_type(self, link, body[:4] + short(PRIMARY)))
defect("any-service-found", "discovery/unknown-service", equals=lambda self, mine, theirs: True)
defect("last-attribute-again", "discovery/beyond-the-last", answers=lambda self, link, pdu: (
    [b"\x05\x01" + short(0xFFFF) + short(DESCRIPTION)] if pdu == b"\x04\xff\xff\xff\xff" else T.answers(self, link, pdu)))
defect("range-from-zero-information", "discovery/within-range[request=find-information]", answers=rewritten(4, lambda pdu: pdu.replace(b"\x04\x00\x00", b"\x04\x01\x00")))
defect("range-from-zero-type", "discovery/within-range[request=read-by-type]", answers=rewritten(8, lambda pdu: pdu.replace(b"\x08\x00\x00", b"\x08\x01\x00")))
defect("range-from-zero-group", "discovery/within-range[request=read-by-group-type]", answers=rewritten(16, lambda pdu: pdu.replace(b"\x10\x00\x00", b"\x10\x01\x00")))
defect("range-from-zero-value", "discovery/within-range[request=find-by-type-value]", answers=rewritten(6, lambda pdu: pdu.replace(b"\x06\x00\x00", b"\x06\x01\x00")))
defect("services-from-the-first", "discovery/everything", read_by_group_type=lambda self, link, body: T.read_by_group_type(self, link, b"\1\0" + body[2:]))
defect("one-declaration-too-many", "discovery/characteristic-alone", read_by_type=lambda self, link, body: (
    answer := T.read_by_type(self, link, body), answer + answer[2:] if body[:2] == body[2:4] and body[4:] == short(CHARACTERISTIC) and len(answer) < 12 else answer)[1])
defect("found-at-the-next-handle", "discovery/read-by-uuid", read_by_type=lambda self, link, body: (
    answer := T.read_by_type(self, link, body), answer if body[4:] == short(CHARACTERISTIC) else answer[:2] + bytes([answer[2] + 1]) + answer[3:])[1])
defect("type-of-value-lost", "discovery/declared[by=value-type]", find_information=lambda self, link, body: (
    answer := T.find_information(self, link, body), answer[:4] + b"\x00\x29" if body[:2] == body[2:] and body[0] == self.level.handle else answer)[1])
defect("type-of-descriptor-lost", "discovery/declared[by=descriptor-type]", find_information=lambda self, link, body: (
    answer := T.find_information(self, link, body), answer[:4] + b"\x03\x29" if body[:2] == body[2:] and answer[4:] == b"\x02\x29" else answer)[1])
defect("declaration-read-otherwise", "discovery/declared[by=characteristic-declaration]", part=lambda self, link, a, offset: (
    value := T.part(self, link, a, offset), bytes([value[0] ^ 2]) + value[1:] if a.is_of(CHARACTERISTIC) and value else value)[1])
defect("service-read-otherwise", "discovery/declared[by=service-declaration]", part=lambda self, link, a, offset: T.part(self, link, a, offset)[::-1] if a.is_of(PRIMARY) else T.part(self, link, a, offset))
defect("information-from-the-next", "discovery/within-the-range", find_information=lambda self, link, body: T.find_information(self, link, (
    short((body[0] | body[1] << 8) + 1) if body[:2] < body[2:] and body[0] > 20 else body[:2]) + body[2:]))

# Requests and errors

defect("handle-zero-read", "att/handle-zero[request=read]", find=lambda self, handle, first=1, last=0xFFFF: T.find(self, handle or 3))
defect("handle-zero-written", "att/handle-zero[request=write]", write=lambda self, link, body: b"\x13" if body[:2] == b"\0\0" else T.write(self, link, body))
defect("handle-zero-in-parts", "att/handle-zero[request=read-blob]", read_blob=lambda self, link, body: b"\x0d" if body[:2] == b"\0\0" else T.read_blob(self, link, body))
defect("no-handle-is-not-found", "att/handle-beyond[request=read]", answers=other_error(0x0A, att.INVALID_HANDLE, att.NOT_FOUND))
defect("no-handle-is-unlikely", "att/handle-beyond[request=write]", answers=other_error(0x12, att.INVALID_HANDLE, att.UNLIKELY))
defect("no-handle-is-an-offset", "att/handle-beyond[request=read-blob]", answers=other_error(0x0C, att.INVALID_HANDLE, att.INVALID_OFFSET))
defect("offset-of-one-octet", "att/offset-beyond-all", read_blob=lambda self, link, body: T.read_blob(self, link, body[:3] + b"\0"))
defect("unknown-request-ignored", "att/unknown-request", answers=lambda self, link, pdu: T.answers(self, link, pdu) if pdu[0] in self.supports else [])
defect("unknown-request-invalid", "att/unknown-request", answers=other_error(0x3E, att.NOT_SUPPORTED, att.INVALID_PDU))
defect("unknown-command-refused", "att/unknown-command", command=lambda self, link, pdu: T.command(self, link, pdu) if pdu[0] in (0x52, 0xD2) else link.send(bytes([1, pdu[0], 0, 0, 6])))
defect("mtu-of-20", "att/mtu", largest_mtu=20)
defect("mtu-of-server-alone", "att/mtu-of-client", exchange_mtu=lambda self, link, body: (T.exchange_mtu(self, link, body), setattr(link, "mtu", self.largest_mtu))[0])
defect("reads-anything", "att/not-permitted[request=read]", check_read=lambda self, link, a: None if a.reads is None else T.check_read(self, link, a))
defect("declarations-written", "att/declaration-not-written", write=lambda self, link, body: b"\x13" if self.find(body[0] | body[1] << 8).is_of(CHARACTERISTIC) else T.write(self, link, body))
defect("nothing-to-cancel", "att/cancel-of-nothing", execute_write=lambda self, link, body: T.execute_write(self, link, body) if link.queue else (_ for _ in ()).throw(Refusal(att.UNLIKELY)))
defect("no-mtu-answer", "att/mtu", answers=lambda self, link, pdu: [] if pdu[0] == 2 else T.answers(self, link, pdu))
defect("writes-unanswered", "att/rewritten", answers=lambda self, link, pdu: (T.answers(self, link, pdu), [])[1] if pdu[0] == 0x12 else T.answers(self, link, pdu))
defect("errors-of-another-request", "att/handle-beyond[request=read]", error=lambda self, opcode, handle, code: T.error(self, 0x08 if opcode == 0x0A else opcode, handle, code))
defect("errors-cut-short", "att/handle-beyond[request=read]", error=lambda self, opcode, handle, code: T.error(self, opcode, handle, code)[:4])

# Characteristics and their values

defect("two-device-names", "gatt/device-name", finish=finish(is_value(0x2A01), type=short(0x2A00), value=b"Tally 5"))
defect("extended-without-descriptor", "gatt/extended-properties", finish=finish(is_value(EXTENDED_PROPERTIES), type=short(0x2904)))
defect("counter-without-configuration", "gatt/configurations", finish=finish(lambda self, a: a.is_of(CONFIGURATION) and a.of is self.counter, type=short(0x2904)))
defect("service-changed-readable", "gatt/service-changed", finish=finish(
    lambda self, a: a.is_of(CHARACTERISTIC) and a.value[3:] == short(SERVICE_CHANGED), value=lambda a: b"\x22" + a.value[1:]))
defect("level-of-187", "values/formats", finish=finish(is_value(0x2A19), value=b"\xbb"))
defect("level-of-two-octets", "values/formats", finish=finish(is_value(0x2A19), value=b"\x55\x00"))
defect("maker-no-text", "values/formats", finish=finish(is_value(0x2A29), value=b"Mak\xff\xfe"))
defect("appearance-of-three-octets", "values/formats", finish=finish(is_value(0x2A01), value=b"\0\2\0"))
defect("description-no-text", "values/formats", finish=finish(is_value(DESCRIPTION), value=b"\xc3\x28 label"))
defect("format-of-six-octets", "values/formats", finish=finish(is_value(0x2904), value=bytes.fromhex("0400AD270100")))

# Subscriptions

defect("subscribed-at-first", "subscribe/default", configuration=lambda self, link, a: self.store(link)["configurations"].get(a.handle, 1))
defect("notifies-at-first", "subscribe/silent-at-first", opened=lambda self, link: (T.opened(self, link), link.later(1, lambda: self.notify(link, self.level, b"\x50")))[0])
defect("indicates-at-first", "subscribe/silent-at-first", opened=lambda self, link: (T.opened(self, link), link.later(1, lambda: self.indicate(link, self.changed, b"\1\0\xff\xff")))[0])
defect("never-unsubscribed", "subscribe/unsubscribed", set_configuration=lambda self, link, a, value: T.set_configuration(self, link, a, value) if value else None)
defect("indications-not-configured", "subscribe/subscribes[kind=indications]", check_configuration=lambda self, a, bits: T.check_configuration(self, a, bits), value=lambda self, link, a: (
    short(self.configuration(link, a) & 1) if a.is_of(CONFIGURATION) else T.value(self, link, a)))
defect("configuration-refused", "subscribe/subscribes[kind=indications]", check_configuration=lambda self, a, bits: (_ for _ in ()).throw(Refusal(att.NO_WRITE)) if bits & 2 else None)

# Changes of the services, and two clients

defect("hash-of-the-start", "change/hash-follows", database_hash=lambda self: setattr(self, "first", getattr(self, "first", None) or T.database_hash(self)) or self.first)
defect("hash-counts-changes", "change/hash-follows", database_changed=lambda self, first, last: (
    setattr(self, "changes", getattr(self, "changes", 0) + 1), T.database_changed(self, first, last))[1],
    database_hash=lambda self: T.database_hash(self)[:-1] + bytes([getattr(self, "changes", 0) // 2 & 0xFF]))
defect("change-of-one-handle", "change/service-changed", change_value=lambda self, first, last: short(first) + short(first))
defect("change-elsewhere", "change/service-changed", change_value=lambda self, first, last: short(1) + short(first - 1))
defect("change-upside-down", "change/service-changed", change_value=lambda self, first, last: short(last) + short(first))
defect("change-of-two-octets", "change/service-changed", change_value=lambda self, first, last: short(first))
defect("change-untold", "change/service-changed", tell_change=nothing)
defect("change-notified", "change/service-changed", tell_change=lambda self, link, value: self.notify(link, self.changed, value) if self.wants(link, self.changed) else None)
defect("change-told-to-all", "change/unsubscribed", tell_change=lambda self, link, value: self.indicate(link, self.changed, value))
defect("change-not-told-later", "change/reported-later", changed_while_away=nothing)
defect("change-told-later-elsewhere", "change/reported-later", changed_while_away=lambda self, client, value: T.changed_while_away(self, client, b"\1\0\1\0"))
defect("never-out-of-sync", "change/change-aware[by=second-request]", awareness_fault=nothing)
defect("always-out-of-sync", "change/change-aware[by=second-request]", awareness_fault=lambda self, link: att.OUT_OF_SYNC if self.is_out_of_sync(link) else None)
defect("out-of-sync-as-unlikely", "change/change-aware[by=second-request]", answers=answers(lambda all, link, pdu: [
    answer[:4] + b"\x0e" if answer[:1] == b"\1" and answer[4:] == b"\x12" else answer for answer in all]))
defect("hash-leaves-unaware", "change/change-aware[by=hash]", reads_hash=nothing)
defect("hash-out-of-sync", "change/change-aware[by=hash]", reads_hash=lambda self, link: (_ for _ in ()).throw(Refusal(att.OUT_OF_SYNC)) if self.is_out_of_sync(link) else None)
defect("everybody-out-of-sync", "change/without-robust-caching", is_robust=lambda self, link: True)
defect("bonded-client-aware", "change/out-of-sync-later", secured=nothing)
defect("stranger-out-of-sync", "change/out-of-sync-later", database_changed=lambda self, first, last: (
    setattr(self, "is_changed", True), T.database_changed(self, first, last))[1], opened=lambda self, link: (
    T.opened(self, link), setattr(link, "is_aware", not getattr(self, "is_changed", False)))[0])
defect("features-of-the-last-link", "change/features-kept", set_features=lambda self, link, value: setattr(self, "last", value),
       value=lambda self, link, a: getattr(self, "last", b"\0") if a.is_of(att.CLIENT_FEATURES) else T.value(self, link, a))
defect("features-forgotten", "change/features-kept", closed=lambda self, link: (T.closed(self, link), [state.update(features=b"\0") for state in self.bonds.values()])[0])
legal("change-of-everything", "Core Vol 3, Part G, 7.1", change_value=lambda self, first, last: b"\1\0\xff\xff")
legal("change-of-more", "Core Vol 3, Part G, 7.1", change_value=lambda self, first, last: short(first - 3) + short(last + 9))
legal("change-in-two-parts", "Core Vol 3, Part G, 7.1", tell_change=lambda self, link, value: (
    T.tell_change(self, link, value[:2] + value[:2]), T.tell_change(self, link, short(value[0] + 1) + value[2:]))[0])
legal("change-told-after-10-s", "Core Vol 3, Part G, 7.1", tell_change=lambda self, link, value: link.later(10, lambda: link.is_open and T.tell_change(self, link, value)) and None)
legal("no-client-features", "Core Vol 3, Part G, 7.2", finish=renamed(att.CLIENT_FEATURES, own(91)), awareness_fault=nothing)

# Advertising


def advertises(*rows):
    return lambda self: structures(*rows)


FLAGS, LOCAL_NAME, SHORT_NAME = (AdvertisingData.FLAGS, b"\x06"), (AdvertisingData.COMPLETE_LOCAL_NAME, NAME.encode()), AdvertisingData.SHORTENED_LOCAL_NAME
defect("flags-of-both-modes", "advertising/data[rule=flags]", data=advertises((AdvertisingData.FLAGS, b"\x07"), LOCAL_NAME))
defect("flags-in-response", "advertising/data[rule=flags]", response=advertises(FLAGS))
defect("name-twice", "advertising/data[rule=once]", data=advertises(FLAGS, LOCAL_NAME, LOCAL_NAME))
defect("name-of-another", "advertising/name", data=advertises(FLAGS, LOCAL_NAME), finish=finish(is_value(0x2A00), value=b"Gauge 9"))
defect("services-of-three-octets", "advertising/data[rule=sizes]", data=advertises(FLAGS, LOCAL_NAME, (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, b"\x0f\x18\x0a")))
defect("power-of-two-octets", "advertising/data[rule=sizes]", data=advertises(FLAGS, LOCAL_NAME, (AdvertisingData.TX_POWER_LEVEL, b"\0\0")))
defect("structure-cut", "advertising/data[rule=whole]", data=lambda self: T.data(self) + b"\x09\xff\x59\x00")
defect("rest-not-zero", "advertising/data[rule=whole]", data=lambda self: T.data(self) + b"\x00\x01\x02")
defect("address-of-ones", "advertising/data[rule=address]", address="FF:FF:FF:FF:FF:FF")

# Links

defect("back-after-12-s", "link/advertises-again", pause_before_advertising=lambda self, connections: 12 if connections else 0)
defect("never-back", "link/reconnects", pause_before_advertising=lambda self, connections: None if connections == 4 else 0)


def dies(*requests):
    """After one of the requests nothing is answered any more, on no link."""
    def received(self, link, pdu):
        self.is_dead = getattr(self, "is_dead", False) or any(pdu.startswith(request) for request in requests)
        return None if self.is_dead else T.received(self, link, pdu)
    return received


for name, case, pdu in [
    ("group", "att-cut-group", "100100FFFF"), ("mtu", "att-cut-mtu", "0217"), ("read", "att-cut-read", "0A03"), ("response", "att-response", "0B00"),
    ("confirmation", "att-confirmation", "1E"), ("flags", "att-execute-reserved", "187F"), ("no-values", "att-multiple-of-none", "0E"),
    ("uuid-of-three", "att-type-of-three", "080100FFFF002800"), ("long-command", "att-too-long", "52FEFF"), ("zero-mtu", "att-mtu-small", "020000"),
]:
    octets_of = bytes.fromhex(pdu)
    exact = {"group", "mtu", "read", "no-values", "uuid-of-three"}
    defect(f"dies-of-{name}", f"robust/survives[pdu={case}]", received=(
        lambda wanted: lambda self, link, pdu: dies(pdu if pdu == wanted else b"\xff")(self, link, pdu))(octets_of) if name in exact else dies(octets_of))


def signalling(answer):
    """Bumble's signalling channel, answered otherwise."""
    def prepare(self, device):
        manager = device.l2cap_channel_manager
        original = manager.on_pdu

        def received(connection, cid, pdu):
            if cid == 5 and (reply := answer(bytes(pdu))) is not None:
                if reply:
                    device.send_l2cap_pdu(connection.handle, 5, reply)
                return
            original(connection, cid, pdu)
        manager.on_pdu = received
    return prepare


defect("signalling-ignored", "link/signalling-unknown", prepare=signalling(lambda pdu: b"" if pdu[0] == 0xF3 else None))
defect("signalling-of-another-identifier", "link/signalling-unknown", prepare=signalling(lambda pdu: bytes([1, pdu[1] ^ 1, 2, 0, 0, 0]) if pdu[0] == 0xF3 else None))
defect("any-channel", "link/channel-unknown", prepare=signalling(
    lambda pdu: bytes([0x15, pdu[1], 10, 0, 0x41, 0, 64, 0, 64, 0, 1, 0, 0, 0]) if pdu[0] == 0x14 else None))

# Pairing



def keep_first(store):
    """A store that keeps the first keys of a peer and loses later ones."""
    async def update(name, keys):
        if not await store.get(name):
            await type(store).update(store, name, keys)
    return update


defect("short-key-is-enough", "security/long-key-needed", security_fault=lambda self, link, level: T.security_fault(self, link, ENCRYPTED if level == att.LONG_KEY else level))
defect("bond-lost-at-disconnection", "security/reconnects-encrypted", closed=lambda self, link: (
    T.closed(self, link), asyncio.get_running_loop().create_task(self.device.keystore.delete_all()))[0], prepare=lambda self, device: setattr(self, "device", device))
defect("first-bond-kept", "security/new-bond-counts", prepare=lambda self, device: setattr(self, "device", device), opened=lambda self, link: (
    T.opened(self, link), setattr(self.device.keystore, "update", keep_first(self.device.keystore)))[0])
defect("silent-after-encryption", "pairing/secure-connections", received=lambda self, link, pdu: None if link.level else T.received(self, link, pdu))



def may_ask(device, connection, link):
    """No Security_Request is sent during a pairing or on an encrypted link. Core Vol 3, Part H, 2.4.6."""
    session = device.smp_manager.sessions.get(connection.handle)
    return link.is_open and not link.level and (session is None or session.completed)


def asks_every(seconds, may=may_ask):
    """Asks for security again and again, whatever the central answered."""
    def met(self, device, connection, link):
        def ask():
            if may(device, connection, link):
                connection.request_pairing()
            if link.is_open:
                link.later(seconds, ask)
        ask()
    return met


defect("asks-without-end", "pairing/requests-after-failures", asks=True, met=asks_every(0.2))
defect("asks-in-pairing", "pairing/no-request-in-pairing", asks=True, met=asks_every(0.3, lambda device, connection, link: link.is_open))
legal("asks-with-growing-pauses", "Core Vol 3, Part H, 2.3.6", asks=True, met=lambda self, device, connection, link: [
    link.later(seconds, lambda: may_ask(device, connection, link) and connection.request_pairing()) for seconds in (0.3, 0.6, 1.2, 2.4, 4.8)] and None)

# Legal: attributes

legal("slow-answers", "Core Vol 3, Part F, 3.3.3", received=lambda self, link, pdu: (
    None if [link.later(0.7, lambda answer=answer: link.send(answer)) for answer in self.answers(link, pdu)] or True else None)
    if pdu and not pdu[0] & 0x41 and pdu[0] != 0x1E else T.received(self, link, pdu))
legal("no-device-information", "Core Vol 3, Part G, 3.1", finish=finish(lambda self, a: a.value == short(0x180A), value=short(0x181C)))
legal("no-service-changed", "Core Vol 3, Part G, 7.1", finish=renamed(SERVICE_CHANGED, own(90)))


def arranged(*parts):
    """Another arrangement of services."""
    def layout(self, db):
        for part in parts:
            part(self, db)
        return db
    return layout


def gap(self, db):
    db.service(0x1800)
    db.characteristic(0x2A00, READ, NAME.encode())
    db.characteristic(0x2A01, READ, b"\x00\x02")


def gatt(self, db):
    db.service(0x1801)
    self.changed = db.characteristic(SERVICE_CHANGED, INDICATE)


def battery(self, db, properties=READ | NOTIFY):
    db.service(0x180F)
    self.level = db.characteristic(0x2A19, properties, b"\x55")


def values(self, db):
    db.service(own(0))
    self.own_values(db)


def guarded(self, db):
    db.service(own(50))
    self.guarded_values(db)


def tells(*names):
    return lambda self: [getattr(self, name) for name in names]


legal("other-order", "Core Vol 3, Part G, 2.5.1", layout=arranged(guarded, battery, gap, values, gatt), finish=nothing)
legal("gap-alone", "Core Vol 3, Part G, 2.5", layout=arranged(gap), sending=tells())
legal("notifies-only", "Core Vol 3, Part G, 3.3.1.1", layout=arranged(gap, lambda self, db: battery(self, db, NOTIFY)), sending=tells("level"))
legal("reads-only", "Core Vol 3, Part G, 3.3.1.1", layout=arranged(gap, lambda self, db: battery(self, db, READ)), sending=tells())
legal("same-characteristic-twice", "Core Vol 3, Part G, 3.3", layout=arranged(gap, gatt, battery, battery, values), sending=tells("level", "counter"))
legal("many-services", "Core Vol 3, Part G, 2.6.2", layout=arranged(gap, gatt, *[lambda self, db, n=n: (
    db.service(own(100 + n)), db.characteristic(own(200 + n), READ, octets(n, n))) for n in range(24)]), sending=tells())
legal("wide-and-short-uuids", "Core Vol 3, Part B, 2.5.1", layout=arranged(*[lambda self, db, n=n: (
    db.service(0x1820 + n if n % 2 else own(100 + n)), db.characteristic(0x2B90 + n if n % 3 else own(200 + n), READ, octets(n, n))) for n in range(9)], gap), sending=tells())
legal("at-the-end-of-handles", "Core Vol 3, Part F, 3.2.2", layout=lambda self, db: (gap(self, db), setattr(db, "next", 0xFF00), values(self, db), setattr(db, "next", 0xFFFC), battery(self, db), db)[-1], sending=tells("level", "counter"))
legal("value-of-512", "Core Vol 3, Part F, 3.2.9", finish=finish(lambda self, a: a is self.table, value=octets(512, 5)))
legal("value-of-none", "Core Vol 3, Part F, 3.2.4", finish=finish(lambda self, a: a in (self.table, self.common), value=b""))
legal("value-of-22", "Core Vol 3, Part F, 3.4.4.3", finish=finish(lambda self, a: a in (self.table, self.common), value=octets(22, 5)))
legal("value-of-23", "Core Vol 3, Part F, 3.4.4.3", finish=finish(lambda self, a: a in (self.table, self.common), value=octets(23, 5)))
legal("service-without-characteristics", "Core Vol 3, Part G, 3.1", layout=arranged(gap, gatt, lambda self, db: db.service(own(70)), battery, values), sending=tells("level", "counter"))
legal("two-of-each-descriptor", "Core Vol 3, Part G, 3.3.3.5", layout=arranged(gap, lambda self, db: (
    db.service(own(71)), db.characteristic(own(72), READ, b"\1"), db.add(0x2904, bytes.fromhex("0400AD27010000")), db.add(0x2904, bytes.fromhex("0600AD27010000")),
    db.add(0x2905, short(5) + short(6)), db.add(DESCRIPTION, b"Two of them"))), sending=tells())
legal("description-writable", "Core Vol 3, Part G, 3.3.3.2", layout=arranged(gap, lambda self, db: (
    db.service(own(71)), db.characteristic(own(72), READ | EXTENDED, b"\1"), db.add(EXTENDED_PROPERTIES, b"\2\0"), db.add(DESCRIPTION, b"Any", writes=0, most=30))), sending=tells())
legal("all-encrypted", "Core Vol 3, Part C, 10.3", finish=finish(
    lambda self, a: not any(a.is_of(n) for n in (PRIMARY, att.SECONDARY, att.INCLUDE, CHARACTERISTIC, EXTENDED_PROPERTIES, 0x2A00, 0x2A01, att.DATABASE_HASH)),
    reads=lambda a: None if a.reads is None else max(a.reads, ENCRYPTED), writes=lambda a: None if a.writes is None else max(a.writes, ENCRYPTED)))
legal("security-first", "Core Vol 3, Part F, 4", check_prepare=lambda self, link, a: (
    (_ for _ in ()).throw(Refusal(self.security_fault(link, ENCRYPTED), a.handle)) if not link.level else T.check_prepare(self, link, a)))
legal("bad-handle-in-unknown", "Core Vol 3, Part F, 3.4.1.1", unsupported_handle=lambda self, body: int.from_bytes(body[:2], "little"))
legal("values-cut-at-100", "Core Vol 3, Part F, 3.4.4.3", largest_mtu=100)
legal("mtu-asked-by-device", "Core Vol 3, Part F, 3.4.2.1", met=lambda self, device, connection, link: link.later(0.2, lambda: link.send(b"\x02\x64\x00")))
legal("services-of-the-tester-read", "Core Vol 3, Part G, 4.4.1", met=lambda self, device, connection, link: link.later(0.2, lambda: link.send(b"\x10\x01\x00\xff\xff\x00\x28")))
legal("subscriptions-of-any-bits", "Core Vol 3, Part G, 3.3.3.3", check_configuration=nothing)
legal("insufficient-resources", "Core Vol 3, Part F, 3.4.1.1", prepare_write=lambda self, link, body: (
    self.check_prepare(link, self.find(body[0] | body[1] << 8)), (_ for _ in ()).throw(Refusal(0x11, body[0] | body[1] << 8)))[1])

# Legal: advertising, links and pairing

legal("name-in-response", "Core Vol 3, Part C, 11", data=advertises(FLAGS), response=advertises(LOCAL_NAME))
legal("no-flags", "Core Supplement, Part A, 1.3", data=advertises(LOCAL_NAME))
legal("limited-discoverable", "Core Supplement, Part A, 1.3", data=advertises((AdvertisingData.FLAGS, b"\x05"), LOCAL_NAME))
legal("maker-data", "Core Supplement, Part A, 1.4", response=advertises((AdvertisingData.MANUFACTURER_SPECIFIC_DATA, b"\xff\xff" + octets(20, 3))))
legal("all-31-octets", "Core Vol 3, Part C, 11", data=lambda self: T.data(self) + structures((AdvertisingData.MANUFACTURER_SPECIFIC_DATA, octets(17, 1))))
legal("zeros-behind", "Core Vol 3, Part C, 11", data=lambda self: T.data(self) + bytes(5))
legal("every-second", "Core Vol 3, Part C, Appendix A", interval=1000)
legal("back-after-4-s", "Core Vol 3, Part C, 9.3.4", pause_before_advertising=lambda self, connections: 4 if connections else 0)


async def extended(self, device, secondary=Phy.LE_1M):
    if getattr(self, "set", None):
        return await self.set.start()
    from bumble.device import AdvertisingEventProperties, AdvertisingParameters
    self.set = await device.create_advertising_set(
        advertising_parameters=AdvertisingParameters(
            advertising_event_properties=AdvertisingEventProperties(is_connectable=True), own_address_type=OwnAddressType.RANDOM,
            primary_advertising_interval_min=20, primary_advertising_interval_max=20, secondary_advertising_phy=secondary),
        random_address=device.random_address, advertising_data=self.data(), auto_start=True)
    return None


legal("extended-advertising", "Core Vol 6, Part B, 4.4.2.3", advertise=extended)
legal("declines-to-pair", "Core Vol 3, Part H, 3.5.5", prepare=lambda self, device: setattr(
    smp.Session, "on_smp_pairing_request_command", lambda session, command: session.send_pairing_failed(smp.ErrorCode.PAIRING_NOT_SUPPORTED)))
legal("no-bonds", "Core Vol 3, Part H, 3.5.3", bonds_are_kept=False, declares=T.declares.replace("  bonds: true\n", ""))
legal("secure-connections-only", "Core Vol 3, Part C, 10.2.4", prepare=lambda self, device: only_secure())
legal("keys-of-7", "Core Vol 3, Part H, 2.3.4", largest_key=7)
legal("keys-of-12", "Core Vol 3, Part H, 2.3.4", largest_key=12)
legal("no-identity-key", "Core Vol 3, Part H, 3.6.1", distribution=KEYS.DISTRIBUTE_ENCRYPTION_KEY)
legal("asks-for-security", "Core Vol 3, Part H, 2.4.6", asks=True, met=lambda self, device, connection, link: link.later(
    0.3, lambda: may_ask(device, connection, link) and connection.request_pairing()))
legal("asks-for-parameters", "Core Vol 3, Part C, 9.3.12", met=lambda self, device, connection, link: link.later(
    5, lambda: link.is_open and device.send_l2cap_pdu(connection.handle, 5, bytes.fromhex("1201080018002800000090 01".replace(" ", "")))))


def only_secure():
    original = smp.Session.on_smp_pairing_request_command

    def received(session, command):
        if not command.auth_req & 8:
            return session.send_pairing_failed(smp.ErrorCode.AUTHENTICATION_REQUIREMENTS)
        return original(session, command)
    smp.Session.on_smp_pairing_request_command = received
