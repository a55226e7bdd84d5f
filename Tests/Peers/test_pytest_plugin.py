"""The pytest plugin of the Python package, as a user runs it: pytest in a folder of its own, in another process."""

import hashlib
import os
import re
import subprocess
import sys

import pytest

from support import PYTEST, ROOT, TIMEOUT, bluebench

pytestmark = pytest.mark.wall_time

PAGE = ROOT / "docs" / "guide" / "pytest.md"
HEAD = "import asyncio\nimport pytest\nimport bluebench\nfrom bluebench import virtualtime\nfrom bumble.device import Peer\n"
PHONE = "F0:F1:F2:F3:F4:F5"
# A client of virtual time that leaves without BYE.
HEAD += """import sys
DIES = '''
import os, sys
from bluebench.virtualtime.client import Client
Client("dies").connect(sys.argv[1])
print("out of memory", flush=True)
os._exit(9)
'''
"""


@pytest.fixture
def user(tmp_path):
    """Runs a user's tests; returns the output of pytest and its exit code."""

    def run(text, *options):
        (tmp_path / "test_app.py").write_text(text)
        command = [*PYTEST, "--rootdir", str(tmp_path), *options, "."]
        environment = os.environ | {"BLUEBENCH": bluebench(), "PYTHONPATH": str(ROOT / "Python")}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=TIMEOUT * 3)
        return done.stdout + done.stderr, done.returncode

    run.folder = tmp_path
    return run


def blocks():
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)


def test_the_first_example_passes(user):
    output, code = user(blocks()[0])
    assert code == 0 and "1 passed" in output, output
    assert not (user.folder / "bluebench-failures").exists()


def test_the_other_examples(user):
    """The second lacks a body's rest only; the third is a script."""
    output, code = user(HEAD + blocks()[1])
    assert code == 0, output
    script = subprocess.run(
        [sys.executable, "-c", blocks()[2]], cwd=ROOT, env=os.environ | {"BLUEBENCH": bluebench(), "PYTHONPATH": "Python"}, capture_output=True, text=True)
    assert script.returncode == 0, script.stderr


def test_a_failure_shows_what_happened(user):
    output, code = user(blocks()[0].replace("bytes([1])", "bytes([2])"))
    assert code == 1 and "1 failed" in output
    assert "assert b'\\x01' == b'\\x02'" in output
    assert "last 25 packets" in output and "ATT_READ_RSP Attribute_Value=01" in output
    chart = output.partition("the same as a chart")[2].partition("output of bluebench")[0]
    assert "heart-rate (1)" in chart and len([line for line in chart.splitlines() if " | " in line or line.endswith(" |")]) >= 5, chart
    [folder] = (user.folder / "bluebench-failures").iterdir()
    assert "test_a_phone_reads_the_sensor_location" in folder.name and f"bluebench show bluebench-failures/{folder.name}/hci.pcapng" in output
    assert (folder / "air.pcapng").stat().st_size > 1000 and (folder / "hci.pcapng").stat().st_size > 1000
    assert "Bluebench Heart Rate" in (folder / "output.txt").read_text()


