"""A program with `import CoreBluetooth` on a device that BLUEBENCH_DEVICE names, in wall time."""

import os
import re
import shlex
import subprocess

import pytest

from support import ROOT, TIMEOUT, Process, bluebench, dongles


@pytest.fixture
def program():
    places = [ROOT / ".build" / kind / "watch-heart-rate" for kind in ("release", "debug")]
    built = max((place for place in places if place.is_file()), key=lambda place: place.stat().st_mtime, default=None)
    assert built, "no program: swift build --product watch-heart-rate"
    return built


def watch(program, **environment):
    own = {name: value for name, value in os.environ.items() if name != "BLUEBENCH_DEVICE"}
    return subprocess.run([program], env=own | environment, capture_output=True, text=True, timeout=TIMEOUT * 3)


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


def test_without_a_device_it_says_what_to_set(program):
    done = watch(program, BLUEBENCH_DEVICE="tcp:127.0.0.1:1")
    assert done.returncode == 1 and "tcp:127.0.0.1:1" in done.stderr and "no values" in done.stdout
