"""A Bumble peripheral is the accessory under test: its own stack, met over the simulated air only, in virtual time."""

import json

from support import Process, PythonPeer, bluebench

CASES = [
    "advertising-content", "scan-response", "primary-services", "service-by-uuid", "characteristics", "descriptor", "read", "read-long",
    "read-by-uuid", "error[request=read-not-permitted]", "mtu-exchange", "notification", "notification-burst", "indication", "error[request=control-refuses]", "leaves",
]

# Cases that Bumble fails because of its own faults, listed in docs/design/peers.md.
KNOWN_FAULTS = {"gatt/error[request=unsupported-request]"}


def test_a_bumble_peripheral_passes_the_accessory_cases(tmp_path):
    results = tmp_path / "results.json"
    cases = [f"gatt/{name}" for name in CASES]
    with Process(bluebench(), "run", *cases, "--subject-port", "tcp-listen:0", "--virtual-time", "--json", results) as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with PythonPeer("accessory.py", f"virtual:127.0.0.1:{port.group(1)}"):
            code = bench.wait()
    cases = {case["id"]: case["verdict"] for case in json.loads(results.read_text())["cases"]}
    assert code in (0, 1), f"{cases}\n{bench.text}"
    assert {case for case, verdict in cases.items() if verdict not in ("PASS", "N/A")} <= KNOWN_FAULTS, bench.text
    assert sum(verdict == "PASS" for verdict in cases.values()) >= 10
