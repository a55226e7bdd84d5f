"""The BR/EDR rechecker with a synthetic piconet that satisfies the rules, and with ones that violate one."""

import struct
from fractions import Fraction

import pytest

from baseband import TYPES, adapted, basic, clock_register, crc, hec, kernel, lsb_first, octet_bits, phase_register, sync_word, thrice, whitening_from, xor
from baseband_packets import NAMES, Packet
from piconet_check import HALF_SLOT, SLOT, PiconetCheck

CENTRAL, PERIPHERAL = 0x12349ABCDE5F, 0x00112289674523
CLOCK = 0x0ABCDE0


def octets(bits):
    return bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))


class Air:
    """Writes the packets of a page and of the following link."""

    def __init__(self):
        self.packets, self.time, self.clock = [], Fraction(1000), CLOCK

    def at(self, tick):
        return Fraction(1000) + (tick - CLOCK) * HALF_SLOT

    def send(self, start, channel, lap, uap, name=None, payload=b"", lt_addr=0, arqn=0, seqn=0, register=None):
        header, transport, rate, on_air = "0" * 18, 0, 0, None
        if name:
            transport, rate = next(kind for kind, names in NAMES.items() if name in names.values())
            header = lsb_first(lt_addr, 3) + lsb_first(TYPES[name][0], 4) + f"1{arqn}{seqn}"
            header += hec(header, uap)
            if TYPES[name][5]:
                payload += octets(crc(octet_bits(payload), uap))
            white = whitening_from(register, 18 + 8 * len(payload))
            coding = TYPES[name][4] or str
            on_air = octets(thrice(xor(header, white[:18])) + "00") + octets(coding(xor(octet_bits(payload), white[18:])))
        self.packets.append(Packet(len(self.packets) + 1, start, channel, lap, uap, rate, header, payload, name is None, on_air, transport))

    def page(self, lt_addr=1, phase=7):
        address = PERIPHERAL & 0xFFFFFFF
        lap, uap = address & 0xFFFFFF, address >> 24 | (PERIPHERAL >> 24 & 0xF0)
        start = self.at(CLOCK)
        ids = kernel(phase, 0, uap << 24 | lap), kernel(phase, 1, uap << 24 | lap), kernel(phase + 1, 0, uap << 24 | lap)
        self.send(start - 2 * SLOT, ids[0], lap, uap)
        self.send(start - SLOT, ids[1], lap, uap)
        own = CENTRAL & 0xFFFFFF
        bits = sync_word(own)[:34] + lsb_first(own, 24) + "00" + "10" + "01" + lsb_first(CENTRAL >> 24, 24) + lsb_first(0x5A020C, 24)
        bits += lsb_first(lt_addr, 3) + lsb_first(CLOCK >> 2, 26) + "000"
        self.send(start, ids[2], lap, uap, "FHS", octets(bits), register=phase_register(phase + 1))
        self.send(start + SLOT, kernel(phase + 1, 1, uap << 24 | lap), lap, uap)

    def exchange(self, tick, down="POLL", up="NULL", data=b"", back=b"", lt_addr=1, acks=(0, 0), seqns=(0, 0), shift=0, llid=2, channels=None):
        address, lap, uap = CENTRAL & 0xFFFFFFF, CENTRAL & 0xFFFFFF, CENTRAL >> 24 & 0xFF
        answer = tick + 2 * TYPES[down][1]
        for start, name, payload, arqn, seqn in ((tick, down, data, acks[0], seqns[0]), (answer, up, back, acks[1], seqns[1])):
            width = TYPES[name][2]
            body = (len(payload) << 3 | 4 | llid).to_bytes(2, "little")[:width] + payload
            channel = adapted(tick, address, channels) if channels else basic(start, address)
            self.send(self.at(start) + shift, channel, lap, uap, name, body, lt_addr, arqn, seqn, clock_register(start))
        return answer + 2 * TYPES[up][1]


def link():
    """A link on which both sides send, with one retransmission."""
    air = Air()
    air.page()
    tick = air.exchange(CLOCK + 4)
    tick = air.exchange(tick, "DH1", "DH3", b"one", b"answer" * 20, acks=(0, 1), seqns=(1, 1))
    tick = air.exchange(tick, "3-DH5", "NULL", bytes(1021), acks=(1, 0))
    tick = air.exchange(tick, "3-DH5", "2-DH1", bytes(1021), bytes(54), acks=(0, 1))
    air.exchange(tick, "DM3", "NULL", bytes(range(100)), acks=(1, 0), seqns=(1, 0))
    return air


def check(air):
    checker = PiconetCheck()
    for packet in air.packets:
        checker.feed(packet)
    return checker


def test_a_link_that_keeps_the_rules():
    checker = check(link())
    assert checker.violations == []
    sides = next(iter(checker.piconets.values())).links[1].directions
    assert [side.retransmissions for side in sides.values()] == [1, 0]
    assert [len(side.deliveries) for side in sides.values()] == [2, 2]
    assert checker.decoded == 11


def change(packet, **fields):
    for name, value in fields.items():
        setattr(packet, name, value)
    if fields.keys() & {"header", "payload"}:
        # As in a log without the bits on the air.
        packet.on_air = None


def flip(packet, *places):
    bits = octet_bits(packet.on_air)
    for place in places:
        bits = bits[:place] + "10"[int(bits[place])] + bits[place + 1 :]
    change(packet, on_air=octets(bits))


