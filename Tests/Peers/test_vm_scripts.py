"""The virtual machine's scripts: one that is run by itself gets what it needs first. Nothing is booted."""

import argparse
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


def test_a_busy_machine_is_no_failure(vm, tmp_path, monkeypatch, capsys):
    """A guest that lost more than a twentieth of its time: what failed runs again, and is not judged if that helps nothing."""
    monkeypatch.setattr(vm, "start_dongles", lambda *_: (subprocess.Popen(["true"]), 1))
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "11-a.sh"
    script.write_text("true\n")
    boots = []

    def boot(_):
        boots.append(1)
        (tmp_path / "late.txt").write_text("1 600000\n3 900000\n")
        (tmp_path / "11-a.sh.status").write_text("1")
        return True

    with open(tmp_path / "dongles.txt", "w") as log:
        runs = vm.Guests(argparse.Namespace(bluebench="true", timeout=9), [str(script)], str(tmp_path), log)
        assert runs.run(boot) and runs.is_unjudged(str(script)) and len(boots) == vm.GUESTS
        runs.stop()
    assert "this machine is busy: the guest lost 2 s of 0 s" in capsys.readouterr().out


BREAK = """[   46.7] kernel BUG at lib/list_debug.c:56!
[   46.7] Call Trace:
[   46.8]  __list_del_entry_valid+0x1/0x2
[   46.9]  hci_chan_del+0x18/0x90 [bluetooth]
"""


@pytest.mark.parametrize(
    ("guests", "order", "passed"),
    [
        # What each guest's kernel says, and of every script that it ran: 0 passed, 1 failed, b failed under a broken kernel.
        ([("", "00")], [["11-a", "20-b"]], True),
        ([("", "01")], [["11-a", "20-b"]], False),
        ([(BREAK, "00")], [["11-a", "20-b"]], True),
        ([(BREAK, "0b"), ("", "00")], [["11-a", "20-b"], [ATTACH, "20-b"]], True),
        ([(BREAK, "b"), ("", "000")], [["11-a", "20-b"], [ATTACH, "11-a", "20-b"]], True),
        # A failure from before the kernel broke stands.
        ([(BREAK, "1b"), ("", "00")], [["11-a", "20-b"], [ATTACH, "20-b"]], False),
        ([(BREAK, "0b")] * 5 + [("", "00")], [["11-a", "20-b"]] + [[ATTACH, "20-b"]] * 4, False),
    ],
)
def test_what_a_broken_kernel_has_failed_runs_in_another_guest(vm, tmp_path, monkeypatch, capsys, guests, order, passed):
    """Only a kernel that said that it broke is a reason to run a script again."""
    (tmp_path / "scripts").mkdir()
    monkeypatch.setattr(vm, "start_dongles", lambda *_: (subprocess.Popen(["true"]), 1))
    scripts = [str(tmp_path / name) for name in ("11-a.sh", "20-b.sh")]
    for script in scripts:
        (tmp_path / script).write_text("true\n")
    seen = []

    def boot(_):
        console, codes = guests[len(seen)]
        found = sorted(path.name for path in (tmp_path / "scripts").glob("*.sh"))
        seen.append([name.removesuffix(".sh") if name != ATTACH else name for name in found])
        (tmp_path / "console.txt").write_text(console)
        for name, code in zip(found, codes):
            (tmp_path / f"{name}.status").write_text("0" if code == "0" else "1")
            if code == "b":
                (tmp_path / f"{name}.broken").touch()
        return True

    with open(tmp_path / "dongles.txt", "w") as log:
        runs = vm.Guests(argparse.Namespace(bluebench="true", timeout=1), scripts, str(tmp_path), log)
        assert runs.run(boot)
        runs.stop()
    assert seen == order
    assert all(vm.has_passed(str(tmp_path), script) for script in scripts) == passed
    told = capsys.readouterr().out
    assert ("kernel BUG at lib/list_debug.c:56!, in hci_chan_del" in told) == bool(guests[0][0])


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
