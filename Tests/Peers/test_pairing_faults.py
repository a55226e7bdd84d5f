"""Accessories that pair, judged by a tester that knows nothing of them: legal ones, and ones whose pairing is broken."""

import json
import os

import pytest

from pairing_faults import FAULTS, LEGAL, NAME, PASSKEY
from support import Process, PythonPeer, bluebench, dongles, run_bench

# Faults of Bumble, with the section in docs/design/peers.md.
OF_BUMBLE = {
    "accessory-pairing/key-size", "accessory-pairing/key-size-legacy", "smp-negative/key-size-out-of-range", "smp-negative/out-of-sequence[pdu=public-key-first]",
    "smp-negative/out-of-sequence[pdu=public-key-in-legacy]", "smp-negative/reflected-key", "smp-negative/repeated-attempts", "smp-negative/silence",
    "smp-negative/out-of-sequence[pdu=truncated-confirm]", "accessory-security/legacy-reconnects", "accessory-security/requests-refused-in-clear[request=read-multiple]",
    "accessory-security/requests-refused-in-clear[request=read-multiple-variable]", "smp-negative/invalid-key",
    # It reads the length of a PDU from the first packet, which has one octet of it.
    "accessory-pairing/request-in-pieces[size=1]",
}
# The bond of LE legacy pairing has the keys of the two sides exchanged.
OF_BUMBLE_LEGACY = {
    "accessory-pairing/bond-survives-failure", "accessory-security/new-bond-counts", "accessory-security/reconnects-encrypted",
}

CASE = "accessory-pairing/secure-connections"
PLANTED = [
    ("check-of-zeros", CASE, "its Pairing_DHKey_Check does not fit"),
    ("another-random", "accessory-pairing/legacy", "its Pairing_Confirm does not fit its Pairing_Random"),
    ("keys-never-sent", CASE, "did not send Identity_Information, Identity_Address_Information"),
    ("key-unasked", "accessory-pairing/no-other-keys", "Signing_Information must not come"),
    ("agrees-to-more", "accessory-pairing/wrong-key", "agrees to keys of the responder that Pairing_Request does not name"),
    ("size-7-boasted", CASE, "not one of 7 octets"),
    ("size-5", CASE, "Maximum_Encryption_Key_Size is 5"),
    ("debug-key", CASE, "is the debug key"),
    ("key-off-curve", CASE, "is not on the curve P-256"),
    ("key-reflected", CASE, "is that of the tester"),
    ("random-constant", "accessory-pairing/fresh-values", "Pairing_Random is not that of the first pairing"),
    ("silent", CASE, "did not answer Pairing_Request within 30 s"),
    ("silent-at-key", CASE, "fell silent for 30 s"),
    ("leaves-at-key", CASE, "ended the connection, Remote_User_Terminated_Connection"),
    ("fails-at-key", "accessory-security/reconnects-encrypted", "ended the pairing with Unspecified_Reason"),
    ("invalid-request", "accessory-security/read-after-pairing", "ended the pairing with Invalid_Parameters"),
    ("any-check", "smp-negative/check-wrong", "A check that does not fit fails"),
    ("any-point", "smp-negative/invalid-key[key=off-curve-y]", "A point that is not on the curve ends the pairing"),
    ("bond-forgotten", "accessory-pairing/bond-survives-failure", "PIN_Or_Key_Missing"),
]
SOAK = "SOAK" in os.environ
QUICK = {"keys-never-sent", "key-unasked", "size-7-boasted", "debug-key", "random-constant", "leaves-at-key", "any-point", "bond-forgotten"}


def survey(kind, *options):
    with dongles(2, virtual_time=True) as ports, PythonPeer("pairing_faults.py", f"virtual:127.0.0.1:{ports[1]}", kind) as device:
        device.wait_for("advertising")
        return run_bench("survey", f"tcp:127.0.0.1:{ports[0]},virtual-time", "--peer", NAME, "--bonds", "none", *options).stdout


