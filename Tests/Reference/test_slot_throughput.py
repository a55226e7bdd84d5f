"""`bluebench throughput --over l2cap` against the closed form of the slots, computed here, and against what its own air log says.

BLUEBENCH names the program; otherwise the newest build of this checkout is used.
"""

import json
import subprocess

import pytest

from baseband import TYPES
from piconet_check import load
from test_throughput_agreement import VIRTUAL_EPOCH_US, bluebench

FAMILIES = [("DM1", "DM3", "DM5"), ("DH1", "DH3", "DH5"), ("2-DH1", "2-DH3", "2-DH5"), ("3-DH1", "3-DH3", "3-DH5")]
SLOT_US = 625
BASIC_HEADER = 4
TOLERANCE = 0.005


def closed_form(longest, sdu):
    """kbit/s of consecutive SDUs, each packet acknowledged in a slot: the longest packets while they are filled, then the shortest that fits."""
    family = next(family for family in FAMILIES if longest in family)
    types = [TYPES[name] for name in family[: family.index(longest) + 1]]
    rest, slots = sdu + BASIC_HEADER, 0
    while rest > 0:
        _, taken, _, capacity, *_ = next((kind for kind in types if rest <= kind[3]), types[-1])
        rest, slots = rest - capacity, slots + taken + 1
    return sdu * 8 * 1000 / (slots * SLOT_US)


@pytest.mark.parametrize("direction", ["to-subject", "from-subject"])
@pytest.mark.parametrize("name", [name for family in FAMILIES for name in family])
def test_every_packet_type_reaches_its_closed_form(tmp_path, name, direction):
    rows_file, air = tmp_path / "rows.json", tmp_path / "air.pcapng"
    command = [
        bluebench(), "throughput", "--over", "l2cap", "--packets", name.lower(), "--direction", direction, "--seconds", "0.5",
        "--json", str(rows_file), "--air", str(air),
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    (row,) = json.loads(rows_file.read_text())["rows"]
    sdu = row["mtu"]
    assert sdu == TYPES[name][3] - BASIC_HEADER and row["limit"] == "air"
    expected = closed_form(name, sdu)
    assert row["ceiling_kbps"] == pytest.approx(expected, abs=0.01)
    assert row["goodput_kbps"] == pytest.approx(expected, rel=TOLERANCE)
    check = load(air)
    assert check.violations == []
    (piconet,) = check.piconets.values()
    begin, end = (VIRTUAL_EPOCH_US + row["window"][edge] for edge in ("begin_us", "end_us"))
    logged = piconet.goodput_kbps(1, "central" if direction == "to-subject" else "peripheral", begin, end)
    assert logged * sdu / (sdu + BASIC_HEADER) == pytest.approx(row["goodput_kbps"], rel=TOLERANCE)
