"""Products that know nothing of the bench: small Bumble peripherals are judged over the simulated air, without a fault and with one each."""

import json
import os
import re
import sys

import pytest

from products import NAMES
from support import HERE, Process, bluebench, dongles, run_bench

# Faults of Bumble's own, with the section in docs/peers.md.
OF_BUMBLE = {
    "accessory-att/declaration-not-written", "accessory-att/prepare-not-permitted", "accessory-att/read-not-permitted",
    "accessory-att/unknown-request", "accessory-att/write-not-permitted", "accessory-discovery/find-by-type-value-range",
    "accessory-discovery/read-by-group-type-range", "accessory-discovery/find-information-range", "accessory-discovery/read-by-type-range",
    "accessory-link/parameters-asked-of-it",
    # The report map is short once it has taken a write.
    "accessory-att/long-value", "accessory-att/mtu-per-connection",
}

SOAK = "SOAK" in os.environ
"""A product is judged in real time, for minutes: `make test` has a sample, `make soak` all of it."""

# A planted fault, the product that has it, and the case that finds it.
PLANTED = [
    ("battery-187", "heart-rate", "accessory-values/formats", "Battery Level: the level is 187"),
    ("location-9", "heart-rate", "accessory-values/formats", "Body Sensor Location: the location is 9"),
    ("model-no-text", "serial", "accessory-values/formats", "Model Number String: the text is no UTF-8"),
    ("pnp-source-3", "keyboard", "accessory-values/formats", "PnP ID: the vendor's source is 3"),
    ("report-map-cut", "keyboard", "accessory-values/formats", "Report Map: the report descriptor is cut short"),
    ("appearance-of-three", "serial", "accessory-advertising/sizes", "type 25 with 3 octets"),
    ("flags-both", "heart-rate", "accessory-advertising/flags", "limited and general"),
    ("response-flags", "keyboard", "accessory-advertising/flags", "the scan response has flags"),
    ("power-of-two", "serial", "accessory-advertising/sizes", "type 10 with 2 octets"),
    ("name-twice", "heart-rate", "accessory-advertising/once", "2 local names"),
    ("name-differs", "serial", "accessory-advertising/name", "Expected a start of"),
    ("handle-zero-read", "serial", "accessory-att/read-handle-zero", "Expected ATT_ERROR_RSP, got ATT_READ_RSP"),
    ("blob-beyond-empty", "serial", "accessory-att/offset-beyond-all", "Expected ATT_ERROR_RSP, got ATT_READ_BLOB_RSP"),
    ("mtu-ignored", "serial", "accessory-att/mtu-of-client", "expected"),
    ("mtu-of-20", "heart-rate", "accessory-att/mtu", "23"),
    ("answers-twice", "heart-rate", "accessory-att/one-answer", "must not come"),
    ("error-handle-zero", "keyboard", "accessory-att/read-handle-beyond", "Attribute_Handle_In_Error: expected 0xFFFF"),
    ("unknown-command-answered", "serial", "accessory-att/unknown-command", "must not come"),
    ("declaration-moves", "serial", "accessory-discovery/characteristic-declaration", "Attribute_Value: expected"),
    ("service-by-uuid-shifted", "heart-rate", "accessory-discovery/service-by-uuid", "Handles_Information_List"),
    ("beyond-found", "serial", "accessory-discovery/beyond-the-last", "Expected ATT_ERROR_RSP, got ATT_FIND_INFORMATION_RSP"),
    ("group-of-any-type", "heart-rate", "accessory-discovery/unknown-group", "Error_Code: expected Unsupported_Group_Type"),
    ("configuration-forgotten", "heart-rate", "accessory-subscribe/notifications", "expected 01 00"),
    ("subscribed-at-first", "keyboard", "accessory-subscribe/default", "expected 00 00"),
    ("notifies-unasked", "heart-rate", "accessory-subscribe/silent-at-first", "must not come"),
]


QUICK = [
    "battery-187", "appearance-of-three", "response-flags", "handle-zero-read", "mtu-of-20", "answers-twice", "beyond-found", "subscribed-at-first",
]