def with_header(packet, at, uap=None):
    bits = packet.header[:at] + "10"[int(packet.header[at])] + packet.header[at + 1 : 10]
    change(packet, header=bits + hec(bits, packet.uap if uap is None else uap))


@pytest.mark.parametrize(("rule", "spoil"), [
    ("hop", lambda packets: change(packets[6], channel=(packets[6].channel + 1) % 79)),
    ("hop", lambda packets: change(packets[7], channel=(packets[7].channel + 40) % 79)),
    ("slot", lambda packets: change(packets[6], start=packets[6].start + 1)),
    ("slot", lambda packets: change(packets[7], start=packets[7].start + 2 * SLOT)),
    ("hec", lambda packets: change(packets[6], header=packets[6].header[:12] + "10"[int(packets[6].header[12])] + packets[6].header[13:])),
    ("crc", lambda packets: change(packets[6], payload=packets[6].payload[:-1] + bytes([packets[6].payload[-1] ^ 1]))),
    ("crc", lambda packets: change(packets[2], payload=packets[2].payload[:5] + bytes([packets[2].payload[5] ^ 1]) + packets[2].payload[6:])),
    ("seqn", lambda packets: with_header(packets[10], 9)),
    ("seqn", lambda packets: with_header(packets[8], 9)),
    ("lt-addr", lambda packets: with_header(packets[6], 1)),
    ("page-hop", lambda packets: change(packets[2], channel=(packets[2].channel + 1) % 79)),
    ("access-code", lambda packets: change(packets[6], lap=0x123456)),
    ("poll", lambda packets: with_header(packets[4], 3)),
    ("whitening", lambda packets: change(packets[8], on_air=packets[10].on_air)),
    ("whitening", lambda packets: flip(packets[6], 60)),
])  # fmt: skip
def test_a_broken_rule_is_found(rule, spoil):
    air = link()
    spoil(air.packets)
    assert rule in {fault["rule"] for fault in check(air).violations}


# The offset of the payload in a packet's octets on the air.
PAYLOAD = 56


@pytest.mark.parametrize(("packet", "places", "rules"), [
    (4, (0,), {"fec"}),
    (2, (0, 5, 9, 53), {"fec"}),
    (4, (0, 1), {"fec", "whitening"}),
    (4, (55,), {"fec"}),
    (12, (PAYLOAD,), {"fec"}),
    (12, (PAYLOAD + 12, PAYLOAD + 15, PAYLOAD + 44), {"fec"}),
    (12, (PAYLOAD + 3, PAYLOAD + 8), {"fec", "whitening"}),
    (2, (PAYLOAD + 7, PAYLOAD + 239), {"fec"}),
])  # fmt: skip
def test_wrong_bits_on_the_air_are_found_and_corrected_where_they_can_be(packet, places, rules):
    air = link()
    flip(air.packets[packet], *places)
    checker = check(air)
    assert {fault["rule"] for fault in checker.violations} == rules and {fault["packet"] for fault in checker.violations} == {packet + 1}


def adapted_link(held, used):
    """A map is announced, but another one is used from its instant on, eight slots later."""
    air = Air()
    air.page()
    tick = air.exchange(CLOCK + 4)
    instant = (tick >> 1) + 8
    lmp = bytes([60 << 1]) + instant.to_bytes(4, "little") + b"\1" + held.to_bytes(10, "little")
    tick = air.exchange(tick, "DM1", data=lmp, llid=3, seqns=(1, 0), acks=(0, 1))
    while tick < CLOCK + 400:
        tick = air.exchange(tick, channels=used if tick >> 1 >= instant else None)
    return check(air)


def test_an_adapted_link_hops_over_its_map():
    channel_map = 0x7FFFFFFFFFC000000000
    checker = adapted_link(channel_map, channel_map)
    assert checker.violations == [] and next(iter(checker.piconets.values())).links[1].adapted > 100
    assert {fault["rule"] for fault in adapted_link(channel_map, channel_map >> 2).violations} == {"hop"}
    assert {fault["rule"] for fault in adapted_link(channel_map, None).violations} == {"hop"}


def sniffing_link(late=0):
    """Sniff mode with an anchor point every 40 slots, two attempts, no timeout; one exchange each, the given slots after its anchor point."""
    air = Air()
    air.page()
    lmp = bytes([23 << 1]) + struct.pack("<BHHHH", 0, 12, 40, 2, 0)
    tick = air.exchange(CLOCK + 4, "DM1", data=lmp, llid=3, seqns=(1, 0), acks=(0, 1))
    tick = air.exchange(tick, "POLL", "DM1", back=bytes([3 << 1, 23]), seqns=(0, 1), acks=(0, 0), llid=3)
    tick = air.exchange(tick, acks=(1, 0))
    slot = tick >> 1
    anchor = slot + (12 - slot) % 40
    for number in range(1, 8):
        air.exchange((anchor + 40 * number + late) * 2)
    return check(air)


def test_a_link_in_sniff_mode_meets_at_its_anchor_points():
    for late in (0, 2):
        checker = sniffing_link(late)
        assert checker.violations == []
    assert next(iter(sniffing_link().piconets.values())).links[1].anchors == 7
    assert {fault["rule"] for fault in sniffing_link(4).violations} == {"sniff"}
