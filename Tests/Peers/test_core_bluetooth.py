"""Programs with `import CoreBluetooth` on a device that BLUEBENCH_DEVICE names, in wall time."""

import asyncio
import os
import re
import shlex
import subprocess

import pytest
from bumble import hci
from bumble.att import ATT_Error
from bumble.core import UUID, AdvertisingData
from bumble.device import Peer
from bumble.gatt import Characteristic, Service

from support import ROOT, TIMEOUT, Inbox, Process, bluebench, dongles, host, run_bench


def newest(name):
    places = [ROOT / ".build" / kind / name for kind in ("release", "debug")]
    built = max((place for place in places if place.is_file()), key=lambda place: place.stat().st_mtime, default=None)
    assert built, f"no program: swift build --product {name}"
    return built


@pytest.fixture
def program():
    return newest("watch-heart-rate")


OWN = {name: value for name, value in os.environ.items() if name != "BLUEBENCH_DEVICE"}


def watch(program, **environment):
    return subprocess.run([program], env=OWN | environment, capture_output=True, text=True, timeout=TIMEOUT * 3)


def lines_of_the_readme(ports):
    """The three command lines under the README's heading, with these ports in place of the two there."""
    [block] = re.findall(r"## Run an app's Bluetooth on Linux\n(?:.+\n)+\n((?:    .*\n)+)", (ROOT / "README.md").read_text())
    return [shlex.split(re.sub(r":640([12])", lambda found: f":{ports[int(found[1]) - 1]}", line)) for line in block.splitlines()]


def test_the_lines_of_the_readme_run_an_app_on_a_device_over_tcp(program):
    with dongles(2) as ports:
        dongle, advertise, app = lines_of_the_readme(ports)
        assert dongle == ["bluebench", "dongle", "--tcp", "6401", "--count", "2"] and app[1].endswith("/watch-heart-rate")
        with Process(bluebench(), *advertise[1:]) as accessory:
            accessory.wait_for(r"advertising")
            done = watch(program, **dict([app[0].split("=")]))
    assert done.returncode == 0, done.stdout + done.stderr
    values = [int(line.split()[0]) for line in done.stdout.splitlines()]
    assert len(values) == 5 and values == list(range(values[0], values[0] + 5))


