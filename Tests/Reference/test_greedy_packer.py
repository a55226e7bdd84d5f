"""The packer compared with published air times and throughput."""

import pytest

from greedy_packer import air_time_us, effective_time_us, fragments, k_frames, longest_payload, pack, pack_channels, table


@pytest.mark.parametrize(
    ("phy", "payload", "mic", "expected"),
    [
        ("1m", 27, 0, 296), ("1m", 27, 4, 328), ("1m", 251, 0, 2088), ("1m", 251, 4, 2120), ("1m", 0, 0, 80),
        ("2m", 27, 0, 152), ("2m", 27, 4, 168), ("2m", 251, 0, 1048), ("2m", 251, 4, 1064), ("2m", 0, 0, 44),
        ("coded-s2", 27, 0, 894), ("coded-s2", 27, 4, 958), ("coded-s2", 251, 0, 4478), ("coded-s2", 251, 4, 4542), ("coded-s2", 0, 0, 462),
        ("coded-s8", 27, 0, 2448), ("coded-s8", 27, 4, 2704), ("coded-s8", 251, 0, 16784), ("coded-s8", 251, 4, 17040), ("coded-s8", 0, 0, 720),
    ],
)
def test_air_times(phy, payload, mic, expected):
    assert air_time_us(phy, payload, mic) == expected


@pytest.mark.parametrize(
    ("length", "mtu", "plain", "encrypted"),
    [
        (27, 23, (236.7, 322.6, 96.6, 46.1), (226.0, 312.5, 93.0, 43.0)),
        (27, 185, (307.7, 419.4, 125.6, 60.0), (293.8, 406.2, 120.9, 55.9)),
        (27, 247, (295.4, 399.7, 120.1, 58.3), (281.8, 387.0, 115.5, 54.2)),
        (251, 23, (236.7, 322.6, 96.6, 46.1), (226.0, 312.5, 93.0, 43.0)),
        (251, 185, (738.3, 1272.7, 342.7, 105.2), (726.5, 1255.2, 337.7, 103.3)),
        (251, 247, (790.9, 1402.3, 372.5, 109.6), (780.8, 1386.4, 368.0, 108.1)),
        (251, 498, (802.3, 1422.4, 377.9, 111.2), (792.0, 1406.2, 373.3, 109.6)),
    ],
)
def test_back_to_back_limits(length, mtu, plain, encrypted):
    for secured, expected in ((False, plain), (True, encrypted)):
        for phy, figure in zip(("1m", "2m", "coded-s2", "coded-s8"), expected):
            row = pack(phy, length, mtu, 400, secured)
            assert row.back_to_back_kbps == pytest.approx(figure, abs=0.051), (phy, secured)


@pytest.mark.parametrize(
    ("interval", "phy", "packets", "kbps"),
    [
        (7.5, "1m", 3, 780.8), (7.5, "2m", 5, 1301.3), 
        (11.25, "1m", 4, 694.0), (11.25, "2m", 7, 1214.6), (11.25, "coded-s2", 2, 347.0),
        (12.5, "1m", 5, 780.8), (12.5, "2m", 8, 1249.3), (12.5, "coded-s2", 2, 312.3),
        (15, "1m", 6, 780.8), (15, "2m", 10, 1301.3), (15, "coded-s2", 2, 260.3),
        (30, "1m", 12, 780.8), (30, "2m", 21, 1366.4), (30, "coded-s2", 5, 325.3),
        (45, "1m", 18, 780.8), (45, "2m", 31, 1344.7), (45, "coded-s2", 8, 347.0),
        (50, "1m", 20, 780.8), (50, "2m", 35, 1366.4), (50, "coded-s2", 9, 351.4),
        (100, "1m", 40, 780.8), (100, "2m", 71, 1385.9), (100, "coded-s2", 18, 351.4),
        (400, "1m", 160, 780.8), (400, "2m", 284, 1385.9), (400, "coded-s2", 75, 366.0),
    ],
)
def test_whole_exchanges_per_interval(interval, phy, packets, kbps):
    row = pack(phy, 251, 247, interval, encrypted=True)
    assert row.packets_per_event == packets
    assert row.goodput_kbps == pytest.approx(kbps, abs=0.051)


