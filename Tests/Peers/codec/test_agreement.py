"""Our codec and Bumble's agree, both ways, on every PDU that both know.

There: we make a PDU with random legal values, Bumble reads it and sees the same values.
Back: Bumble writes those values anew; the octets are ours, and we read and write them again.
"""

import pytest

import bumble_side
from known_differences import KNOWN

SEEDS = range(1, 13)


def flat(value, implied):
    """The plain values of our side, without counts and lengths."""
    if isinstance(value, dict):
        return [leaf for name, inner in value.items() if name not in implied for leaf in flat(inner, implied)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in flat(inner, implied)]
    return [value]


def same(ours, theirs):
    """Whether two leaves are one value: octets are also little-endian numbers, and numbers may be signed."""
    if isinstance(ours, str):
        ours = bytes.fromhex(ours)
    if isinstance(ours, bytes) and isinstance(theirs, bytes):
        return ours == theirs
    if isinstance(ours, int) and isinstance(theirs, bytes):
        return ours == int.from_bytes(theirs, "little")
    if isinstance(ours, bytes) and isinstance(theirs, int):
        return int.from_bytes(ours, "little") == theirs
    return ours == theirs or any(ours % 2**bits == theirs % 2**bits and max(abs(ours), abs(theirs)) < 2**bits for bits in (8, 16))


def octets(leaves):
    """All leaves as one string of octets, where the fields are cut differently on the two sides."""
    return [leaf for leaf in leaves if leaf not in ("", b"")]


def agree(ours, theirs):
    ours, theirs = octets(ours), octets(theirs)
    return len(ours) == len(theirs) and all(same(a, b) for a, b in zip(ours, theirs))


class Subject:
    """One PDU of both codecs."""

    def __init__(self, layer, name, read, fields_of=bumble_side.object_leaves, build=None):
        self.layer, self.name, self.read, self.fields_of, self.build = layer, name, read, fields_of, build

    def __repr__(self):
        return f"{self.layer}/{self.name}".replace(" ", "")


def implied_names(fields):
    """Counts and lengths: what Bumble works out by itself."""
    names = set()

    def walk(value):
        if isinstance(value, dict):
            for name, inner in value.items():
                if name.startswith("Num_") or name.endswith("_Length") or name.endswith("_Count") or name in ("Format", "Length", "RFU"):
                    names.add(name)
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(fields)
    return names


def check(codec, subject, kind):
    known = KNOWN.get(f"{kind}/{subject.name}", {})
    if "skip" in known:
        pytest.skip(known["skip"])
    for seed in SEEDS:
        words = ("returns", seed) if kind == "returns" else ("random", subject.layer, seed)
        ours = codec.ask(*words, subject.name)
        wire = bytes.fromhex(ours["hex"])
        assert ours["encoded"] == ours["hex"] and ours["problem"] == "" and ours["trailing"] == "", ours
        theirs = subject.read(wire)
        if "values" not in known:
            wanted = bumble_side_values(subject, theirs)
            kept = implied_names(ours["fields"]) - set(known.get("stored", ()))
            assert agree(flat(ours["fields"], kept), wanted) or agree(flat(ours["fields"], set()), wanted), (ours, wanted)
        if "back" not in known:
            back = subject.build(theirs)
            assert back.hex().upper() == ours["hex"], (ours, back.hex())
            again = codec.ask("decode-returns", ours["hex"] or "-", subject.name) if kind == "returns" else codec.ask("decode", subject.layer, back.hex())
            assert again["encoded"] == ours["hex"] and again["fields"] == ours["fields"], (ours, again)


def bumble_side_values(subject, theirs):
    return subject.fields_of(theirs)


def pdus(codec):
    return codec.ask("list")


