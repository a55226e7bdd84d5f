"""Virtual dongles that imitate known chips: a foreign host starts on each of them, and reads the chip's identification."""

import json

import pytest

from support import bluebench, dongles, fake_usb, host, run_bench

# HCI version, company and LMP subversion of each chip.
RUNNING = [
    ("broadcom", 6, 15, 0x220E), ("apple-broadcom", 9, 15, 0x1111), ("qualcomm", 9, 29, 0x02BE), ("realtek", 10, 93, 0xD922),
    ("intel", 11, 2, 0x030C), ("csr8510", 6, 10, 0x22BB), ("csr-clone", 9, 10, 0x22BB), ("barrot", 9, 2279, 0x1012), ("actions", 12, 992, 1),
    ("nrf52-zephyr", 13, 0x05F1, 0xFFFF), ("packetcraft", 11, 0x07E8, 0x5244),
]


# It loses the first HCI_Reset after each opening, and Bumble does not repeat it over TCP.
FOREIGN = [row for row in RUNNING if row[0] != "realtek"]


# A chip that starts its loader anew has no virtual time.
IN_REAL_TIME = {"intel"}


@pytest.mark.parametrize(
    "chip, version, company, subversion",
    [pytest.param(*row, id=row[0], marks=[] if row[0] in IN_REAL_TIME else [pytest.mark.virtual_time]) for row in FOREIGN])
async def test_a_foreign_host_starts(chip, version, company, subversion):
    with dongles(1, "--chip", chip, virtual_time=chip not in IN_REAL_TIME) as [port]:
        async with host(port, "foreign", "F0:F1:F2:F3:F4:F5") as device:
            told = device.host.local_version
            assert (told.hci_version, told.company_identifier, told.lmp_subversion) == (version, company, subversion)


@pytest.mark.parametrize("chip", [row[0] for row in RUNNING])
def test_our_host_starts_and_hears_the_air(chip):
    is_virtual = chip not in IN_REAL_TIME
    with dongles(1, "--chip", chip, "--neighbours", "3", virtual_time=is_virtual) as [port]:
        told = run_bench("scan", f"tcp:127.0.0.1:{port}" + (",virtual-time" if is_virtual else ""), "--seconds", "2").stdout
        assert "seen" in told or "dBm" in told, told


def ask(chip, *command):
    """The output of a command for one dongle on the fake bus."""
    with fake_usb(1, "--chip", chip) as bus, bus.start(bluebench(), *command) as program:
        code = program.wait()
        return code, program.text


@pytest.mark.parametrize("chip, version, company, subversion", RUNNING, ids=[row[0] for row in RUNNING])
def test_it_is_told_apart_over_usb(chip, version, company, subversion):
    code, text = ask(chip, "devices", "--json")
    assert code == 0, text
    [row] = json.loads(text[text.index("{"):])["devices"]
    assert "impediment" not in row, row
    numbers = row["numbers"]
    told = numbers["hci_version"], numbers["company"], int(numbers["lmp_subversion"], 16)
    assert told == (version, company, subversion)
    code, text = ask(chip, "scan", "usb:1-1", "--seconds", "1")
    assert code == 0, text


@pytest.mark.parametrize("chip, file", [("realtek-rom", "rtl8761bu_fw.bin"), ("intel-boot", "ibt-20-1-3.sfi")])
def test_one_that_waits_for_firmware_says_which(chip, file):
    _, text = ask(chip, "devices", "--firmware", "/nonexistent")
    assert file in text, text
