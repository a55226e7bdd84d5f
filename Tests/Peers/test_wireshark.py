"""tshark reads what we write: the capture of the whole run and the log of the air, without a malformed frame."""

import collections
import subprocess

import pytest

from support import PATIENCE, run_bench

# What tshark calls malformed although it is not: protocol of the frame to the reason. Everything else fails.
GAPS = {}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    run_bench("run", "--json", folder / "results.json", "--capture", folder / "capture.btsnoop", "--air", folder / "air.pcapng", expected=None)
    run_bench("run", "--capture", folder / "capture.pcapng", expected=None)
    return folder


def tshark(path, *options):
    result = subprocess.run(["tshark", "-n", "-r", path, *options], capture_output=True, text=True, timeout=PATIENCE * 5)
    assert result.returncode == 0, result.stderr
    assert "appears to" not in result.stderr and "cut short" not in result.stderr, result.stderr
    return result.stdout.splitlines()


@pytest.mark.parametrize("name", ["capture.btsnoop", "capture.pcapng", "air.pcapng"])
def test_no_malformed_frame(files, name):
    frames = tshark(files / name, "-Y", "_ws.malformed", "-T", "fields", "-e", "frame.number", "-e", "frame.protocols", "-e", "_ws.col.Info")
    unexplained = [frame for frame in frames if not any(gap in frame for gap in GAPS)]
    assert not unexplained, "\n".join(unexplained[:20])


@pytest.mark.parametrize(("name", "protocols"), [
    ("capture.btsnoop", {"bthci_cmd", "bthci_evt", "bthci_acl", "btl2cap", "btatt"}),
    ("capture.pcapng", {"bthci_cmd", "bthci_evt", "bthci_acl", "btl2cap", "btatt"}),
    ("air.pcapng", {"btle_rf", "btle", "btl2cap", "btatt"}),
])
def test_every_layer_is_recognised(files, name, protocols):
    seen = collections.Counter(part for line in tshark(files / name, "-T", "fields", "-e", "frame.protocols") for part in set(line.split(":")))
    assert protocols <= set(seen), seen
    assert seen["data"] == 0, "octets that no dissector wanted"


def test_the_checksums_on_the_air_are_right(files):
    assert tshark(files / "air.pcapng", "-Y", "btle.crc.incorrect || btle_rf.flags.crc_valid == 0", "-c", "200000") == []
