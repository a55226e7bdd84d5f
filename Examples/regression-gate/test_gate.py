"""A regression gate: what the old build of a firmware passes, the new one must pass, too.

Each build plays in a world of its own, with the same seed. The programs are the environment's OLD and NEW, or two builds of ../firmware:
the new one has the flags in NEW_FLAGS. Run: pytest; NEW_FLAGS=-DFULL=200 pytest fails.
"""

import os
import pathlib
import subprocess

import pytest

FIRMWARE = pathlib.Path(__file__).parent.parent / "firmware"
CASES = ["accessory-att", "accessory-gatt", "accessory-values"]


def build(path, flags):
    subprocess.run(["cc", "-std=c99", "-O1", *flags, "-o", path, FIRMWARE / "firmware.c", FIRMWARE / "vt_h4.c"], check=True)
    return path


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("builds")
    return {
        "old": os.environ.get("OLD") or build(folder / "old", []),
        "new": os.environ.get("NEW") or build(folder / "new", os.environ.get("NEW_FLAGS", "").split()),
    }


@pytest.fixture(scope="session")
def verdicts():
    """The results of each build."""
    return {}


@pytest.mark.parametrize("name", ["old", "new"])
@pytest.mark.bluebench(timeout=36_000)
async def test_cases_of(name, air, dongle, programs, verdicts):
    battery = air.dongle()
    air.program(programs[name], battery)
    verdicts[name] = await air.run_cases(*CASES, tester=dongle, peer=battery.address + "/public")
    assert verdicts[name].summary.passed > 0 and verdicts[name].summary.error == 0


def test_nothing_is_worse(verdicts):
    passed = {case.id for case in verdicts["old"].cases if case.verdict == "PASS"}
    worse = [f"{case.id}: {case.verdict}: {case.message}" for case in verdicts["new"].cases if case.id in passed and not case.passed]
    assert not worse, "worse than with the old build:\n" + "\n".join(worse)
