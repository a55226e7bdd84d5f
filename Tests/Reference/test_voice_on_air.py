"""Two dongles have a synchronous connection, which in their air log uses its slots and its window, beside data, and with packet loss."""

import struct
from types import SimpleNamespace

import pytest

from baseband import crc, octet_bits
from piconet_check import SLOT, PiconetCheck, load, read
from synchronous_check import Transport
from test_piconet_check import change, octets, with_header
from test_piconet_on_air import connect, dongles

TRANSPARENT, SPEED = 0x0063, 8000
# The types that the host allows; bits 6 to 9 exclude enhanced data rate types. Core Vol 4, Part E, 7.1.26.
KINDS = {
    "HV1": (0x03C1, 0xFFFF, 0xFF), "HV2": (0x03C2, 0xFFFF, 0xFF), "HV3": (0x03C4, 0xFFFF, 0xFF),
    "EV3": (0x03C8, 7, 1), "EV4": (0x03D0, 40, 1), "EV5": (0x03E0, 50, 1), "2-EV3": (0x0380, 13, 2), "3-EV3": (0x0340, 20, 2),
    "2-EV5": (0x02C0, 80, 1), "3-EV5": (0x01C0, 100, 1),
}  # fmt: skip


def talk(hosts, handles, kind, asks=0):
    """The handles of a synchronous connection that one of two hosts requests, after the first voice packets."""
    types, latency, effort = KINDS[kind]
    parameters = struct.pack("<IIHHBH", SPEED, SPEED, latency, TRANSPARENT, effort, types)
    hosts[asks].command(0x0428, *struct.pack("<H", handles[asks]), *parameters)
    _, request = hosts[1 - asks].event(0x04)
    hosts[1 - asks].command(0x0429, *request[:6], *parameters)
    made = []
    for host in hosts:
        _, complete = host.event(0x2C)
        assert complete[0] == 0
        made.append(struct.unpack_from("<H", complete, 1)[0])
    for host, handle in zip(hosts, made, strict=True):
        for index in range(8):
            host.speak(handle, bytes([index]) * 120)
    return made


def listen(hosts, count=1200):
    for host in hosts:
        while sum(map(len, host.voice)) < count:
            host.packet()


def transports(check):
    return [one for piconet in check.piconets.values() for link in piconet.links.values() for one in link.transports.made]


@pytest.mark.parametrize(("kind", "asks"), [(kind, 0) for kind in KINDS] + [("HV3", 1), ("2-EV3", 1)])
def test_voice_keeps_to_its_slots(tmp_path, kind, asks):
    air = tmp_path / "air.pcapng"
    with dongles(air) as hosts:
        handles = connect(hosts, 0xCC18)
        made = talk(hosts, handles, kind, asks)
        # HV1 uses all slots.
        beside = 0 if kind == "HV1" else 300
        for host, handle in zip(hosts, handles, strict=True):
            if beside:
                host.send(handle, bytes(beside))
        listen(hosts)
        for host in hosts:
            while sum(map(len, host.data)) < beside:
                host.packet()
        hosts[0].command(0x0406, *struct.pack("<H", made[0]), 0x13)
        for host in hosts:
            host.event(0x05)
    check = load(air)
    assert check.violations == []
    (transport,) = transports(check)
    assert transport.ended and transport.packets >= 6 and transport.repeated == 0
    assert set(transport.types.values()) == {kind} and transport.is_extended == ("EV" in kind)


@pytest.mark.parametrize("kind", ["EV3", "2-EV3"])
def test_lost_voice_is_sent_again_in_its_window(tmp_path, kind):
    air = tmp_path / "air.pcapng"
    with dongles(air, "--packet-error-rate", "0.04") as hosts:
        talk(hosts, connect(hosts, 0xCC18), kind)
        listen(hosts, 6000)
    check = load(air, loses=True)
    assert check.violations == []
    (transport,) = transports(check)
    assert transport.window and transport.repeated >= 3


@pytest.mark.parametrize(("name", "side", "slot", "rules"), [
    ("HV3", "central", 8, []), ("HV3", "peripheral", 9, []), ("HV3", "central", 10, ["reserved"]), ("HV3", "peripheral", 11, ["reserved"]),
    ("HV1", "central", 8, ["type"]),
])  # fmt: skip
def test_sco_is_due_in_two_slots_of_each_interval(name, side, slot, rules):
    transport = Transport.sco(bytes([1, 0, 2, 6, 2, 3]))
    assert [rule for rule, _ in transport.feed(SimpleNamespace(name=name), side, slot)] == rules


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    air = tmp_path_factory.mktemp("voice") / "air.pcapng"
    with dongles(air) as hosts:
        talk(hosts, connect(hosts, 0xCC18), "2-EV3")
        listen(hosts)
    return air


def cut(packet):
    body = packet.body[:-1]
    change(packet, payload=body + octets(crc(octet_bits(body), packet.uap)))


@pytest.mark.parametrize(("rule", "spoil"), [
    ("seqn", lambda central, peripheral: with_header(central, 9)),
    ("seqn", lambda central, peripheral: with_header(peripheral, 9)),
    ("arqn", lambda central, peripheral: with_header(central, 8)),
    ("length", lambda central, peripheral: cut(peripheral)),
    ("window", lambda central, peripheral: change(central, start=central.start + 6 * SLOT)),
    ("slot", lambda central, peripheral: change(peripheral, start=peripheral.start - 2 * SLOT)),
    ("type", lambda central, peripheral: (change(central, rate=2), with_header(central, 3))),
    ("lt-addr", lambda central, peripheral: with_header(central, 1)),
])  # fmt: skip
def test_voice_that_breaks_a_rule_is_found(log, rule, spoil):
    packets = list(read(log))
    voice = [packet for packet in packets if packet.name == "2-EV3"]
    central, peripheral = next(pair for pair in zip(voice[8:], voice[9:], strict=False) if pair[1].start - pair[0].start == SLOT)
    spoil(central, peripheral)
    check = PiconetCheck()
    for packet in packets:
        check.feed(packet)
    assert rule in {fault["rule"] for fault in check.violations}
