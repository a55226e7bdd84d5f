"""A Bumble peripheral is the accessory under test: its own stack, met over the simulated air only."""

import json
import sys

from support import HERE, Process, bluebench


def test_a_bumble_peripheral_passes_the_accessory_cases(tmp_path):
    results = tmp_path / "results.json"
    with Process(bluebench(), "run", "accessory", "--subject-port", "tcp-listen:0", "--json", results) as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with Process(sys.executable, HERE / "accessory.py", f"127.0.0.1:{port.group(1)}"):
            code = bench.wait()
    cases = {case["id"]: case["verdict"] for case in json.loads(results.read_text())["cases"]}
    assert code == 0, f"{cases}\n{bench.text}"
    assert set(cases.values()) <= {"PASS", "N/A"}, bench.text
    assert sum(verdict == "PASS" for verdict in cases.values()) >= 10
