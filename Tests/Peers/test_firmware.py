"""Bumble's drivers for Realtek and Intel dongles against our virtual boot ROMs, and our loader against the same.

Bumble reads our made files by its own code and loads them in its own way; the boot ROM takes them, and the dongle is a controller then.
"""

import contextlib
import pathlib

import pytest

import support
from bumble import hci
from bumble.drivers import intel, rtk


@contextlib.contextmanager
def waiting_dongle(model, folder):
    """A dongle whose chip waits for firmware, and the files that it accepts in `folder`; yields its TCP port."""
    with support.dongles(1, "--boot", model, "--write-firmware", folder) as [port]:
        yield port


async def power_on(port, driver, device):
    """Powers on a Bumble host with the given driver."""
    device.host.hci_metadata = {"driver": driver}
    await device.power_on()


async def speaks(device):
    answer = await device.host.send_sync_command(hci.HCI_LE_Rand_Command())
    return len(answer.random_number) == 8


def test_bumble_reads_our_realtek_file(tmp_path):
    with waiting_dongle("rtl8761b", tmp_path):
        pass
    firmware = rtk.Firmware((tmp_path / "rtl_bt/rtl8761bu_fw.bin").read_bytes())
    assert firmware.project_id == rtk.RtlProjectId.PROJECT_ID_8761B
    assert firmware.version == 0xDFC6D922
    assert [(chip, len(patch), version) for chip, patch, version in firmware.patches] == [(1, 40_000, 7), (2, 40_000, 7)]


@pytest.mark.parametrize("with_config", [True, False])
async def test_bumble_loads_a_realtek_dongle(tmp_path, monkeypatch, with_config):
    with waiting_dongle("rtl8761b", tmp_path) as port:
        monkeypatch.setenv(rtk.RTK_FIRMWARE_DIR_ENV, str(tmp_path / "rtl_bt"))
        if not with_config:
            (tmp_path / "rtl_bt/rtl8761bu_config.bin").unlink()
        async with support.host(port, "R", "C0:00:00:00:00:01", power_on=False) as device:
            await power_on(port, "rtk", device)
            version = device.host.local_version
            assert (version.hci_subversion, version.lmp_subversion, version.company_identifier) == (0xDFC6, 0xD922, 0x005D)
            assert await speaks(device)
            # Running firmware is recognized as such, and unloaded on request.
            assert await rtk.Driver.get_loaded_firmware_version(device.host) == 0xDFC6D922
            await rtk.Driver.drop_firmware(device.host)
            again = await device.host.send_sync_command(hci.HCI_Read_Local_Version_Information_Command())
            assert (again.hci_subversion, again.lmp_subversion) == (0x000B, 0x8761)


async def test_a_damaged_realtek_file_is_refused(tmp_path, monkeypatch):
    with waiting_dongle("rtl8761b", tmp_path) as port:
        monkeypatch.setenv(rtk.RTK_FIRMWARE_DIR_ENV, str(tmp_path / "rtl_bt"))
        file = tmp_path / "rtl_bt/rtl8761bu_fw.bin"
        octets = bytearray(file.read_bytes())
        octets[60_000] ^= 1
        file.write_bytes(octets)
        async with support.host(port, "R", "C0:00:00:00:00:01", power_on=False) as device:
            with pytest.raises(hci.HCI_Error):
                await power_on(port, "rtk", device)


async def test_bumble_loads_an_intel_dongle(tmp_path, monkeypatch):
    with waiting_dongle("intel-ax210", tmp_path) as port:
        monkeypatch.setenv(intel.INTEL_FIRMWARE_DIR_ENV, str(tmp_path / "intel"))
        async with support.host(port, "I", "C0:00:00:00:00:01", power_on=False) as device:
            await power_on(port, "intel", device)
            assert device.host.local_version.company_identifier == 0x0002
            assert await speaks(device)
            info = await intel.Driver(device.host).read_device_info()
            assert info[intel.ValueType.CURRENT_MODE_OF_OPERATION] == intel.ModeOfOperation.OPERATIONAL


@pytest.mark.parametrize("model", ["rtl8761b", "rtl8852b", "intel", "intel-8260", "intel-ax210"])
def test_our_loader_over_tcp(tmp_path, model):
    with waiting_dongle(model, tmp_path) as port:
        scan = support.run_bench("scan", f"tcp:127.0.0.1:{port}", "--seconds", 1, "--firmware", tmp_path)
        assert "was given" in scan.stdout and str(tmp_path) in scan.stdout
    with waiting_dongle(model, tmp_path / "other") as port:
        scan = support.run_bench("scan", f"tcp:127.0.0.1:{port}", "--seconds", 1, "--firmware", pathlib.Path("/nowhere"), expected=3)
        assert "needs firmware: " in scan.stderr and "apt install firmware-" in scan.stderr and scan.stderr.count("\n") == 1
