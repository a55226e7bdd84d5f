"""The declared relations of PDUs against what tshark pairs in the captures of our suites: which event ends a command, which PDU answers a request."""

import collections

import pytest
import yaml
from support import ROOT, run_bench
from test_wireshark import tshark

PDUS = ROOT / "Sources" / "Packets" / "PDUs"
SUITES = ["bredr-gap", "bredr-lmp", "encryption", "gap-conn", "gatt", "hci", "phy", "ssp"]
COMPLETE, STATUS, META = 0x0E, 0x0F, 0x3E
FIELDS = ["frame.number", "bthci_cmd.opcode", "bthci_evt.code", "bthci_evt.le_meta_subevent", "bthci_evt.command_in_frame", "bthci_evt.status"]
ATT_FIELDS = ["frame.number", "btatt.opcode", "btatt.request_in_frame"]


def declarations(pattern):
    """Each file of declarations: what its PDUs share, and name to declaration."""
    for path in sorted(PDUS.glob(pattern)):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        yield content, {name: pdu or {} for name, pdu in content["pdus"].items()}


def listed(value):
    return value if isinstance(value, list) else [value] if value else []


@pytest.fixture(scope="module")
def commands():
    """Opcode to name and declaration."""
    return {
        content["ogf"] << 10 | pdu["code"]: (name, pdu)
        for content, pdus in declarations("HCI/Commands/**/*.yaml") if "ogf" in content for name, pdu in pdus.items()
    }


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("relations") / "run.pcapng"
    run_bench("run", *(f"{suite}/*" for suite in SUITES), "--seed", "1", "--capture", path)
    return path


def rows(capture, condition, fields):
    """The packets that tshark selects: the fields of each, empty where it has none."""
    options = [option for field in fields for option in ("-e", field)]
    return [line.split("\t") for line in tshark(capture, "-Y", condition, "-T", "fields", *options)]


def completions():
    """Event code and subevent code, to the names of the commands that the event completes. A later version has the relations of the first."""
    files = list(declarations("HCI/Events/**/*.yaml"))
    every = {name: pdu for _, pdus in files for name, pdu in pdus.items()}
    for content, pdus in files:
        for pdu in pdus.values():
            first = every.get(pdu.get("replaces"), pdu)
            key = (content["event"], pdu["code"]) if "event" in content else (pdu["code"], None)
            yield key, listed(pdu.get("completes") or first.get("completes"))


def test_events_end_the_commands_that_tshark_pairs(capture, commands):
    completed = dict(completions())
    sent, pairs, wrong = {}, collections.Counter(), set()
    for number, opcode, event, subevent, command, status in rows(capture, "bthci_cmd or bthci_evt", FIELDS):
        if opcode:
            sent[number] = int(opcode, 0)
        elif command and sent[command] in commands:
            name, declared = commands[sent[command]]
            code = int(event, 0)
            pairs[code] += 1
            if code in (COMPLETE, STATUS):
                is_refusal = status and int(status.split(",")[0], 0) != 0
                holds = is_refusal or (code == STATUS) == (declared.get("ends") == "Status")
            else:
                holds = name in completed.get((code, int(subevent, 0) if code == META else None), [])
            if not holds:
                wrong.add((name, event, subevent, status))
    assert wrong == set()
    assert pairs[COMPLETE] > 5_000 and pairs[STATUS] > 500 and len(pairs) > 8, pairs


def test_responses_answer_the_requests_that_tshark_pairs(capture):
    [(_, declared)] = declarations("ATT.yaml")
    names = {pdu["code"]: name for name, pdu in declared.items()}
    seen, pairs = {}, collections.Counter()
    for number, opcode, request in rows(capture, "btatt", ATT_FIELDS):
        seen[number] = int(opcode.split(",")[0], 0)
        if request:
            pairs[names[seen[number]], names[seen[request]]] += 1
    assert {(answer, request) for answer, request in pairs if request not in listed(declared[answer].get("answers"))} == set()
    assert len(pairs) > 8, pairs
