"""A product that is switched off and on in the middle of a case, in real time: its bonds are in a file, or lost."""

import json
import os
import shlex
import sys

import pytest

from att_product import DECLARES, NAME
from support import HERE, Process, dongles, run_bench

CASE = "accessory-security/bond-outlives-power"


@pytest.fixture
def product(tmp_path):
    """A function that gives the command which switches the product off and on, with or without a file for its bonds."""
    started, script, marker = [], tmp_path / "cycle.sh", tmp_path / "pid"

    def switch(port, *bonds):
        command = shlex.join([sys.executable, str(HERE / "att_product.py"), f"127.0.0.1:{port}", "", *map(str, bonds)])
        script.write_text(
            f'[ -f {marker} ] && kill "$(cat {marker})"\nsleep 0.5\n{command} >{tmp_path}/product.txt 2>&1 &\necho $! >{marker}\n'
            f'for i in $(seq 200); do grep -q advertising {tmp_path}/product.txt && exit 0; sleep 0.1; done\nexit 1\n')
        started.append(marker)
        return f"sh {script}"
    yield switch
    for path in started:
        if path.exists():
            os.kill(int(path.read_text()), 15)


def judge(folder, switch, *bonds, options=()):
    with dongles(2) as ports:
        command = switch(ports[1], *bonds)
        os.system(command)
        tester, description, results = f"tcp:127.0.0.1:{ports[0]}", folder / "tally.yaml", folder / "results.json"
        survey = run_bench("survey", tester, "--peer", NAME, "--bonds", "none").stdout
        description.write_text(survey.replace("declares: {}\n", DECLARES))
        run_bench(
            "run", CASE, "--tester", tester, "--peer", NAME, "--device", description, "--bonds", "none", "--json", results,
            *(options or ["--power-cycle", command]), expected=None)
    [case] = json.loads(results.read_text())["cases"]
    return case


def test_a_bond_that_is_kept_passes(product, tmp_path):
    case = judge(tmp_path, product, tmp_path / "bonds.json")
    assert case["verdict"] == "PASS", case
    [command] = case["commands"]
    assert command["occasion"] == "power-cycle" and command["exit_code"] == 0, command


def test_a_bond_that_is_lost_fails(product, tmp_path):
    case = judge(tmp_path, product)
    assert case["verdict"] == "FAIL" and "after it was switched off" in case["message"], case


def test_a_command_that_fails_is_an_error(product, tmp_path):
    case = judge(tmp_path, product, options=["--power-cycle", "echo no hub; exit 4"])
    assert case["verdict"] == "ERROR" and "exit code 4: no hub" in case["message"], case


def test_without_a_command_the_case_does_not_concern_the_device(product, tmp_path):
    case = judge(tmp_path, product, options=["--seed", "1"])
    assert case["verdict"] == "N/A" and "powerCycles" in case["message"], case