MISTAKES = {
    "unknown argument": (
        "@pytest.mark.bluebench(los=0.1)\nasync def test_it(dongle):\n    pass\n", "@pytest.mark.bluebench got an unexpected keyword argument 'los'"),
    "unknown chip": ("@pytest.mark.bluebench(chip='nrf')\ndef test_it(dongle):\n    pass\n", "nrf"),
    "too many dongles": ("@pytest.mark.bluebench(count=1)\ndef test_it(dongles):\n    dongles(2)\n", "1 dongles are left, not 2"),
    "no coroutine": ("def test_it(accessory):\n    accessory()\n", "a test with an accessory is a coroutine"),
    "never ends": (
        "@pytest.mark.bluebench(timeout=600)\nasync def test_it(dongle):\n    await asyncio.get_running_loop().create_future()\n",
        "the test did not end within 600 s of virtual time"),
    "unknown accessory": (
        "async def test_it(accessory, phone):\n    await phone.connect(accessory('hart-rate'))\n",
        "the accessory 'hart-rate' has ended, exit code 2: bluebench: The value 'hart-rate' is invalid for"),
    "a program that ends with an error": (
        "async def test_it(air, dongle):\n    air.program('sh', '-c', 'echo no board >&2; exit 7')\n    await virtualtime.sleep(1000)\n",
        "the program 'sh' has ended, exit code 7: no board"),
    "a program that ends with an error in real time": (
        "@pytest.mark.bluebench(real_time=True, timeout=500)\nasync def test_it(air, dongle):\n    air.program('sh', '-c', 'exit 7')\n"
        "    await asyncio.get_running_loop().create_future()\n",
        "the program 'sh' has ended, exit code 7: it printed nothing"),
    "a program that dies in the world": (
        "async def test_it(air, dongle):\n    air.program(sys.executable, '-c', DIES, dongle)\n    await virtualtime.sleep(1000)\n",
        "has ended, exit code 9: out of memory"),
    "host left open": (
        f"async def test_it(dongle):\n    async with dongle.host('p', '{PHONE}'):\n        raise ValueError('its own error')\n", "its own error"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_explained_without_our_code(user, name):
    text, expected = MISTAKES[name]
    output, code = user(HEAD + text)
    assert code == 1 and expected in output, output
    assert "none came for" not in output, output
    assert "__tracebackhide__" not in output and "self._in_world" not in output


SEEDS = """
@pytest.mark.bluebench(loss=0.2)
async def test_it(air, dongle, accessory):
    sensor = accessory("heart-rate")
    async with dongle.host("phone", "F0:F1:F2:F3:F4:F5") as phone:
        await phone.connect(sensor.address + "/P")
        await virtualtime.sleep(5)
        {leave}
        assert False, "keep the capture"
"""


def test_one_seed_gives_one_air(user):
    """An accessory and a host; the ports differ each time."""

    def air(seed):
        user(HEAD + SEEDS.format(leave=""), "--bluebench-seed", seed)
        return hashlib.sha256((user.folder / "bluebench-failures/test_app.py-test_it/air.pcapng").read_bytes()).hexdigest()

    assert air("1") == air("1") == air("1") != air("2")


WORLD = """
async def test_a_command_beside_a_host(air, dongles):
    near, far = dongles(2)
    async with far.host("lamp", "F0:F1:F2:F3:F4:F5") as lamp:
        await lamp.start_advertising(auto_restart=True)
        for _ in range(2):
            output = await air.run("gatt", near, "--peer", "F0:F1:F2:F3:F4:F5/random", "--bonds", "none")
            assert "Generic Access" in output
        with pytest.raises(bluebench.BluebenchError, match="exit code 2"):
            await air.run("gatt", near, "--nonsense")


async def test_two_accessories(dongle, accessory):
    sensor, keyboard = accessory("heart-rate"), accessory("keyboard")
    async with dongle.host("phone", "F0:F1:F2:F3:F4:F5") as phone:
        for one in (sensor, keyboard):
            link = await phone.connect(one.address + "/P")
            async with Peer(link) as peer:
                assert peer.services
            await link.disconnect()


async def test_a_phone_and_a_described_device(phone, accessory):
    sensor = accessory("product.yaml")
    peer = await phone.peer(sensor)
    [location] = peer.get_characteristics_by_uuid(UUID(0x2A38))
    assert await location.read_value() == bytes([2])
    assert (await phone.host()).connections


@pytest.mark.bluebench(distance=100)
async def test_far_away(phone, accessory):
    link = await phone.connect(accessory("keyboard"))
    assert await link.get_rssi() < -75


async def test_cases_of_an_accessory(air, dongle, accessory):
    sensor = accessory("heart-rate")
    results = await air.run_cases("accessory-att/mtu", "accessory-gatt", tester=dongle, peer=sensor.address + "/public", options=["--cases", CASES])
    assert results.summary.passed > 3 and not results.failed
    assert results["accessory-att/mtu"].steps[0].outcome == "done"


async def test_time_goes_on_without_what_has_left(air, phone, accessory):
    lamp = accessory("heart-rate", "--seconds", 20)
    air.program("true")
    air.program("sleep", "1000").stop()
    await phone.connect(lamp)
    await virtualtime.sleep(100)
    assert lamp.process.returncode == 0


@pytest.mark.bluebench(real_time=True)
async def test_in_real_time(dongle, accessory):
    sensor = accessory("heart-rate")
    assert dongle.bumble.startswith("tcp-client:127.0.0.1:")
    async with dongle.host("phone", "F0:F1:F2:F3:F4:F5") as phone:
        await phone.connect(sensor.address + "/P")


@pytest.mark.bluebench(chip="csr8510", quirks="credit-zero", seed=5)
def test_without_a_coroutine(air, dongle):
    assert air.seed == 5 and dongle.selector.endswith(",virtual-time")


@pytest.mark.bluebench(dual=True)
class TestMarked:
    async def test_an_hour(self, dongle):
        loop = asyncio.get_running_loop()
        async with dongle.host("phone", "F0:F1:F2:F3:F4:F5") as phone:
            then = loop.time()
            await virtualtime.sleep(1700)
            assert loop.time() - then == pytest.approx(1700)
            assert phone.host.local_lmp_features
"""


PRODUCT = """
device: {name: Own sensor}
advertising: {connectable: true, data: "02 01 06 03 03 0D 18"}
services:
- uuid: 180D
  handles: [31, 33]
  primary: true
  characteristics:
  - {uuid: 2A38, declaration: 32, handle: 33, properties: [read], value: "02"}
"""


def test_what_the_fixtures_offer(user):
    (user.folder / "product.yaml").write_text(PRODUCT)
    output, code = user(f"{HEAD}from bumble.core import UUID\nCASES = {str(ROOT / 'Conformance')!r}\n{WORLD}")
    assert code == 0 and "9 passed" in output, output
