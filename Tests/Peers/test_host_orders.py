"""The cases for hosts on our own host: neither the seed nor the order changes a verdict."""

import json
import os

import pytest

from support import run_bench

SEEDS = range(1, 11) if "SOAK" in os.environ else (1, 7)


@pytest.mark.parametrize("seed", SEEDS)
def test_seed_and_order_change_no_verdict(tmp_path, seed):
    report = tmp_path / "results.json"
    run_bench("run", "host-*", "--seed", str(seed), "--shuffle", str(seed), "--json", report)
    cases = json.loads(report.read_text())["cases"]
    assert len(cases) >= 230
    assert [f"{case['id']}: {case['verdict']}" for case in cases if case["verdict"] not in ("PASS", "N/A")] == []
    assert sum(case["verdict"] == "PASS" for case in cases) > len(cases) * 0.9