async def watch_bumble(program, mine, other):
    """The output of the program, whose monitor is a Bumble host that notifies the rates 61 to 65 once it is subscribed to."""
    rate = Characteristic(UUID.from_16_bits(0x2A37), Characteristic.Properties.NOTIFY, Characteristic.READABLE, b"")
    location = Characteristic(UUID.from_16_bits(0x2A38), Characteristic.Properties.READ, Characteristic.READABLE, b"\x01")
    loop, sending = asyncio.get_running_loop(), []

    async def send(device):
        for number in range(61, 66):
            await device.notify_subscribers(rate, bytes([0, number]))

    async with host(other, "Monitor", "F0:48:45:41:52:54") as device:
        rate.on(rate.EVENT_SUBSCRIPTION, lambda *_: loop.call_soon(lambda: sending.append(asyncio.ensure_future(send(device)))))
        device.add_service(Service(UUID.from_16_bits(0x180D), [rate, location]))
        data = AdvertisingData([(AdvertisingData.FLAGS, b"\x06"), (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, b"\x0D\x18")])
        await device.start_advertising(advertising_data=bytes(data), auto_restart=True)
        process = await asyncio.create_subprocess_exec(
            program, env=OWN | {"BLUEBENCH_DEVICE": f"tcp:127.0.0.1:{mine}"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out, _ = await asyncio.wait_for(process.communicate(), TIMEOUT * 3)
        return process.returncode, out.decode().splitlines()


def test_a_program_reads_a_bumble_device_over_tcp(program):
    with dongles(2) as (mine, other):
        code, lines = asyncio.run(watch_bumble(program, mine, other))
    assert (code, lines) == (0, [f"{number} per minute" for number in range(61, 66)])


def test_without_a_device_it_says_what_to_set(program):
    done = watch(program, BLUEBENCH_DEVICE="tcp:127.0.0.1:1")
    assert done.returncode == 1 and "tcp:127.0.0.1:1" in done.stderr and "no values" in done.stdout


def test_a_program_knows_known_dongles(program, tmp_path):
    """A clone has the address of many others: the program uses an address of its own."""
    capture = tmp_path / "clone.btsnoop"
    with dongles(2, "--chip", "csr-clone", "--capture", capture) as (mine, other):
        with Process(bluebench(), "advertise", f"tcp:127.0.0.1:{other}", "--as", "heart-rate") as accessory:
            accessory.wait_for(r"advertising")
            done = watch(program, BLUEBENCH_DEVICE=f"tcp:127.0.0.1:{mine}")
    assert done.returncode == 0, done.stdout + done.stderr
    shown = run_bench("show", capture, "--layer", "hci").stdout
    # The accessory is a host of this program, too.
    assert len(re.findall(r"> LE_Set_Random_Address ", shown)) == 2, shown
    for command in ("LE_Set_Scan_Parameters", "LE_Create_Connection"):
        [sent] = re.findall(rf"> {command} .*", shown)
        assert "Own_Address_Type=Random_Device" in sent


async def lose_the_dongle(program, server, mine, other):
    """The output and the exit code of the program, whose dongle disappears once it is connected."""
    async with host(other, "Monitor", "F0:48:45:41:52:54") as device:
        connected = Inbox(device, device.EVENT_CONNECTION)
        rate = Characteristic(UUID.from_16_bits(0x2A37), Characteristic.Properties.NOTIFY, Characteristic.READABLE, b"")
        device.add_service(Service(UUID.from_16_bits(0x180D), [rate]))
        data = AdvertisingData([(AdvertisingData.FLAGS, b"\x06"), (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, b"\x0D\x18")])
        await device.start_advertising(advertising_data=bytes(data))
        process = await asyncio.create_subprocess_exec(
            program, env=OWN | {"BLUEBENCH_DEVICE": f"tcp:127.0.0.1:{mine}"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            await asyncio.wait_for(connected.next(), TIMEOUT)
            server.stop()
            out, _ = await asyncio.wait_for(process.communicate(), TIMEOUT)
        finally:
            if process.returncode is None:
                process.kill()
    return out.decode(), process.returncode


def test_a_program_is_told_that_its_dongle_has_disappeared(program):
    with Process(bluebench(), "dongle", "--tcp", "0", "--count", "2") as server:
        ports = [match.group(1) for match in server.wait_for(r"tcp:127\.0\.0\.1:(\d+)", 2)]
        out, code = asyncio.run(lose_the_dongle(program, server, *ports))
    assert "WARNING: the Bluetooth controller has disappeared" in out
    assert (out.splitlines()[-1], code) == ("no values: off", 1)


async def use_the_sensor(program, mine, other):
    """Reads, writes and subscribes to the program as a Bumble host; returns the rates that came, the exit code and the last line."""
    process = await asyncio.create_subprocess_exec(
        program, env=OWN | {"BLUEBENCH_DEVICE": f"tcp:127.0.0.1:{mine}"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert await asyncio.wait_for(process.stdout.readline(), TIMEOUT) == b"advertising\n"
    async with host(other, "Phone", "F0:48:45:41:52:54") as device:
        heard = Inbox(device, device.EVENT_ADVERTISEMENT)
        await device.start_scanning()
        seen = await asyncio.wait_for(heard.until(lambda report: report.data.get(AdvertisingData.COMPLETE_LOCAL_NAME) == "Sensor"), TIMEOUT)
        await device.stop_scanning()
        link = await device.connect(seen.address)
        ended = Inbox(link, link.EVENT_DISCONNECTION)
        peer = Peer(link)
        await peer.discover_services()
        await peer.discover_characteristics()
        rate, location, control, battery = [
            peer.get_characteristics_by_uuid(UUID.from_16_bits(number))[0] for number in (0x2A37, 0x2A38, 0x2A39, 0x2A19)]
        assert (await location.read_value(), await battery.read_value()) == (b"\x01", b"\x5a")
        with pytest.raises(ATT_Error) as refusal:
            await control.write_value(b"\x02", with_response=True)
        assert refusal.value.error_code == 0x80
        await control.write_value(b"\x01", with_response=True)
        values = Inbox()
        await rate.subscribe(values.put)
        rates = [await asyncio.wait_for(values.next(), TIMEOUT) for _ in range(5)]
        # The program exits once it has seen this. Its link may end before the response is sent.
        [answer] = await asyncio.gather(rate.unsubscribe(), return_exceptions=True)
        assert answer is None or isinstance(answer, asyncio.CancelledError), answer
        out, _ = await asyncio.wait_for(process.communicate(), TIMEOUT)
        # The program has ended the link when it exited.
        assert await asyncio.wait_for(ended.next(), TIMEOUT) == hci.HCI_REMOTE_USER_TERMINATED_CONNECTION_ERROR
    return rates, process.returncode, out.decode()


def test_a_program_is_a_sensor_for_a_bumble_host_over_tcp():
    with dongles(2) as (mine, other):
        rates, code, out = asyncio.run(use_the_sensor(newest("serve-heart-rate"), mine, other))
    assert [bytes(value) for value in rates] == [bytes([0x08, beats, 0, 0]) for beats in range(61, 66)]
    assert (code, out.splitlines()[-1]) == (0, "advertising: 1 subscriptions, 0 kJ")
