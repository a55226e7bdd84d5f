"""`advertise --device` plays a foreign product from its description: a survey finds the same again, and a run finds the defect of `--fault`."""

import json

import pytest
import yaml

from products import NAMES
from support import Process, PythonPeer, bluebench, dongles, run_bench


def survey(port, name):
    return run_bench("survey", f"tcp:127.0.0.1:{port},virtual-time", "--peer", name, "--bonds", "none").stdout


def described(kind, folder):
    path = folder / "wire.yaml"
    with dongles(2, virtual_time=True) as ports, PythonPeer("products.py", f"virtual:127.0.0.1:{ports[1]}", kind) as product:
        product.wait_for("advertising")
        path.write_text(survey(ports[0], NAMES[kind]))
    return path


def played(path, port, *options):
    return Process(bluebench(), "advertise", f"tcp:127.0.0.1:{port},virtual-time", "--device", path, "--seconds", 3_600, *options)


def values(text):
    """UUID, properties and value of each characteristic, without the services that belong to the host."""
    services = [service for service in yaml.safe_load(text)["services"] if service["uuid"] not in ("1800", "1801")]
    return [(service["uuid"], found["uuid"], found["properties"], found.get("value"), "error" in found, sorted(row["uuid"] for row in found.get("descriptors", [])))
            for service in services for found in service["characteristics"]]


@pytest.mark.parametrize("kind", NAMES)
def test_a_survey_of_the_played_device_finds_the_same(kind, tmp_path):
    path = described(kind, tmp_path)
    with dongles(2, virtual_time=True) as ports, played(path, ports[1]) as accessory:
        accessory.wait_for("advertising")
        again = survey(ports[0], NAMES[kind])
    assert values(again) == values(path.read_text())
    first, second = (yaml.safe_load(text)["advertising"] for text in (path.read_text(), again))
    assert [first["data"], first.get("response")] == [second["data"], second.get("response")]


def test_a_fault_of_the_played_device_is_found(tmp_path):
    path, results = described("heart-rate", tmp_path), tmp_path / "results.json"
    path.write_text(path.read_text().replace('value: "58"', 'value: "64"'))
    for options, verdict in [((), "PASS"), (("--fault", "battery-above-hundred"), "FAIL")]:
        with dongles(2, virtual_time=True) as ports, played(path, ports[1], *options) as accessory:
            accessory.wait_for("advertising")
            run_bench(
                "run", "accessory-values/formats", "--tester", f"tcp:127.0.0.1:{ports[0]},virtual-time", "--peer", NAMES["heart-rate"], "--bonds", "none",
                "--json", results, expected=1 if options else 0)
        [case] = json.loads(results.read_text())["cases"]
        assert case["verdict"] == verdict, case
    assert "did you mean" in run_bench("advertise", "virtual", "--device", path, "--fault", "battery-above", expected=2).stderr
