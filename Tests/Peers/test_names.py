"""Names where numbers stood: scan, gatt and survey of a foreign product in virtual time."""

import json

import pytest
import yaml

from products import NAMES
from support import PythonPeer, dongles, run_bench


@pytest.fixture(scope="module")
def heart_rate():
    """Runs a command on the dongle beside that of the product."""

    def run(command, *options, expected=0):
        with dongles(2, virtual_time=True) as ports, PythonPeer("products.py", f"virtual:127.0.0.1:{ports[1]}", "heart-rate") as product:
            product.wait_for("advertising")
            return run_bench(command, f"tcp:127.0.0.1:{ports[0]},virtual-time", *options, "--bonds", "none", expected=expected).stdout

    return run


def test_a_scan_shows_the_structures_of_the_data(heart_rate):
    text = heart_rate("scan", "--seconds", 2)
    assert "    Flags: LE General Discoverable Mode, BR/EDR Not Supported\n" in text
    assert "0x180D (Heart Rate)" in text and f"Complete Local Name: '{NAMES['heart-rate']}'" in text


@pytest.mark.parametrize("options, found", [
    (["--name", "pulse"], True), (["--service", "180D"], True), (["--name", "PULSE 2", "--service", "180d"], True),
    (["--name", "Wire"], False), (["--service", "1812"], False), (["--name", "pulse", "--service", "1812"], False),
])
def test_a_scan_selects_devices(options, found, heart_rate):
    reports = json.loads(heart_rate("scan", "--seconds", 2, "--json", *options))["reports"]
    assert bool(reports) == found
    if found:
        assert NAMES["heart-rate"] in [report.get("name") for report in reports]
        assert {"uuid": "0x180D", "name": "Heart Rate"} in [service for report in reports for service in report["services"]]
        assert all(report["address"] == "C0:B1:BE:00:00:0A/random" and report["connectable"] in (True, False) for report in reports)
        assert all(bytes.fromhex(report["data"]) or not report["fields"] for report in reports)


def test_gatt_shows_names_and_texts(heart_rate):
    text = heart_rate("gatt", "--peer", NAMES["heart-rate"])
    assert "service 0x180D (Heart Rate), handles" in text
    assert "4D61 6B65 72  'Maker'".replace(" ", "", 2) in text, text
    [measured] = [line for line in text.splitlines() if "0x2A37 (Heart Rate Measurement)" in line]
    assert measured.endswith(": notify"), measured
    assert "0x2902 (Client Characteristic Configuration)" in text and "0000  off" in text, text


def test_a_survey_has_comments(heart_rate):
    text = heart_rate("survey", "--peer", NAMES["heart-rate"])
    assert '- uuid: "180D"  # Heart Rate\n' in text and "  # 'Maker'\n" in text, text
    services = yaml.safe_load(text)["services"]
    assert "180D" in [service["uuid"] for service in services]


@pytest.mark.parametrize("options", [["--summary", "--json"], ["--bredr", "--name", "x"], ["--bredr", "--json"], ["--summary", "--service", "180D"]])
def test_options_without_effect_are_refused(options):
    assert "--json" in run_bench("scan", "tcp:127.0.0.1:1", *options, expected=2).stderr