def judge(kind, folder, *cases, fault=()):
    """The verdicts of cases on a product, with their messages."""
    results = folder / "results.json"
    with Process(bluebench(), "run", *cases, "--subject-port", "tcp-listen:0", "--peer", NAMES[kind], "--json", results) as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with Process(sys.executable, HERE / "products.py", f"127.0.0.1:{port.group(1)}", kind, *fault):
            code = bench.wait()
    assert code in (0, 1), bench.text
    return {case["id"]: (case["verdict"], case.get("message", "")) for case in json.loads(results.read_text())["cases"]}


@pytest.mark.parametrize("kind", NAMES)
def test_a_product_without_a_fault_fails_nothing(kind, tmp_path):
    suites = ["accessory-advertising", "accessory-gatt", "accessory-subscribe", "accessory-values"]
    cases = judge(kind, tmp_path, *suites, *(["accessory-att", "accessory-discovery"] if SOAK else []))
    assert {case for case, (verdict, _) in cases.items() if verdict == "FAIL"} <= OF_BUMBLE, cases
    assert sum(verdict == "PASS" for verdict, _ in cases.values()) >= (40 if SOAK else 8)


@pytest.mark.parametrize("fault, kind, case, text", [row for row in PLANTED if SOAK or row[0] in QUICK], ids=lambda value: value)
def test_a_planted_fault_is_found_by_its_rule(fault, kind, case, text, tmp_path):
    verdict, message = judge(kind, tmp_path, case, fault=[fault])[case]
    assert verdict == "FAIL" and text in message, (verdict, message)


def test_a_product_that_is_not_there_is_told_at_once(tmp_path):
    with Process(bluebench(), "run", "accessory", "--subject-port", "tcp-listen:0", "--peer", "Nobody") as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with Process(sys.executable, HERE / "products.py", f"127.0.0.1:{port.group(1)}", "serial"):
            assert bench.wait() == 3
    assert re.search(r"'Nobody' was not found within 10 s; seen instead: .*'Wire'", bench.text), bench.text


OWN_CASE = """
title: The rate is told once subscribed
purpose: A product's own rule, with our procedures.
reference: Core Vol 3, Part G, 4.10
subject: accessory
needs: device.notifying
limits: {step: 60 s}
setup:
  - do: meet device
    limit: 20 s
    saveAs: link
steps:
  - each: $device.notifying
    called: it
    steps:
      - send: ATT_WRITE_REQ
        on: $link.handle
        with: {Attribute_Handle: $it.cccd, Attribute_Value: "01 00"}
      - expect: ATT_WRITE_RSP
        states: The subscription is taken.
  - expect: ATT_HANDLE_VALUE_NTF
    since: start
    within: 3 s
    states: A value is told within three seconds.
  - use: device-answers
    with: {link: $link.handle}
"""


def test_a_case_of_ones_own_needs_no_copy_of_ours(tmp_path):
    (tmp_path / "mine" / "product").mkdir(parents=True)
    (tmp_path / "mine" / "product" / "rate.yaml").write_text(OWN_CASE)
    run_bench("check", tmp_path / "mine")
    told = run_bench("run", "--cases", tmp_path / "mine", "--accessory", "heart-rate").stdout
    assert "PASS    product/rate" in told
    told = run_bench("run", "--cases", tmp_path / "mine", "--accessory", "thermometer", expected=None).stdout
    assert "FAIL    product/rate" in told or "N/A     product/rate" in told


def test_a_device_on_another_dongle_is_surveyed_and_described(tmp_path):
    with dongles(2) as ports, Process(
            bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]}", "--as", "thermometer", "--seconds", 60) as accessory:
        accessory.wait_for("advertising 'Bluebench Thermometer'")
        description = run_bench("survey", f"tcp:127.0.0.1:{ports[0]}", "--peer", "1809", "--bonds", "none").stdout
    assert 'name: "Bluebench Thermometer"' in description and 'uuid: "2A1C"' in description and "remarks: []" in description
