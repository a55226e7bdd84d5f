"""`bluebench throughput --over channel` against the independent packer, and against what its own air log says.

A sample of the 60 rows in every run, all with SOAK.
"""

import os

import pytest

from greedy_packer import pack_channels
from test_throughput_agreement import VIRTUAL_EPOCH_US, from_log, listed, sweep

SOAK = "SOAK" in os.environ
TOLERANCE = 0.001
BOTH_DATA = ("to-subject", "from-subject")
ALL = ("1m", "2m", "coded-s2", "coded-s8")
# PHYs, data length, MPS, SDUs, intervals, channels, encrypted, direction: 60 rows.
TABLE = [
    (ALL, 251, 247, (245, 1000), (15, 50), 1, False, "to-subject"),
    (ALL, 251, 100, (500,), (7.5, 30), 1, True, "from-subject"),
    (("1m", "2m"), 27, 23, (100, 512), (15,), 1, False, "from-subject"),
    (("1m", "2m"), 27, 247, (512, 2000), (15,), 1, True, "to-subject"),
    (ALL, 251, 247, (245, 1000), (15, 50), 3, False, "from-subject"),
    (ALL, 251, 64, (300,), (30, 100), 3, True, "to-subject"),
    (("1m", "2m"), 251, 247, (1974,), (7.5, 30), 1, False, "from-subject"),
]
SAMPLE = [
    (("2m",), 251, 247, (245, 1000), (15,), 1, False, "to-subject"),
    (("1m",), 27, 23, (100,), (15,), 1, False, "from-subject"),
    (("2m",), 251, 64, (300,), (30,), 3, True, "from-subject"),
    (("coded-s2",), 251, 247, (1000,), (50,), 3, False, "to-subject"),
]


def measure(folder, phys, length, mps, sdus, intervals, channels, encrypted, *extra):
    options = ["--over", "channel", "--mps", str(mps), "--sdu", listed(sdus), "--channels", str(channels), *extra]
    return sweep(
        folder, phys=phys, data_lengths=(length,), mtus=(247,), intervals=intervals, seconds=2,
        extra=(*options, *(["--encrypted"] if encrypted else [])))


def expected(row, **more):
    return pack_channels(
        row["phy"], row["data_length"], row["mps"], row["mtu"], row["interval_ms"], row["channels"], row["encrypted"], **more)


def test_the_table_has_sixty_rows():
    assert sum(len(phys) * len(sdus) * len(intervals) for phys, _, _, sdus, intervals, *_ in TABLE) == 60


@pytest.mark.parametrize("part", TABLE if SOAK else SAMPLE, ids=lambda part: f"{part[1]}/{part[2]} x {part[5]} {part[7]}")
def test_rows_agree_with_the_packer_and_the_air_log(tmp_path, part):
    *parameters, direction = part
    phys, length, mps, sdus, intervals, channels, encrypted = parameters
    rows, log = measure(tmp_path, *parameters, "--direction", direction)
    assert len(rows) == len(phys) * len(sdus) * len(intervals)
    assert log.faults() == []
    for row in rows:
        model, logged = expected(row), from_log(log, row)
        name = f"{row['phy']} {row['data_length']}/{row['mps']} x {row['channels']}, {row['mtu']} octets, {row['interval_ms']} ms"
        assert row["direction"] == direction and row["encrypted"] == encrypted
        assert row["ceiling_kbps"] == pytest.approx(model.goodput_kbps, abs=0.01), name
        assert row["back_to_back_kbps"] == pytest.approx(model.back_to_back_kbps, abs=0.01), name
        assert row["goodput_kbps"] == pytest.approx(model.goodput_kbps, rel=TOLERANCE), name
        assert row["goodput_kbps"] == pytest.approx(logged, rel=TOLERANCE), name
        assert row["packets_per_event"] == pytest.approx(model.exchanges_per_event, rel=0.005), name


@pytest.mark.parametrize("sdu", [245, 1000])
def test_both_directions_at_once_agree(tmp_path, sdu):
    rows, log = measure(tmp_path, ("2m",), 251, 247, (sdu,), (15,), 1, False, "--both")
    assert log.faults() == [] and [row["direction"] for row in rows[:2]] == list(BOTH_DATA) and rows[2]["sum"]
    frames = len(range(0, sdu + 2, 247))
    best = max(expected(rows[0], meeting=at).goodput_kbps for at in range(frames))
    begin, end = (VIRTUAL_EPOCH_US + rows[0]["window"][edge] for edge in ("begin_us", "end_us"))
    total = sum(connection.goodput_kbps(begin, end) for connection in log.connections)
    assert rows[2]["goodput_kbps"] == pytest.approx(total, rel=TOLERANCE)
    for row in rows[:2]:
        # Which frames meet is left to chance; with one frame in an SDU there is only one way.
        assert row["ceiling_kbps"] == pytest.approx(best, abs=0.01)
        assert best * (0.999 if frames == 1 else 0.9) <= row["goodput_kbps"] <= best * 1.001


def test_few_credits_are_named(tmp_path):
    rows, log = measure(tmp_path, ("2m",), 251, 247, (245,), (15,), 1, False, "--credits", "1")
    [row] = rows
    assert log.faults() == [] and row["limit"] == "credits-of-channel" and row["percent"] < 90, row["explanation"]


def test_what_framing_takes_is_explained(tmp_path):
    rows, _ = measure(tmp_path, ("2m",), 251, 50, (49,), (50,), 1, False)
    [row] = rows
    parts = {part["cause"]: part["kbps"] for part in row["missing"]}
    # 49 octets take a full K-frame and one with a single octet; 50 octets are a fifth of a packet.
    ideal = pack_channels("2m", 251, 247, 65535, 50).back_to_back_kbps
    assert row["limit"] in ("sdu", "mps") and parts["sdu"] > 100 and parts["mps"] > 100
    assert sum(parts.values()) + row["goodput_kbps"] == pytest.approx(ideal, abs=1)


def test_the_air_log_has_every_sdu(tmp_path):
    [row], log = measure(tmp_path, ("2m",), 251, 247, (1000,), (15,), 3, False)
    (connection,) = log.connections
    frames, sdus = connection.channels.totals()
    assert len(connection.channels.flows) == 6 and frames == 5 * sdus and sdus >= row["received"]["packets"] > 100
    assert {octets for _, _, octets in connection.channels.delivered} == {1000}
