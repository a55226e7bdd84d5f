"""Every command reports impediments to the use of a dongle, and the remedy."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from support import TIMEOUT, ROOT, bluebench, fake_usb

BENCH = 3
NOBODY = 65534


def open_to_all(tree):
    """All users may read the simulated bus, like /sys and /dev."""
    for folder, _, files in os.walk(tree):
        os.chmod(folder, 0o777)
        for path in (pathlib.Path(folder, name) for name in files):
            if not path.is_symlink():
                path.chmod(0o666)


@pytest.fixture(scope="module")
def as_a_user():
    """Runs the program as a user without permission to open the only dongle."""
    # Other users cannot reach the folders of the tests.
    with fake_usb(1) as bus, tempfile.TemporaryDirectory(dir="/tmp") as folder:
        tree = bus.environment["UMOCKDEV_DIR"]
        open_to_all(tree)
        for node in pathlib.Path(tree, "dev/bus/usb/001").iterdir():
            node.chmod(0)
        os.chmod(folder, 0o755)
        program = shutil.copy(bluebench(), folder)
        change_user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
        environment = {name: value for name, value in bus.environment.items() if not name.startswith("XDG_")} | {"HOME": folder, "TMPDIR": folder}
        yield lambda *arguments: subprocess.run(
            [*change_user, program, *arguments], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT)


def rule_in(text):
    assert "/etc/udev/rules.d/" in text, text
    for part in ['SUBSYSTEM=="usb"', 'ATTR{idVendor}=="1209"', 'ATTR{idProduct}=="0001"', 'TAG+="uaccess"']:
        assert part in text, text


def test_the_list_of_devices_has_the_udev_rule(as_a_user):
    listing = as_a_user("devices", "--json")
    assert listing.returncode == 0, listing.stderr
    [device] = json.loads(listing.stdout)["devices"]
    assert device["selector"] == "usb:1-1"
    rule_in(device["impediment"])
    assert device["impediment_kind"] == "permission"


@pytest.mark.parametrize("arguments", [("scan", "usb:1-1"), ("loopback", "usb:1-1")])
def test_what_needs_the_dongle_ends_with_the_rule(as_a_user, arguments):
    result = as_a_user(*arguments)
    assert result.returncode == BENCH, result.stdout + result.stderr
    rule_in(result.stdout + result.stderr)
