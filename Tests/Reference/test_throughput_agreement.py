"""`bluebench throughput` against the independent packer's table, and against what its own air log says.

BLUEBENCH names the program; otherwise the newest build of this checkout is used.
"""

import json
import os
import pathlib
import subprocess

import pytest

from airlog import load
from decryption import read_keys
from greedy_packer import DATA_LENGTHS, INTERVALS_MS, MTUS, PHYS, pack, pack_both

ROOT = pathlib.Path(__file__).resolve().parents[2]
VIRTUAL_EPOCH_US = 1_735_689_600_000_000
"""The date at which captures start virtual time: 2025-01-01 UTC."""

TABLE_TOLERANCE = 0.005
LOG_TOLERANCE = 0.001


def bluebench():
    named = os.environ.get("BLUEBENCH")
    candidates = [ROOT / named] if named else [ROOT / ".build" / kind / "bluebench" for kind in ("release", "debug")]
    found = sorted((path for path in candidates if path.is_file()), key=lambda path: path.stat().st_mtime)
    assert found, f"no program to test: build it with `make release` (looked for {', '.join(map(str, candidates))})"
    return str(found[-1])


def listed(values):
    return ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def sweep(folder, phys=PHYS, data_lengths=DATA_LENGTHS, mtus=MTUS, intervals=INTERVALS_MS, seconds=3, extra=(), expected=0):
    """The rows of a sweep, each with the connections of its air log that delivered data in the row's period."""
    rows_file, air, keys = folder / "rows.json", folder / "air.pcapng", folder / "keys"
    if "--encrypted" in extra:
        extra = (*extra, "--keylog", str(keys))
    command = [
        bluebench(), "throughput", "--over", "notify", "--phy", listed(phys), "--data-length", listed(data_lengths), "--mtu", listed(mtus),
        "--interval", listed(intervals), "--seconds", str(seconds), "--seed", "7", "--json", str(rows_file), "--air", str(air), *extra,
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert expected is None or result.returncode == expected, f"exit {result.returncode}\n{result.stdout}\n{result.stderr}"
    return json.loads(rows_file.read_text())["rows"], load(air, keys=read_keys(keys) if keys.exists() else None)


def from_log(log, row):
    begin, end = (VIRTUAL_EPOCH_US + row["window"][edge] for edge in ("begin_us", "end_us"))
    return sum(connection.goodput_kbps(begin, end) for connection in log.connections)


def from_table(row):
    return pack(row["phy"], row["data_length"], row["mtu"], row["interval_ms"], row["encrypted"])


def disagreements(rows, log, table_tolerance=TABLE_TOLERANCE):
    """The differences between bench, table and air log, as text."""
    found = [f"air log: {fault}" for fault in log.faults()[:3]]
    for row in rows:
        name = f"{row['phy']} {row['data_length']}/{row['mtu']} at {row['interval_ms']} ms: {row['goodput_kbps']} kbit/s"
        table, logged = from_table(row).goodput_kbps, from_log(log, row)
        if abs(row["goodput_kbps"] / table - 1) > table_tolerance:
            found.append(f"{name}, table {table}")
        if logged == 0 or abs(row["goodput_kbps"] / logged - 1) > LOG_TOLERANCE:
            found.append(f"{name}, air log {logged:.3f}")
    return found


@pytest.mark.parametrize("phy", PHYS)
def test_every_row_agrees_with_the_table_and_the_air_log(tmp_path, phy):
    rows, log = sweep(tmp_path, phys=(phy,))
    assert len(rows) == len(DATA_LENGTHS) * len(MTUS) * len(INTERVALS_MS)
    assert disagreements(rows, log) == []
    for row in rows:
        expected = from_table(row)
        assert row["ceiling_kbps"] == pytest.approx(expected.goodput_kbps, abs=0.01)
        assert row["back_to_back_kbps"] == pytest.approx(expected.back_to_back_kbps, abs=0.01)
        assert row["packets_per_event"] == pytest.approx(expected.exchanges_per_event, rel=0.005)
        assert row["actual"]["usable_octets"] == expected.octets
        assert row["retransmissions"] == 0


@pytest.mark.parametrize("phy", PHYS)
def test_encrypted_rows_agree_with_the_table_and_every_mic_is_right(tmp_path, phy):
    rows, log = sweep(tmp_path, phys=(phy,), intervals=(7.5, 30), seconds=2, extra=("--encrypted",))
    assert len(rows) == len(DATA_LENGTHS) * len(MTUS) * 2
    assert all(row["encrypted"] for row in rows)
    assert disagreements(rows, log, table_tolerance=LOG_TOLERANCE) == []
    for row in rows:
        assert row["ceiling_kbps"] == pytest.approx(from_table(row).goodput_kbps, abs=0.01)
    for connection in log.connections:
        # Every delivered value was in packets with a correct MIC.
        assert connection.encryption.opened >= len(connection.deliveries) > 0


@pytest.mark.parametrize("phy", PHYS)
def test_both_directions_at_once_agree(tmp_path, phy):
    """Each direction has the packer's throughput for exchanges with data in both directions, according to the bench and to the air."""
    rows, log = sweep(tmp_path, phys=(phy,), mtus=(247,), intervals=(15, 50), seconds=2, extra=("--both",))
    assert len(rows) == 3 * 4 and log.faults() == []
    for subject, tester, total in zip(rows[::3], rows[1::3], rows[2::3]):
        expected = pack_both(phy, subject["data_length"], 247, subject["interval_ms"]).goodput_kbps
        begin, end = (VIRTUAL_EPOCH_US + subject["window"][edge] for edge in ("begin_us", "end_us"))
        for row, opcode in ((subject, 0x1B), (tester, 0x52)):
            logged = sum(connection.goodput_kbps(begin, end, opcodes=(opcode,)) for connection in log.connections)
            assert row["ceiling_kbps"] == pytest.approx(expected, abs=0.01)
            assert row["goodput_kbps"] == pytest.approx(expected, rel=TABLE_TOLERANCE) == pytest.approx(logged, rel=LOG_TOLERANCE)
        assert total["sum"] and total["goodput_kbps"] == pytest.approx(subject["goodput_kbps"] + tester["goodput_kbps"], abs=0.01)
        assert total["fairness"] == pytest.approx(1, abs=0.001) and total["ceiling_kbps"] == pytest.approx(2 * expected, abs=0.02)


@pytest.mark.parametrize("links", [2, 4])
def test_several_links_have_what_the_air_says_and_no_more_than_one(tmp_path, links):
    rows, log = sweep(tmp_path, phys=("2m",), data_lengths=(251,), mtus=(247,), intervals=(30,), seconds=2, extra=("--links", str(links)))
    *flows, total = rows
    if any(row["retransmissions"] for row in flows):
        # If anchor points are closer than an exchange, one link's event shortens the other's.
        log = load(tmp_path / "air.pcapng", lossless=False)
    assert log.faults() == [] and [row["link"] for row in flows] == list(range(1, links + 1))
    begin, end = (VIRTUAL_EPOCH_US + total["window"][edge] for edge in ("begin_us", "end_us"))
    figures = [row["goodput_kbps"] for row in flows]
    logged = [found for connection in log.connections if (found := connection.goodput_kbps(begin, end))]
    assert sorted(figures) == pytest.approx(sorted(logged), rel=LOG_TOLERANCE)
    alone = pack("2m", 251, 247, 30).goodput_kbps
    assert total["goodput_kbps"] == pytest.approx(sum(figures), abs=0.01) and sum(figures) <= alone * 1.0001
    assert all(row["ceiling_kbps"] == pytest.approx(alone, abs=0.01) for row in rows)
    assert total["fairness"] == pytest.approx(sum(figures) ** 2 / (links * sum(figure**2 for figure in figures)), abs=0.001)
    # Whole exchanges of 1396 us in each link's part of the interval.
    assert total["even_share_kbps"] == pytest.approx(30_000 // links // 1396 * 244 * 8 / 30, abs=0.01)
    assert all("anchor points spread evenly" in row["explanation"] for row in flows if row["percent"] < 99)


@pytest.mark.parametrize("mtu", [515, 516, 517])
def test_values_end_at_512_octets_in_every_role(tmp_path, mtu):
    """Notifications and writes, with and without response, of either device as server: nothing is lost or refused, whatever the MTU."""
    for over in ("notify", "write", "request"):
        rows, log = sweep(
            tmp_path, phys=("2m",), data_lengths=(251,), mtus=(mtu,), intervals=(15,), seconds=1,
            extra=("--over", over, "--direction", "from-subject,to-subject"))
        assert log.faults() == [] and len(rows) == 2
        for row in rows:
            assert row["received"]["octets"] == 512 * row["received"]["packets"] > 0
            assert row["ceiling_kbps"] == pytest.approx(from_table(row).goodput_kbps, abs=0.01)
            assert over == "request" or row["goodput_kbps"] == pytest.approx(from_table(row).goodput_kbps, rel=TABLE_TOLERANCE)


SENSITIVE = dict(phys=("2m",), data_lengths=(27,), mtus=(23,), intervals=(31.25,), seconds=2)
"""A row in which one additional microsecond per gap, or one octet less per packet, changes the number of exchanges in an event."""


def test_the_sensitive_row_agrees(tmp_path):
    assert disagreements(*sweep(tmp_path, **SENSITIVE)) == []


@pytest.mark.parametrize("fault", ["inter-frame-space=151", "crc-octets=2", "extra-exchanges-per-event=1"])
def test_a_planted_fault_breaks_the_agreement(tmp_path, fault):
    rows, log = sweep(tmp_path, extra=("--quirk", fault), expected=None, **SENSITIVE)
    found = disagreements(rows, log)
    assert any(text.startswith("air log") for text in found), found
    assert any(", table" in text for text in found), found


def test_a_lossy_air_is_counted_alike(tmp_path):
    rows, _ = sweep(tmp_path, phys=("2m",), data_lengths=(251,), mtus=(247,), intervals=(15,), extra=("--packet-error-rate", "0.05"))
    log = load(tmp_path / "air.pcapng", lossless=False)
    assert log.faults() == []
    (row,) = rows
    assert row["goodput_kbps"] == pytest.approx(from_log(log, row), rel=LOG_TOLERANCE)
    assert row["limit"] == "retransmissions"
    assert 0 < row["retransmissions"] <= sum(side.retransmissions for check in log.connections for side in check.sides.values())


def test_equal_seeds_give_equal_rows_and_equal_logs(tmp_path):
    outcomes = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        rows, _ = sweep(folder, phys=("1m",), data_lengths=(27,), mtus=(247,), intervals=(15,), seconds=1, extra=("--packet-error-rate", "0.02"))
        for row in rows:
            row.pop("wall_ms")
        outcomes.append((rows, (folder / "air.pcapng").read_bytes()))
    assert outcomes[0] == outcomes[1]
