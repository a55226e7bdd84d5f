"""The examples, run as their pages say; the one with bleak runs in the virtual machine (Tests/VM)."""

import json
import os
import subprocess

import pytest

from support import PYTEST, ROOT, TIMEOUT, bluebench

EXAMPLES = ROOT / "Examples"


def play(folder, tmp_path, *options, **environment):
    """The tests of an example, in a process of their own."""
    command = [*PYTEST, "--bluebench-folder", str(tmp_path / "failures"), *options, str(EXAMPLES / folder)]
    own = {"BLUEBENCH": bluebench(), "PYTHONPATH": str(ROOT / "Python"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=ROOT, env=os.environ | own | environment, capture_output=True, text=True, timeout=TIMEOUT * 5)
    return done.stdout + done.stderr, done.returncode


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_peripheral_of_bumble(tmp_path, seed):
    output, code = play("bumble-peripheral", tmp_path, "--bluebench-seed", seed)
    assert code == 0 and "7 passed" in output, output


def test_a_firmware_in_c(tmp_path):
    output, code = play("firmware", tmp_path)
    assert code == 0 and "4 passed" in output, output


def test_the_library_in_c_is_strict_c99(tmp_path):
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-O2", "-c"]
    for name in ("vt_h4.c", "firmware.c"):
        subprocess.run(["cc", *flags, "-o", tmp_path / "object.o", EXAMPLES / "firmware" / name], check=True)


@pytest.mark.parametrize(("flags", "expected"), [("-DUNCHANGED", 0), ("-DFULL=200", 1)])
def test_the_gate_of_two_builds(tmp_path, flags, expected):
    output, code = play("regression-gate", tmp_path, NEW_FLAGS=flags)
    assert code == expected, output
    assert expected == 0 or "accessory-values/formats: FAIL" in output and "the level is 200, not 0 to 100" in output, output


def test_the_gate_of_throughput(tmp_path):
    program = tmp_path / "bin" / "bluebench"
    program.parent.mkdir()
    program.symlink_to(bluebench())

    def gate():
        command = [EXAMPLES / "throughput-gate/gate.sh", "base.json"]
        environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=TIMEOUT)

    assert "gate: made base.json" in gate().stdout
    assert gate().returncode == 0
    # As if it had been a fifth faster once.
    base = json.loads((tmp_path / "base.json").read_text())
    base["rows"][0]["goodput_kbps"] *= 1.25
    (tmp_path / "base.json").write_text(json.dumps(base))
    slower = gate()
    assert slower.returncode == 1 and "95" in slower.stdout + slower.stderr, slower
