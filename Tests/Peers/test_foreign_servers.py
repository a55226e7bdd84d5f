"""Attribute servers that others wrote, judged by `run accessory`: what they FAIL is listed, with the section that decides, and nothing else FAILs.

Bumble's server is judged by test_products.py and BlueZ's by Tests/VM/guest/46-product.sh; here is that of pybluehost, whose authors share nothing with either.
"""

import json
import sys

import pytest

from pybluehost_product import NAME
from support import HERE, Process, bluebench

# The rules that pybluehost 0.9.9 breaks, and the cases that FAIL by them. docs/design/peers.md lists the same.
NO_OPCODE = "Core Vol 3, Part F, 3.4.1.1: Request Opcode In Error is the opcode of the request"
MANDATORY = "Core Vol 3, Part G, 4.2: a server has Find By Type Value"
RANGE = "Core Vol 3, Part F, 3.4.3.1, 3.4.4.1, 3.4.4.9: a range that ends before it begins is answered by Invalid Handle"
EXPECTED = {
    "accessory-discovery": {
        "within-range[request=find-by-type-value]": NO_OPCODE, "gap-service": MANDATORY, "gatt-service": NO_OPCODE, "service-by-uuid": MANDATORY,
        "search-within-the-range": NO_OPCODE, "unknown-service": NO_OPCODE, "whole-value": NO_OPCODE,
        "within-range[request=find-information]": RANGE, "within-range[request=read-by-group-type]": RANGE, "within-range[request=read-by-type]": RANGE,
        "unknown-group": "Core Vol 3, Part F, 3.4.4.9: a type that is no grouping attribute is answered by Unsupported Group Type",
        "uuid-forms": "Core Vol 3, Part B, 2.5.1: a UUID of 16 bits is equal to its form of 128 bits",
    },
    "accessory-att": {
        **dict.fromkeys((
            "cancel-of-nothing", "executed", "long-value", "offset-beyond-all", "part-at-the-end", "part-of-short-value", "prepare-beyond-the-end",
            "prepared[end=cancelled]", "prepared[end=executed-after-cancel]", "prepared[end=unexecuted]", "prepared-in-parts", "prepare-echo", "prepare-left-behind", "not-permitted[request=prepare]", "handle-beyond[request=read-blob]",
            "handle-zero[request=read-blob]", "multiple-in-order", "read-multiple", "response-filled[mtu=64]", "response-filled[mtu=185]",
            "response-filled[mtu=512]", "write-too-long", "prepared-long-part[octets=256]", "prepared-long-part[octets=300]", "command-to-read-only"), NO_OPCODE),
        "command-unanswered": "Core Vol 3, Part F, 3.3.2: a command has no response",
        "mtu-of-client": "Core Vol 3, Part F, 3.2.8: a PDU is not longer than ATT_MTU",
        **dict.fromkeys(
            ("mtu-per-connection", "values-fit", "value-at-mtu[mtu=24,from=first-part]", "value-at-mtu[mtu=24,from=octet-256]"),
            "Core Vol 3, Part F, 3.4.4.4: a value is cut at ATT_MTU - 1 octets"),
        **dict.fromkeys(("handle-beyond[request=read]", "handle-zero[request=read]"), "Core Vol 3, Part F, 3.4.4.3: a handle without attribute is Invalid Handle"),
        **dict.fromkeys(("handle-beyond[request=write]", "handle-zero[request=write]"), "Core Vol 3, Part F, 3.4.5.1: a handle without attribute is Invalid Handle"),
    },
    "accessory-subscribe": {
        # One server and one process: what the first case has written is read by the second one.
        **dict.fromkeys(
            ("configuration-length", "configuration-readable"),
            "Core Vol 3, Part F, 3.4.5.1: a value that is too long is refused with Invalid Attribute Value Length"),
        **dict.fromkeys(("default", "each-connection[client=of-the-run]", "each-connection[client=stranger]"), "Core Vol 3, Part G, 3.3.3.3: each client has its own configuration, zero at first"),
        **dict.fromkeys(
            ("kept-for-a-bond", "kept-before-pairing", *(f"bond-keeps-all[occasion={occasion}]" for occasion in (
                "all-at-once", "third-link", "cleared", "client-between", "bond-between"))),
            "Core Vol 3, Part H, 2.3: a device that does not pair answers by Pairing Failed"),
    },
}
# Its host ends at an opcode that it does not know, and answers nothing any more (Core Vol 3, Part F, 3.3: Request Not Supported, or ignored).
DEADLY = {
    "accessory-att/unknown-command", "accessory-att/unknown-request", "accessory-att/unknown-signed-command", "accessory-att/read-multiple-variable",
    "accessory-att/multiple-with-unknown[kind=variable]"}


def judge(folder, *cases):
    """The verdicts of cases, with their messages."""
    results = folder / "results.json"
    arguments = ["--subject-port", "tcp-listen:0", "--wait-for-host", "120", "--virtual-time", "--peer", NAME, "--json", results]
    with Process(bluebench(), "run", *cases, *arguments) as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with Process(sys.executable, HERE / "pybluehost_product.py", f"virtual:127.0.0.1:{port.group(1)}"):
            bench.wait()
    return {case["id"]: (case["verdict"], case.get("message", "")) for case in json.loads(results.read_text())["cases"]}


@pytest.mark.corpus("foreign server")
@pytest.mark.parametrize("suite", [*EXPECTED, "accessory-gatt", "accessory-values", "accessory-advertising"])
def test_a_foreign_server_fails_what_is_listed_and_nothing_else(suite, tmp_path):
    known = {f"{suite}/{name}" for name in EXPECTED.get(suite, {})}
    names = [f"{suite}/{path.stem}" for path in sorted((HERE.parents[1] / "Conformance" / suite).glob("*.yaml"))]
    found = judge(tmp_path, *[name for name in names if not any(case.split("[")[0] == name for case in DEADLY)])
    failed = {case for case, (verdict, _) in found.items() if verdict == "FAIL"}
    assert failed == known, {case: found.get(case) for case in failed ^ known}
    assert not {case for case, (verdict, _) in found.items() if verdict in ("INCONC", "ERROR")}, found
    assert "PASS" in {verdict for verdict, _ in found.values()}, found


@pytest.mark.parametrize("case", sorted(DEADLY))
def test_a_host_that_dies_of_an_opcode_fails(case, tmp_path):
    verdict, message = judge(tmp_path, case)[case]
    assert verdict == "FAIL" and "none came" in message, (verdict, message)
