"""The virtual machine's scripts: one that is run by itself gets what it needs first. Nothing is booted."""

import importlib.util
import os
import subprocess
import sys

import pytest

from support import ROOT, bluebench

GUEST = ROOT / "Tests" / "VM" / "guest"
ATTACH = "10-attach.sh"


@pytest.fixture(scope="module")
def vm():
    spec = importlib.util.spec_from_file_location("vm", ROOT / "Tests" / "VM" / "vm.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("scripts", "expected"),
    [
        (["30-hci-tester.sh"], [ATTACH, "30-hci-tester.sh"]),
        (["20-btmgmt.sh", "40-gatt.sh"], [ATTACH, "20-btmgmt.sh", "40-gatt.sh"]),
        ([ATTACH, "20-btmgmt.sh"], [ATTACH, "20-btmgmt.sh"]),
        # Scripts that name their own dongles attach them.
        (["50-firmware-realtek.sh"], ["50-firmware-realtek.sh"]),
        (["50-firmware-realtek.sh", "60-pairing.sh"], None),
        # A host that is judged gets its controller from the run.
        (["65-host.sh"], ["65-host.sh"]),
    ],
    ids=lambda names: " ".join(names or []),
)
def test_a_script_gets_its_dongles_first(vm, capsys, scripts, expected):
    paths = [str(GUEST / name) for name in scripts]
    if expected is None:
        own = vm.dongles_for(paths[-1]) == vm.DONGLES
        expected = [ATTACH, *scripts] if own else scripts
    found = [path.rsplit("/", 1)[-1] for path in vm.with_attachment(paths)]
    assert found == expected
    said = capsys.readouterr().out
    assert (f"needs {ATTACH}, which runs first" in said) == (len(found) > len(scripts))


def test_the_guest_has_the_folders_below_its_own_tmp(vm, tmp_path):
    """The guest has a /run and a /tmp of its own: what it uses of this machine's is named, each place once, and mounted after them."""
    (tmp_path / "share").mkdir()
    (tmp_path / "checkout/build").mkdir(parents=True)
    (tmp_path / "checkout-2").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "checkout")
    folders = [tmp_path / name for name in ("checkout/build", "checkout", "checkout-2", "link")]
    vm.use_folders(tmp_path / "share", *folders)
    assert (tmp_path / "share/folders").read_text() == f"{tmp_path.resolve()}/checkout\n{tmp_path.resolve()}/checkout-2\n"
    init = (ROOT / "Tests/VM/init").read_text()
    order = ["mount --bind /root /whole", "mount -t tmpfs tmpfs /root/tmp", 'mount --bind "/whole$f"', 'user "/root$folder"', "chroot /root"]
    assert [init.index(text) for text in order] == sorted(init.index(text) for text in order)
    assert subprocess.run(["sh", "-n", ROOT / "Tests/VM/init"]).returncode == 0


def tool(*options, cwd=ROOT, **environment):
    command = [sys.executable, ROOT / "Tools/vm", "--bluebench", bluebench(), *options]
    return subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True)


def test_the_tool_says_what_to_install(tmp_path):
    """A machine on which dpkg knows no package."""
    dpkg = tmp_path / "bin" / "dpkg"
    dpkg.parent.mkdir()
    dpkg.write_text("#!/bin/sh\nexit 1\n")
    dpkg.chmod(0o755)
    made = tool("--run", "true", cwd=tmp_path, PATH=f"{dpkg.parent}:{os.environ['PATH']}")
    assert made.returncode == 77 and made.stdout == ""
    assert "apt-get install" in made.stderr and "qemu-system-x86" in made.stderr and "bluez" in made.stderr


def test_the_tool_refuses_wrong_options():
    assert tool().returncode == 2
    made = tool("--run", "true", "--dongles", "8")
    assert made.returncode == 2 and "1...7" in made.stderr