def test_time_on_coded_depends_on_the_interval():
    assert effective_time_us("coded-s8", 7500, 17040) == 4496
    assert effective_time_us("coded-s8", 3000, 17040) == 2704
    assert effective_time_us("2m", 7500, 2120) == 2120
    # 251 octets both ways, encrypted: 27 octets at 7.5 and 15 ms, 182 at 30 ms, all from 50 ms on.
    shrunk = [longest_payload("coded-s8", effective_time_us("coded-s8", ms * 1000, 17040, 251), 4) for ms in (7.5, 15, 30, 50)]
    assert shrunk == [27, 27, 182, 251]
    # One way, 7.5 ms leave 4496 us: on S2 a packet of 251 octets fits without its MIC (4478 us) but not with it (4542 us).
    assert [pack("coded-s2", 251, 247, 7.5, secured).octets for secured in (False, True)] == [251, 248]
    assert [pack("coded-s8", 251, 247, ms).octets for ms in (7.5, 15, 30, 50)] == [59, 176, 251, 251]


def test_mixed_lengths_carry_over_from_event_to_event():
    assert fragments(247, 27) == [27] * 9 + [8]
    # 9 x 676 + 524 us per notification on 1M: 22.4 exchanges of 15 ms events, which do not end on a packet boundary.
    row = pack("1m", 27, 247, 15)
    assert row.cycle_events > 1
    assert 0.95 < row.goodput_kbps / row.back_to_back_kbps <= 1


def test_sdus_are_cut_into_k_frames():
    assert k_frames(245, 247) == [247] and k_frames(246, 247) == [247, 1] and k_frames(0, 23) == [2]
    # Of 1974 octets each K-frame is full; three in an event of 30 ms are the 197 kbit/s of WWDC 2017.
    assert k_frames(8 * 247 - 2, 247) == [247] * 8 and round(1974 * 8 * 3 / 8 / 30) == 197


@pytest.mark.parametrize(("phy", "kbps"), [("1m", 784.0), ("2m", 1392.0), ("coded-s2", 369.5), ("coded-s8", 108.5)])
def test_one_k_frame_in_a_packet(phy, kbps):
    """245 octets in packets of 251, back to back and encrypted."""
    assert pack_channels(phy, 251, 247, 245, 400, encrypted=True).back_to_back_kbps == pytest.approx(kbps, abs=0.051)


def test_channels_with_the_same_frames_share_the_rate_of_one():
    for sdu in (245, 21):
        assert pack_channels("2m", 251, 247, sdu, 15, channels=3).goodput_kbps == pack_channels("2m", 251, 247, sdu, 15).goodput_kbps
    # The value of an ATT packet is an octet shorter than an SDU with as long a PDU.
    assert pack_channels("2m", 251, 247, 245, 15).goodput_kbps == pytest.approx(pack("2m", 251, 247, 15).goodput_kbps * 245 / 244, abs=0.001)


def test_table_is_complete_and_below_the_limit():
    rows = table()
    assert len(rows) == 4 * 2 * 3 * 5
    assert all(0 < row.goodput_kbps <= row.back_to_back_kbps + 0.001 for row in rows)


@pytest.mark.parametrize("fault", [{"ifs_us": 151}, {"crc_octets": 2}, {"extra_exchanges": 1}])
def test_faults_move_a_row_beyond_the_tolerance(fault):
    # 31.25 ms holds 63 exchanges of 496 us to within 2 us, so that one microsecond more per gap costs an exchange.
    sound = pack("2m", 27, 23, 31.25).goodput_kbps
    faulty = pack("2m", 27, 23, 31.25, **fault).goodput_kbps
    assert abs(faulty / sound - 1) > 0.005
