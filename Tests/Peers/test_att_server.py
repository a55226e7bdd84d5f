"""Defects and legal behaviour of a foreign attribute server, over the air: each defect has a case whose purpose it is, and no case FAILs a legal product."""

import json
import os
import random

import pytest

import legal_changes  # noqa: F401 - it and what it imports add their rows to CHANGES
from att_changes import CHANGES, Change, Freedom
from att_product import DECLARES, NAME
from support import Process, PythonPeer, bluebench, dongles, run_bench
from test_pairing_faults import OF_BUMBLE

SOAK = "SOAK" in os.environ
DEFECTS = {name: change for name, change in CHANGES.items() if isinstance(change, Change)}
LEGAL = {name: change for name, change in CHANGES.items() if isinstance(change, Freedom)}
SAMPLE = int(os.environ.get("SAMPLE", "1"))
"""The seed of the sample that `make test` runs; `make soak` runs all."""
SUITES = ["accessory"] if SOAK else [
    "accessory-att", "accessory-discovery", "accessory-gatt", "accessory-security", "accessory-subscribe", "accessory-values"]
# Below the attribute server is Bumble; docs/design/peers.md has its faults with their sections.
BELOW = OF_BUMBLE | {"accessory-link/in-pieces", "accessory-link/parameters-asked-of-it"}


def sample(names, count):
    return sorted(names) if SOAK else sorted(random.Random(SAMPLE).sample(sorted(names), count))


@pytest.fixture(scope="module")
def description(tmp_path_factory):
    """The product as a survey describes it, with what its maker declares."""
    path = tmp_path_factory.mktemp("device") / "tally.yaml"
    with dongles(2, virtual_time=True) as ports, PythonPeer("att_product.py", f"virtual:127.0.0.1:{ports[1]}") as product:
        product.wait_for("advertising")
        survey = run_bench("survey", f"tcp:127.0.0.1:{ports[0]},virtual-time", "--peer", NAME, "--bonds", "none").stdout
    assert "declares: {}" in survey, survey
    path.write_text(survey.replace("declares: {}\n", DECLARES))
    return path


def declared(description, folder, name):
    """The description with what the maker of a product declares otherwise; none, so that the run surveys it, if it asks for security or has other services."""
    if {"asks", "surveyed"} & CHANGES[name].methods.keys():
        return None
    if "declares" not in CHANGES[name].methods:
        return description
    path = folder / "declared.yaml"
    path.write_text(description.read_text().replace(DECLARES, CHANGES[name].methods["declares"]))
    return path


def judge(description, folder, change, *cases):
    """The verdicts of cases on the product with a change, with their messages."""
    results = folder / f"{change}.json"
    arguments = ["--subject-port", "tcp-listen:0", "--wait-for-host", "120", "--virtual-time", "--peer", NAME, "--json", results]
    arguments += ["--device", description] if description else []
    arguments += ["--pair"] if "pairs" in CHANGES[change].methods else []
    with Process(bluebench(), "run", *cases, *arguments) as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with PythonPeer("att_product.py", f"virtual:127.0.0.1:{port.group(1)}", change):
            code = bench.wait()
    if description and not results.exists():
        # A defect that spoils the survey: the device is not the described one.
        assert code == 3 and "this is not the device of" in bench.text, bench.text
        return judge(None, folder, change, *cases)
    assert results.exists(), bench.text
    return {case["id"]: (case["verdict"], case.get("message", "")) for case in json.loads(results.read_text())["cases"]}


@pytest.mark.corpus("defects, own server")
@pytest.mark.parametrize("name", sample(DEFECTS, 12))
def test_a_defect_is_found_by_the_case_whose_purpose_it_is(name, description, tmp_path):
    case = DEFECTS[name].case
    verdict, message = judge(declared(description, tmp_path, name), tmp_path, name, case)[case]
    assert verdict == "FAIL" and message, (verdict, message)


@pytest.mark.corpus("legal, own server")
@pytest.mark.parametrize("name", sample(LEGAL, 3))
def test_a_legal_product_fails_nothing(name, description, tmp_path):
    cases = judge(declared(description, tmp_path, name), tmp_path, name, *SUITES)
    wrong = {case: result for case, result in cases.items() if result[0] not in ("PASS", "N/A") and case.split("[")[0] not in BELOW}
    assert not wrong, LEGAL[name].section
    assert sum(verdict == "PASS" for verdict, _ in cases.values()) >= 40, cases


ONCE_DEFECTIVE = [
    ("control-point", ["accessory-subscribe"], {"accessory-subscribe/values-come[kind=indications]", "accessory-subscribe/declared-unasked", "accessory-subscribe/one-indication"}),
    ("control-point-of-another", ["accessory-subscribe"], {"accessory-subscribe/values-come[kind=indications]", "accessory-subscribe/values-come[kind=notifications]"}),
    ("control-point-of-both", ["accessory-subscribe"], {"accessory-subscribe/declared-unasked"}),
    ("asks-at-once", ["accessory-subscribe", "accessory-att/mtu-per-connection"], {"accessory-subscribe/default"}),
    ("legacy-without-keys", ["accessory-security/legacy-reconnects", "accessory-subscribe/kept-for-a-bond"], {"accessory-subscribe/kept-for-a-bond"}),
    ("restarts-at-change", ["accessory-change"], {"accessory-change/hash-follows", "accessory-change/reported-later", "accessory-change/out-of-sync-later"}),
    ("extended-on-2m", ["accessory-discovery", "accessory-link"], {"accessory-discovery/everything", "accessory-link/reconnects"}),
    ("short-uuids-in-long-form", ["accessory-discovery"], {"accessory-discovery/declared[by=value-type]"}),
    ("last-service-to-the-end", ["accessory-discovery"], {"accessory-discovery/service-by-uuid"}),
    ("asks-for-parameters-at-once", ["accessory-link"], {"accessory-link/latency", "accessory-link/parameters"}),
]
"""Legal products, the cases that once called them defective or said nothing of them, and what passes now."""


@pytest.mark.parametrize("name, cases, passed", ONCE_DEFECTIVE, ids=lambda value: value if isinstance(value, str) else "")
def test_a_legal_product_that_was_called_defective_passes(name, cases, passed, description, tmp_path):
    found = judge(declared(description, tmp_path, name), tmp_path, name, *cases)
    wrong = {case: result for case, result in found.items() if result[0] not in ("PASS", "N/A") and case.split("[")[0] not in BELOW - {cases[0]}}
    assert not wrong, LEGAL[name].section
    assert passed <= {case for case, result in found.items() if result[0] == "PASS"}, found


def test_a_product_that_advertises_for_2m_is_surveyed_and_opened():
    with dongles(2, virtual_time=True) as ports, PythonPeer("att_product.py", f"virtual:127.0.0.1:{ports[1]}", "extended-on-2m") as product:
        product.wait_for("advertising")
        tester = f"tcp:127.0.0.1:{ports[0]},virtual-time"
        assert "2A19" in run_bench("survey", tester, "--peer", NAME, "--bonds", "none").stdout
        assert "2A19" in run_bench("gatt", tester, "--peer", NAME, "--bonds", "none").stdout


def test_the_corpus_is_large_and_every_defect_has_a_case_that_is_there():
    assert len(DEFECTS) >= 120 and len(LEGAL) >= 60, (len(DEFECTS), len(LEGAL))
    listed = run_bench("run", "accessory", "--list").stdout
    assert not {name for name, change in DEFECTS.items() if change.case not in listed}
