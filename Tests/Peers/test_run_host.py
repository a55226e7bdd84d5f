"""`bluebench run host-gatt --btp`: a host in another process, reached by its upper tester and on the simulated air."""

import json
import subprocess

from support import ROOT, TIMEOUT, Process, bluebench


def run_against_our_host(tmp_path, *cases):
    report = tmp_path / "results.json"
    with Process(
            bluebench(), "run", *cases, "--subject-port", "tcp-listen:0", "--btp", f"unix-listen:{tmp_path}/btp", "--json", report) as run:
        port = run.wait_for(r"waiting for an accessory's host on (tcp:\S+)")[0][1]
        with Process(bluebench(), "btp", port, "--btp", f"unix:{tmp_path}/btp") as host:
            assert run.wait() == 0, f"{run.text}\n{host.text}"
    return json.loads(report.read_text())["cases"]


def test_a_host_in_another_process_passes(tmp_path):
    cases = ["host-gap/is-connected", "host-gatt/write", "host-gatt/client-read", "host-l2cap/accepts", "host-sm/asks-for-security"]
    results = run_against_our_host(tmp_path, *cases)
    assert {case["id"].split("[")[0] for case in results} == set(cases)
    assert {case["verdict"] for case in results} == {"PASS"}


def test_no_case_of_pairing_is_judged_by_the_one_before(tmp_path):
    """The host waits after a failed pairing, as Core Vol 3, Part H, 2.3.6 demands: each case has another tester for it."""
    names = ["confirm-mismatch", "initiator-confirm-mismatch", "initiator-key-too-short", "initiator-legacy-refused", "passkey-wrong"]
    cases = run_against_our_host(tmp_path, *[f"host-sm/{name}" for name in names])
    assert len(cases) >= 9 and {case["verdict"] for case in cases} == {"PASS"}, cases


def test_a_host_without_an_upper_tester_is_not_judged():
    done = subprocess.run([bluebench(), "run", "host-gap", "--btp", "unix:/nowhere"], capture_output=True, text=True, timeout=TIMEOUT, cwd=ROOT)
    assert done.returncode == 2 and "--subject-port" in done.stderr