def test_breadth(codec):
    """We know every command, event, ATT, SMP and signalling PDU that Bumble knows, or the list says why not."""
    ours = {(pdu["layer"], pdu["code"], pdu["subevent"]) for pdu in pdus(codec)}
    theirs = [("HCICommands", code, None) for code in bumble_side.commands()]
    theirs += [("HCIEvents", code, sub) for code, sub in bumble_side.events()]
    theirs += [("ATT", int(code), None) for code in bumble_side.att_pdus()]
    theirs += [("SMP", code, None) for code in bumble_side.smp_commands()]
    theirs += [("L2CAPSignaling", code, None) for code in bumble_side.signals()]
    assert len(theirs) > 330
    assert [pdu for pdu in theirs if pdu not in ours and pdu[1] != 0x3E] == []


def by_code(codec, layer):
    return {(pdu["code"], pdu["subevent"]): pdu["name"] for pdu in pdus(codec) if pdu["layer"] == layer}


@pytest.mark.parametrize("code", sorted(bumble_side.commands()), ids=lambda code: bumble_side.commands()[code].__name__)
def test_commands(codec, code):
    cls = bumble_side.commands()[code]
    name = by_code(codec, "HCICommands")[(code, None)]
    read = lambda wire: bumble_side.hci.HCI_Command.from_bytes(b"\x01" + wire)
    build = lambda thing: bumble_side.rebuilt(thing, lambda values: cls(**values))[1:]
    check(codec, Subject("HCICommands", name, read, build=build), "command")


@pytest.mark.parametrize(
    "code", sorted(code for code, cls in bumble_side.commands().items() if bumble_side.return_class(cls)), ids=lambda code: bumble_side.commands()[code].__name__)
def test_returns(codec, code):
    cls = bumble_side.return_class(bumble_side.commands()[code])
    name = by_code(codec, "HCICommands")[(code, None)]
    build = lambda thing: bytes(cls(**bumble_side.values(thing)))
    check(codec, Subject("HCICommands", name, cls.from_parameters, build=build), "returns")


@pytest.mark.parametrize("code", sorted(bumble_side.events(), key=str), ids=lambda code: bumble_side.events()[code].__name__)
def test_events(codec, code):
    cls = bumble_side.events()[code]
    name = by_code(codec, "HCIEvents").get(code)
    if name is None:
        pytest.skip("the LE Meta event itself")
    read = lambda wire: bumble_side.hci.HCI_Event.from_bytes(b"\x04" + wire)
    build = lambda thing: bumble_side.rebuilt(thing, lambda values: cls(**values))[1:]
    check(codec, Subject("HCIEvents", name, read, build=build), "event")


@pytest.mark.parametrize("code", sorted(bumble_side.att_pdus()), ids=lambda code: bumble_side.att_pdus()[code].__name__)
def test_att(codec, code):
    cls = bumble_side.att_pdus()[code]
    name = by_code(codec, "ATT")[(int(code), None)]
    build = lambda thing: bytes(cls(**bumble_side.values(thing)))
    check(codec, Subject("ATT", name, bumble_side.att.ATT_PDU.from_bytes, build=build), "att")


@pytest.mark.parametrize("code", sorted(bumble_side.smp_commands()), ids=lambda code: bumble_side.smp_commands()[code].__name__)
def test_smp(codec, code):
    cls = bumble_side.smp_commands()[code]
    name = by_code(codec, "SMP")[(code, None)]
    build = lambda thing: bytes(cls(**bumble_side.values(thing)))
    check(codec, Subject("SMP", name, bumble_side.smp.SMP_Command.from_bytes, build=build), "smp")


@pytest.mark.parametrize("code", sorted(bumble_side.signals()), ids=lambda code: bumble_side.signals()[code].__name__)
def test_signals(codec, code):
    cls = bumble_side.signals()[code]
    name = by_code(codec, "L2CAPSignaling")[(code, None)]
    build = lambda thing: bytes(cls(identifier=thing.identifier, **bumble_side.values(thing)))
    check(codec, Subject("L2CAPSignaling", name, bumble_side.l2cap.L2CAP_Control_Frame.from_bytes, build=build), "signal")
