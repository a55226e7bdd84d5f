"""`bluebench throughput --bearers` against the independent packer, and against what its own air log says."""

import pytest

from connection_check import SDU
from greedy_packer import att_packet, pack_channels, pack_requests
from test_throughput_agreement import VIRTUAL_EPOCH_US, sweep

ATT_HEADER = 3
TOLERANCE = 0.001


def measure(folder, over, bearers, *extra, phy="2m", length=251, mtu=245, interval=15.0):
    options = ("--over", over, "--bearers", ",".join(map(str, bearers)), "--encrypted", *extra)
    rows, log = sweep(
        folder, phys=(phy,), data_lengths=(length,), mtus=(mtu,), intervals=(interval,), seconds=3, extra=options)
    assert log.faults() == [] and [row["bearers"] for row in rows] == list(bearers) and all(row["encrypted"] for row in rows)
    return rows, log


def from_log(log, row):
    """Goodput of the ATT packets of full length in the SDUs of the air log, in kbit/s."""
    begin, end = (VIRTUAL_EPOCH_US + row["window"][edge] for edge in ("begin_us", "end_us"))
    packets = [
        item for connection in log.connections for item in connection.deliveries
        if begin < item.time <= end and item.opcode == SDU and item.octets == att_packet(row["mtu"])
    ]
    return len(packets) * (att_packet(row["mtu"]) - ATT_HEADER) * 8000 / (end - begin)


@pytest.mark.parametrize(("phy", "length", "mtu", "interval"), [("2m", 251, 245, 15.0), ("2m", 251, 64, 7.5), ("1m", 27, 64, 30.0), ("2m", 251, 517, 15.0)], ids=str)
def test_bearers_make_the_round_trips_that_the_air_allows(tmp_path, phy, length, mtu, interval):
    numbers = [1, 2, 3, 4, 5]
    rows, log = measure(tmp_path, "request", numbers, phy=phy, length=length, mtu=mtu, interval=interval)
    rates = {}
    for row in rows:
        per_event, goodput = pack_requests(phy, length, row["mps"], mtu, interval, row["bearers"])
        name = f"{row['bearers']} bearers: {row['explanation']}"
        rates[row["bearers"]] = row["received"]["packets"] / row["window"]["events"]
        # The window may cut off a part of an event.
        assert row["received"]["packets"] == pytest.approx(per_event * row["window"]["events"], abs=2 * row["bearers"] + per_event), name
        assert row["goodput_kbps"] == pytest.approx(goodput, rel=0.01), name
        assert row["goodput_kbps"] == pytest.approx(from_log(log, row), rel=0.005), name
        assert row["round_trip_us"]["count"] == pytest.approx(row["received"]["packets"], abs=row["bearers"] + 1), name
        # By Little's law: as many requests are on their way as there are bearers.
        in_flight = row["round_trip_us"]["mean"] * row["received"]["packets"] / (row["window"]["end_us"] - row["window"]["begin_us"])
        assert in_flight == pytest.approx(row["bearers"], rel=0.02), name
    expected = pack_requests(phy, length, mtu + 2, mtu, interval, 5)[0] / pack_requests(phy, length, mtu + 2, mtu, interval, 1)[0]
    assert rates[5] / rates[1] == pytest.approx(expected, rel=0.02) and expected > 4
    assert rows[0]["limit"] == "acknowledgement" and rows[-1]["percent"] == pytest.approx(100, abs=3)


# An ATT packet of 245 octets makes a K-frame of 247, and that fills the link layer packet. One of 517 ends at 515, with 512 octets of value.
@pytest.mark.parametrize("mtu", [245, 516, 517])
@pytest.mark.parametrize("over", ["notify", "write"])
def test_flows_without_answers_fill_the_air_on_any_number_of_bearers(tmp_path, over, mtu):
    rows, log = measure(tmp_path, over, [1, 3], mtu=mtu)
    for row in rows:
        packet = att_packet(row["mtu"])
        model = pack_channels("2m", 251, row["mps"], packet, row["interval_ms"], encrypted=True)
        expected = model.goodput_kbps * (packet - ATT_HEADER) / packet
        assert row["ceiling_kbps"] == pytest.approx(expected, abs=0.01)
        assert row["goodput_kbps"] == pytest.approx(expected, rel=TOLERANCE), row["explanation"]
        assert row["goodput_kbps"] == pytest.approx(from_log(log, row), rel=TOLERANCE)
        received = row["received"]
        assert received["lost"] == received["duplicated"] == received["corrupted"] == 0


def test_an_mtu_that_does_not_fill_a_packet_is_explained(tmp_path):
    [row], _ = measure(tmp_path, "notify", [2], mtu=64)
    assert row["limit"] == "mps" and "K-frames of 66 octets" in row["explanation"], row["explanation"]
