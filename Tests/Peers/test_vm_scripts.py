"""The virtual machine's scripts: one that is run by itself gets what it needs first. Nothing is booted."""

import importlib.util

import pytest

from support import ROOT

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