def judge(kind, folder, *cases):
    """The exit code, and the verdicts with their messages."""
    results = folder / "results.json"
    with Process(
            bluebench(), "run", *cases, "--subject-port", "tcp-listen:0", "--wait-for-host", "120", "--virtual-time", "--peer", NAME, "--json", results) as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with PythonPeer("pairing_faults.py", f"virtual:127.0.0.1:{port.group(1)}", kind):
            code = bench.wait()
    return code, {case["id"]: (case["verdict"], case.get("message", "")) for case in json.loads(results.read_text())["cases"]}


def declares_bonds(kind, folder):
    """The option with a description whose maker says that the device keeps bonds."""
    path = folder / "device.yaml"
    path.write_text(survey(kind).replace("declares: {}\n", "declares: {bonds: true}\n"))
    return ["--device", path]


def test_every_fault_has_a_rule():
    assert {fault for fault, _, _ in PLANTED} == set(FAULTS)


@pytest.mark.corpus("legal, pairing")
@pytest.mark.parametrize("kind", LEGAL, ids=lambda kind: kind or "plain")
def test_a_legal_accessory_fails_nothing(kind, tmp_path):
    _, cases = judge(kind, tmp_path, "accessory-pairing", "accessory-security", "smp-negative")
    known = OF_BUMBLE | OF_BUMBLE_LEGACY if kind == "legacy" else OF_BUMBLE
    failed = {case: verdict for case, verdict in cases.items() if verdict[0] not in ("PASS", "N/A") and not {case, case.split("[")[0]} & known}
    assert not failed, failed
    passed = sum(verdict == "PASS" for verdict, _ in cases.values())
    assert passed >= (15 if LEGAL[kind] is None else 1), cases


@pytest.mark.corpus("defects, pairing")
@pytest.mark.parametrize("fault, case, text", [row for row in PLANTED if SOAK or row[0] in QUICK], ids=lambda value: value)
def test_a_broken_pairing_fails(fault, case, text, tmp_path):
    code, cases = judge(fault, tmp_path, case, *(declares_bonds(fault, tmp_path) if fault == "bond-forgotten" else []))
    verdict, message = cases[case]
    assert code == 1 and verdict == "FAIL" and text in message, (verdict, message)


def test_a_bond_that_is_given_up_fails_only_a_device_that_is_declared_to_keep_bonds(tmp_path):
    case = "accessory-pairing/bond-survives-failure"
    _, cases = judge("bond-forgotten", tmp_path, case)
    assert cases[case][0] == "N/A" and "PIN_Or_Key_Missing" in cases[case][1], cases


def test_a_device_that_insists_on_security_is_surveyed_and_judged_with_pairing(tmp_path):
    assert "asked for security, was refused, and left: --pair pairs with it" in survey("insists")
    told = survey("insists", "--pair")
    assert 'uuid: "2A19"' in told and "security" in told and "remarks: []" in told, told
    code, cases = judge("insists", tmp_path, "accessory-values", "accessory-gatt/handles-in-order", CASE, "--pair")
    assert code == 0 and {verdict for verdict, _ in cases.values()} <= {"PASS", "N/A"} and cases[CASE][0] == "PASS", cases


def test_a_protected_value_is_described_and_judged_with_pairing(tmp_path):
    assert "error: Insufficient_Encryption" in survey("level-187")
    told = survey("level-187", "--pair")
    assert 'value: "BB"' in told and "protection: Insufficient_Encryption" in told and "keySize: 16" in told, told
    code, cases = judge("level-187", tmp_path, "accessory-values/formats", "accessory-security/refused-in-clear", "--pair")
    assert code == 1 and "the level is 187" in cases["accessory-values/formats"][1], cases
    assert cases["accessory-security/refused-in-clear"][0] == "PASS", cases


def test_a_passkey_is_entered(tmp_path):
    told = survey("shows", "--pair", "--passkey", PASSKEY, "--io", "keyboard")
    assert 'value: "32"' in told and "io: DisplayOnly" in told, told
    code, cases = judge("shows", tmp_path, CASE, "accessory-values/formats", "--pair", "--passkey", str(PASSKEY))
    assert code == 0 and {verdict for verdict, _ in cases.values()} == {"PASS"}, cases
    assert "need --pair" in run_bench("survey", "tcp:127.0.0.1:1", "--peer", NAME, "--passkey", 1, expected=2).stderr
