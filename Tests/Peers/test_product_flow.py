"""The documented flow: a product with a defect is surveyed, its maker declares what it promises, and `run accessory --device` judges it by the file."""

import concurrent.futures
import json
import os
import random
import re

import pytest

import att_product
import pairing_faults
import products
from support import Process, PythonPeer, bluebench, dongles, run_bench
from test_att_server import BELOW, CHANGES, DEFECTS
from test_pairing_faults import PLANTED as PAIRING
from test_products import PLANTED, is_of_bumble

SOAK = "SOAK" in os.environ
SEED = int(os.environ.get("SAMPLE", "1"))
TRIED = 20 if SOAK else 2
ALL = sorted([("own server", name, "") for name in DEFECTS] + [("pairing", fault, "") for fault, _, _ in PAIRING]
             + [("Bumble's server", fault, kind) for fault, kind, _, _ in PLANTED])


def product(server, change, kind):
    """The program of a product with its arguments, its name, and what its maker declares."""
    if server == "own server":
        declares = CHANGES[change].methods.get("declares", att_product.DECLARES) if change else att_product.DECLARES
        return ["att_product.py", *filter(None, [change])], att_product.NAME, declares
    if server == "pairing":
        return ["pairing_faults.py", change], pairing_faults.NAME, "declares: {bonds: true}\n"
    return ["products.py", kind, *filter(None, [change])], products.ADDRESS, "declares: {}\n"


def run_by_description(folder, server, change, kind):
    """What a run says, and its cases."""
    (program, *arguments), peer, declares = product(server, change, kind)
    description, results = folder / "wire.yaml", folder / "results.json"
    with dongles(2, virtual_time=True) as ports:
        tester = f"tcp:127.0.0.1:{ports[0]},virtual-time"
        with PythonPeer(program, f"virtual:127.0.0.1:{ports[1]}", *arguments) as device:
            device.wait_for("advertising")
            survey = run_bench("survey", tester, "--peer", peer, "--bonds", "none").stdout
    assert "declares: {}\n" in survey, survey
    description.write_text(survey.replace("declares: {}\n", declares))
    with dongles(2, virtual_time=True) as ports:
        tester = f"tcp:127.0.0.1:{ports[0]},virtual-time"
        with PythonPeer(program, f"virtual:127.0.0.1:{ports[1]}", *arguments) as device:
            device.wait_for("advertising")
            done = run_bench(
                "run", "accessory", "--tester", tester, "--peer", peer, "--device", description, "--bonds", "none", "--json", results, expected=None,
                timeout=900)
    assert results.exists(), done.stdout + done.stderr
    return done.stdout, json.loads(results.read_text())["cases"]


def judge(folder, server, change, kind):
    """The cases that FAIL and are not about Bumble."""
    _, cases = run_by_description(folder, server, change, kind)
    return {case["id"]: case["message"] for case in cases if case["verdict"] == "FAIL" and case["id"].split("[")[0] not in BELOW
            and (server == "own server" or not is_of_bumble(case["id"]))}


def test_defects_drawn_at_random_are_found_by_the_documented_flow(tmp_path, record_property):
    drawn = random.Random(SEED).sample(ALL, TRIED)

    def found(row):
        # Two servers may have defects of one name.
        folder = tmp_path / row[0] / row[1]
        folder.mkdir(parents=True)
        return judge(folder, *row)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failed = dict(zip(drawn, pool.map(found, drawn)))
    missed = [row for row, cases in failed.items() if not cases]
    record_property("corpus", ["documented flow", TRIED - len(missed), len(missed)])
    # One of twenty may be missed.
    assert len(missed) <= TRIED // 20, missed


LEGAL = [("own server", "", ""), ("Bumble's server", "", "heart-rate"), ("pairing", "", "")]


@pytest.mark.parametrize("row", LEGAL if SOAK else LEGAL[:1], ids=lambda row: row[0])
def test_the_forecast_of_a_run_is_right(row, tmp_path):
    """The sum without what the forecast says that it leaves out: the 30 s of a request that stays unanswered, here by faults of Bumble."""
    told, cases = run_by_description(tmp_path, *row)
    [(number, unit, count)] = re.findall(r"^length   about (\d+) (s|min) for (\d+) cases; an unanswered request adds 30 s", told, re.MULTILINE)
    took = [case["virtual_ms"] / 1000 for case in cases]
    unanswered = sum(case["verdict"] == "FAIL" and case["virtual_ms"] > 30_000 and case["id"] != "smp-negative/silence" for case in cases)
    expected = sum(took) - 30 * unanswered
    assert int(count) == len(cases) and abs(int(number) * (60 if unit == "min" else 1) / expected - 1) < 0.3, (told, expected)


def test_a_product_that_is_gone_ends_the_run(tmp_path):
    """A search for a device takes 19 s, which a run of 160 cases does not spend on each."""
    results = tmp_path / "results.json"
    arguments = ["--subject-port", "tcp-listen:0", "--wait-for-host", "120", "--virtual-time", "--peer", att_product.NAME, "--json", results]
    with Process(bluebench(), "run", "accessory-att", *arguments) as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with PythonPeer("att_product.py", f"virtual:127.0.0.1:{port.group(1)}", "never-back"):
            assert bench.wait() in (1, 3)
    document = json.loads(results.read_text())
    searched = [case for case in document["cases"] if "was not found within" in case.get("message", "")]
    told = "the device was not found in 5 cases in a row; it was there in accessory-att/"
    rest = [case for case in document["cases"] if told in case.get("message", "")]
    assert len(searched) >= 5 and len(rest) > 20 and {case["verdict"] for case in rest} == {"INCONC"}, document["cases"]
