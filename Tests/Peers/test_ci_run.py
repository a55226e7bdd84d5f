"""The steps of `.ci/run`: which one fails, which others run nevertheless, and what the last lines say."""

import shutil
import subprocess

import pytest

from support import ROOT, TIMEOUT

MAKE = """#!/bin/sh
echo "made $*"
case " $* " in *" $FAILS "*) exit 2;; esac
"""


def run_ci(folder, fails, vm=0):
    """The exit code, and the state of each step."""
    for name in (".ci", "Tests/VM", "bin", ".build"):
        (folder / name).mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
    (folder / "bin/make").write_text(MAKE)
    (folder / "bin/make").chmod(0o755)
    (folder / "Tests/VM/vm.py").write_text(f"raise SystemExit({vm})\n")
    made = subprocess.run(
        [folder / ".ci/run"], env={"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "FAILS": fails}, capture_output=True, text=True, timeout=TIMEOUT)
    last = made.stdout.split("== closing lines\n")[1].splitlines()
    steps = dict(line.removeprefix("ci: ").split(": ", 1) for line in last if line.startswith("ci: ") and ": " in line.removeprefix("ci: "))
    return made.returncode, {name: text.split(",")[0].split(":")[0] for name, text in steps.items()}, last[-1], made.stdout


STEPS = ["setup", "lint", "build", "test-build", "tests", "run", "package", "vm"]


@pytest.mark.parametrize(
    ("fails", "failed", "skipped"),
    [
        ("setup", "setup", ["lint", "build", "test-build", "tests", "run", "package", "vm"]), ("lint", "lint", []),
        ("release", "build", ["test-build", "tests", "run", "package", "vm"]), ("test-build", "test-build", ["tests"]), ("test-swift", "tests", []),
        ("run", "run", []),
    ])
def test_a_failed_step_is_named_and_the_others_run(tmp_path, fails, failed, skipped):
    code, steps, last, _ = run_ci(tmp_path, fails)
    assert code == 1 and last.startswith("ci: FAILED after ") and last.endswith(f" s: {failed}")
    expected = {name: "passed" for name in STEPS} | {name: "not run" for name in skipped} | {failed: "FAILED"}
    assert {name: steps[name] for name in STEPS} == expected


@pytest.mark.parametrize(("vm", "code", "state"), [(0, 0, "passed"), (77, 0, "not run"), (1, 1, "FAILED")])
def test_a_machine_without_the_kernel_passes(tmp_path, vm, code, state):
    result, steps, last, output = run_ci(tmp_path, "nothing", vm)
    assert result == code and steps["vm"] == state
    assert last.startswith("ci: passed after " if code == 0 else "ci: FAILED after ")
    assert "made -k BUILT=yes test-swift test-python" in output
