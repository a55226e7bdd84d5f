"""The rechecker with logs that satisfy the rules, and with logs that violate one."""

import pytest

from airlog import load
from channel_selection import select_1, select_2, used_channels
from greedy_packer import pack
from ll_packets import ADVERTISING_ACCESS_ADDRESS, ADVERTISING_CRC_INIT, air_time, channel_of, crc24
from pcapng_reader import NotAnAirLog, read
from synthetic_air import Link, Recorder


def crc_by_shift_register(pdu, init):
    """The register of Core Vol 6, Part B, 3.1.1, bit by bit: position 0 first, feedback from position 23."""
    register = [init >> position & 1 for position in range(24)]
    for octet in pdu:
        for bit in range(8):
            feedback = register[23] ^ (octet >> bit & 1)
            register = [feedback] + register[:23]
            for tap in (1, 3, 4, 6, 9, 10):
                register[tap] ^= feedback
    sent = register[::-1]
    return bytes(sum(sent[8 * octet + bit] << bit for bit in range(8)) for octet in range(3))


@pytest.mark.parametrize("init", [0x555555, 0x123456, 0])
@pytest.mark.parametrize("pdu", [b"", b"\x01\x00", bytes(range(39)), bytes(257)])
def test_crc_against_the_shift_register(pdu, init):
    assert crc24(pdu, init) == crc_by_shift_register(pdu, init)


@pytest.mark.parametrize(
    ("counter", "channel_map", "channel"),
    [(0, 0x1FFFFFFFFF, 25), (1, 0x1FFFFFFFFF, 20), (2, 0x1FFFFFFFFF, 6), (3, 0x1FFFFFFFFF, 21), (6, 0x1E00E00600, 23), (7, 0x1E00E00600, 9), (8, 0x1E00E00600, 34)],
)
def test_channel_selection_2_sample_data(counter, channel_map, channel):
    assert select_2(counter, 0x8E89BED6, channel_map) == channel


def test_channel_selection_1_walks_by_the_hop_and_remaps():
    assert [select_1(n, 7, 0x1FFFFFFFFF) for n in range(6)] == [7, 14, 21, 28, 35, 5]
    assert used_channels(0x0000000603) == [0, 1, 9, 10]
    assert [select_1(n, 7, 0x0000000603) for n in range(3)] == [10, 9, 1]


def test_physical_channels():
    assert [channel_of(n) for n in (0, 1, 11, 12, 13, 38, 39)] == [37, 0, 10, 38, 11, 36, 39]


def test_air_times_agree_with_the_known_maxima():
    assert [air_time(phy, 257) for phy in ("1m", "2m", "coded-s8", "coded-s2")] == [2120, 1064, 17040, 4542]


def recheck(tmp_path, **options):
    path = tmp_path / "air.pcapng"
    link = Link(**options)
    link.run(45).write(path)
    return link, load(path)


@pytest.mark.parametrize("algorithm", [1, 2])
@pytest.mark.parametrize("later_phy", ["1m", "2m", "coded-s2", "coded-s8"])
def test_a_sound_link_has_no_violation(tmp_path, later_phy, algorithm):
    link, log = recheck(tmp_path, later_phy=later_phy, algorithm=algorithm)
    assert log.faults() == []
    (connection,) = log.connections
    assert connection.events == 45
    # The last notification's acknowledgement may be beyond the end of the log.
    assert link.delivered - len(connection.deliveries) in (0, 1)


SLEEPS = (8, 9, 17, 18, 28, 29, 30, 31)


@pytest.mark.parametrize("options", [{"latency": 4, "sleeps": SLEEPS}, {"interval": 3750, "later_phy": "coded-s8"}, {"interval": 3750, "later_phy": "coded-s2"}])
def test_a_link_that_sleeps_or_has_little_time_is_sound(tmp_path, options):
    _, log = recheck(tmp_path, **options)
    assert log.faults() == []


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"fault": "long", "later_phy": "coded-s8"}, "tx-time"),
        ({"fault": "restrict", "later_phy": "coded-s8", "interval": 3750}, "tx-time"),
        ({"fault": "times"}, "length-time"),
        ({"fault": "symmetry"}, "phy-symmetry"),
        ({"fault": "lost"}, "supervision"),
        ({"latency": 4, "sleeps": (16, 17, 18, 19, 20)}, "latency"),
        ({"latency": 4, "sleeps": (6,)}, "listening"),
        ({"latency": 4, "sleeps": (11,)}, "listening"),
        ({"latency": 4, "sleeps": (21,)}, "listening"),
        ({"latency": 4, "sleeps": (33,)}, "listening"),
        ({"sleeps": (9,)}, "latency"),
    ],
)
def test_faults_around_an_instant_are_found(tmp_path, options, rule):
    _, log = recheck(tmp_path, **options)
    assert {violation["rule"] for violation in log.faults()} & {rule}


@pytest.mark.parametrize(("unit", "offset", "is_short"), [(30, 14, True), (30, 15, False), (300, 1, True), (300, 2, False)])
def test_an_auxiliary_pointer_leaves_room_for_the_packet(tmp_path, unit, offset, is_short):
    # ADV_EXT_IND with only AdvDataInfo and AuxPtr takes 136 us on LE 1M.
    pointer = bytes((5 | (0x80 if unit == 300 else 0),)) + offset.to_bytes(2, "little")
    out = Recorder()
    out.add(1000, "1m", 37, ADVERTISING_ACCESS_ADDRESS, ADVERTISING_CRC_INIT, bytes((7, 7, 6, 0x18, 1, 0)) + pointer)
    path = tmp_path / "air.pcapng"
    out.write(path)
    assert {violation["rule"] for violation in load(path).faults()} == ({"aux-offset"} if is_short else set())


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ("ifs", "t-ifs"), ("crc", "crc"), ("overtime", "event-end"), ("hop", "channel"), ("anchor", "anchor"), ("sn", "sn"),
        ("nesn", "nesn"), ("phy", "phy"), ("length", "length"), ("window", "window"), ("map", "channel"),
    ],
)
def test_a_planted_fault_is_found(tmp_path, fault, rule):
    _, log = recheck(tmp_path, fault=fault)
    assert rule in {violation["rule"] for violation in log.faults()}


@pytest.mark.parametrize("mtu", [23, 247])
@pytest.mark.parametrize("interval_ms", [7.5, 30])
def test_goodput_is_the_packers(tmp_path, mtu, interval_ms):
    path = tmp_path / "air.pcapng"
    interval = round(interval_ms * 1000)
    row = pack("1m", 27, mtu, interval_ms)
    link = Link(interval=interval, mtu=mtu, octets=27, updates=False)
    link.run(8 + 20 * row.cycle_events).write(path)
    (connection,) = load(path).connections
    begin = connection.deliveries[3].time
    span = 18 * row.cycle_events * interval
    assert connection.goodput_kbps(begin, begin + span) == pytest.approx(row.goodput_kbps, rel=1e-3)


def test_what_is_not_an_air_log_is_refused(tmp_path):
    path = tmp_path / "x"
    for content in (b"not a capture at all", b"\x0a\x0d\x0d\x0a\x40\x00\x00\x00\x4d\x3c\x2b\x1a"):
        path.write_bytes(content)
        with pytest.raises(NotAnAirLog):
            list(read(path))
