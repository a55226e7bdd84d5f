"""A device that stores bonds does not know the tester in any case: its stored bonds affect neither other cases nor the next run."""

import json

from asking import ADDRESS
from support import Process, PythonPeer, bluebench, dongles, run_bench

CASES = [
    "accessory-security/reconnects-encrypted", "accessory-subscribe/subscribes[kind=notifications]", "accessory-subscribe/default",
    "accessory-subscribe/each-connection[client=of-the-run]",
]


def test_a_bond_of_one_case_changes_no_other(tmp_path):
    with dongles(2) as ports, Process(
            bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]}", "--as", "keyboard", "--bonds", tmp_path / "bonds.json") as keyboard:
        keyboard.wait_for("advertising 'Bluebench Keyboard'")
        for turn in range(2):
            results = tmp_path / f"{turn}.json"
            run_bench(
                "run", *CASES, "--tester", f"tcp:127.0.0.1:{ports[0]}", "--peer", "Bluebench Keyboard", "--bonds", "none", "--json", results)
            cases = {case["id"]: case["verdict"] for case in json.loads(results.read_text())["cases"]}
            assert cases == dict.fromkeys(CASES, "PASS"), cases
    assert (tmp_path / "bonds.json").exists()


def test_a_device_that_keeps_its_first_bond_is_judged_and_never_sees_a_key_twice(tmp_path):
    """It refuses to pair with a peer that it has bonded, which is legal."""
    cases = [f"accessory-security/{name}" for name in ("pairs-anew", "read-after-pairing", "reconnects-encrypted")]
    with dongles(2) as ports, PythonPeer("asking.py", f"127.0.0.1:{ports[1]}", "first-bond") as device:
        device.wait_for("advertising")
        for turn in range(2):
            results = tmp_path / f"{turn}.json"
            run_bench(
                "run", *cases, "--tester", f"tcp:127.0.0.1:{ports[0]}", "--peer", ADDRESS, "--bonds", "none", "--json", results)
            assert {case["id"]: case["verdict"] for case in json.loads(results.read_text())["cases"]} == dict.fromkeys(cases, "PASS")
        keys = [match.string.split()[1] for match in device.wait_for("key ", 6)]
    assert len(set(keys)) == len(keys)
