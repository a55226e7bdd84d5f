"""Our codec and Bumble's agree, both ways, on every PDU that both know.

There: we make a PDU with random legal values, Bumble reads it and sees the same values.
Back: Bumble writes those values anew; the octets are ours, and we read and write them again.
"""

import random

import pytest

import bumble_side
from known_differences import KNOWN

SEEDS = range(1, 13)


def agree(ours, theirs):
    """True if our leaves, as octets, are Bumble's values. Bumble's octets may be several leaves if Bumble does not decode a list."""
    ours = [bytes.fromhex(leaf) for leaf in ours]
    for value in theirs:
        if isinstance(value, bytes):
            taken = b""
            while len(taken) < len(value) and ours:
                taken += ours.pop(0)
            if taken != value:
                return False
        else:
            while ours and not ours[0]:
                ours.pop(0)
            if not ours:
                return False
            leaf = ours.pop(0)
            if int.from_bytes(leaf, "little") != value % 256 ** len(leaf):
                return False
    return not any(ours)


class Subject:
    """A PDU in both codecs."""

    def __init__(self, layer, name, read, fields_of=bumble_side.object_leaves, build=None):
        self.layer, self.name, self.read, self.fields_of, self.build = layer, name, read, fields_of, build

    def __repr__(self):
        return f"{self.layer}/{self.name}".replace(" ", "")


def padded(wire):
    """A command with data of fixed size, with zeros after the length."""
    return wire[:4] + wire[4 : 4 + wire[3]] + bytes(len(wire) - 4 - wire[3])


def check(codec, subject, kind):
    known = KNOWN.get(f"{kind}/{subject.name}", {})
    if "skip" in known:
        pytest.skip(known["skip"])
    for seed in SEEDS:
        words = ("returns", seed) if kind == "returns" else ("random", subject.layer, seed)
        ours = codec.ask(*words, subject.name)
        if "padded" in known:
            ours = codec.ask("decode", subject.layer, padded(bytes.fromhex(ours["hex"])).hex())
        wire = bytes.fromhex(ours["hex"])
        assert ours["encoded"] == ours["hex"] and ours["problem"] == "" and ours["trailing"] == "", ours
        theirs = subject.read(wire)
        if ours["typed"] is not None:
            assert ours["hex"].endswith(ours["typed"]) and len(ours["hex"]) - len(ours["typed"]) in (0, 2, 4, 6, 8), ours
        wanted = subject.fields_of(theirs)
        if "padded" in known:
            wanted = [len(wanted[0]), wanted[0].ljust(31, b"\0")]
        assert any(agree(leaves, wanted) for leaves in ours["leaves"]), (ours, wanted)
        back = subject.build(theirs)
        assert back.hex().upper() == ours["hex"], (ours, back.hex())
        again = codec.ask("decode-returns", back.hex() or "-", subject.name) if kind == "returns" else codec.ask("decode", subject.layer, back.hex())
        assert again["encoded"] == ours["hex"] and again["fields"] == ours["fields"], (ours, again)


def pdus(codec):
    return codec.ask("list")


def test_breadth(codec):
    """Every command, event, ATT, SMP and signalling PDU of Bumble is declared, or the list has the reason."""
    ours = {(pdu["layer"], pdu["code"], pdu["subevent"]) for pdu in pdus(codec)}
    theirs = [("HCICommands", code, None) for code in bumble_side.commands()]
    theirs += [("HCIEvents", code, sub) for code, sub in bumble_side.events()]
    theirs += [("ATT", int(code), None) for code in bumble_side.att_pdus()]
    theirs += [("SMP", code, None) for code in bumble_side.smp_commands()]
    theirs += [("L2CAPSignaling", code, None) for code in bumble_side.signals()]
    assert len(theirs) > 320
    assert [pdu for pdu in theirs if pdu not in ours and pdu[1] != 0x3E] == []
    assert sum(pdu["struct"] for pdu in pdus(codec)) > 400


def by_code(codec, layer):
    return {(pdu["code"], pdu["subevent"]): pdu["name"] for pdu in pdus(codec) if pdu["layer"] == layer}


@pytest.mark.parametrize("code", sorted(bumble_side.commands()), ids=lambda code: bumble_side.commands()[code].__name__)
def test_commands(codec, code):
    cls = bumble_side.commands()[code]
    name = by_code(codec, "HCICommands")[(code, None)]
    read = lambda wire: bumble_side.hci.HCI_Command.from_bytes(b"\x01" + wire)
    build = lambda thing: bytes(cls(**bumble_side.values(thing)))[1:]
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
    build = lambda thing: bytes(cls(**bumble_side.values(thing)))[1:]
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


@pytest.mark.parametrize("code", sorted(bumble_side.service_discovery()), ids=lambda code: bumble_side.service_discovery()[code].__name__)
def test_service_discovery(codec, code):
    """The requests and responses that Bumble writes, with random values: the same values, and the same octets when written again."""
    cls = bumble_side.service_discovery()[code]
    name = by_code(codec, "SDP")[(code, None)]
    if "skip" in KNOWN.get(f"sdp/{name}", {}):
        pytest.skip(KNOWN[f"sdp/{name}"]["skip"])
    generator = random.Random(code)
    for transaction in range(40):
        values = bumble_side.service_discovery_values(cls, generator)
        wire = bytes(cls(transaction_id=transaction, **values))
        ours = codec.ask("decode", "SDP", wire.hex())
        assert ours["name"] == name and ours["problem"] == "" and ours["trailing"] == "", ours
        assert ours["encoded"] == wire.hex().upper() and ours["typed"] == wire[5:].hex().upper(), ours
        plain = [bytes(value) if isinstance(value, bumble_side.sdp.DataElement) else value for value in values.values()]
        if "continuation_state" in values:
            plain[-1] = plain[-1][1:]
        assert any(agree(leaves, bumble_side.leaves(plain)) for leaves in ours["leaves"]), (ours, plain)


@pytest.mark.parametrize("name", ["RFCOMM_PN_CMD", "RFCOMM_PN_RSP", "RFCOMM_MSC_CMD", "RFCOMM_MSC_RSP"])
def test_multiplexer(codec, name):
    """Parameter negotiation and modem status, without break signal: Bumble knows no other command."""
    cls = bumble_side.rfcomm.RFCOMM_MCC_PN if "_PN_" in name else bumble_side.rfcomm.RFCOMM_MCC_MSC
    for seed in SEEDS:
        value = bytes.fromhex(codec.ask("random", "RFCOMM", seed, name)["hex"])[2:]
        theirs = cls.from_bytes(value)
        wire = bytes([next(pdu["code"] for pdu in pdus(codec) if pdu["name"] == name), 17 if cls is bumble_side.rfcomm.RFCOMM_MCC_PN else 5]) + bytes(theirs)
        again = codec.ask("decode", "RFCOMM", wire.hex())
        assert again["problem"] == "" and again["trailing"] == "" and again["encoded"] == wire.hex().upper(), again
        assert again["typed"] in (None, wire[2:].hex().upper()), again
        fields = again["fields"]
        if cls is bumble_side.rfcomm.RFCOMM_MCC_PN:
            ours = (fields["DLCI"], fields["Convergence_Layer"] << 4 | fields["Frame_Type"], fields["Priority"], fields["Maximum_Frame_Size"], fields["Initial_Credits"])
            assert ours == (theirs.dlci, theirs.cl, theirs.priority, theirs.max_frame_size, theirs.initial_credits)
        else:
            ours = tuple(fields[key] for key in ("DLCI", "FC", "RTC", "RTR", "IC", "DV"))
            assert ours == (theirs.dlci, theirs.fc, theirs.rtc, theirs.rtr, theirs.ic, theirs.dv)


@pytest.mark.parametrize("signal", sorted(bumble_side.stream_signals()), ids=lambda signal: bumble_side.stream_signals()[signal].__name__)
def test_stream_signals(codec, signal):
    """The messages that Bumble writes, with random values: the same octets when written again, by name and by the struct."""
    cls = bumble_side.stream_signals()[signal]
    generator = random.Random(str(signal))
    for label in range(16):
        values = bumble_side.stream_signal_values(cls, generator)
        wire = bytes([label << 4 | signal[1], signal[0]]) + cls(**values).payload
        ours = codec.ask("decode", "AVDTP", wire.hex())
        assert ours["name"] == by_code(codec, "AVDTP")[(signal[1] << 8 | signal[0], None)] and ours["problem"] == "" and ours["trailing"] == "", ours
        assert ours["encoded"] == wire.hex().upper() and ours["typed"] in (None, wire[2:].hex().upper()), ours
        fields = {**ours["fields"], "acp_seids": [row["ACP_SEID"] for row in ours["fields"].get("Stream_End_Points", []) if "ACP_SEID" in row]}
        names = {"acp_seid": "ACP_SEID", "int_seid": "INT_SEID", "acp_seids": "acp_seids", "error_code": "Error_Code", "delay": "Delay"}
        assert all(fields[names[key]] == value for key, value in values.items() if key in names), (ours, values)


@pytest.mark.parametrize("pdu", sorted(bumble_side.remote_control()), ids=lambda pdu: f"{pdu[0]}-{pdu[1]:02X}")
def test_remote_control(codec, pdu):
    """The operands that Bumble writes, with random values: the same values, and the same octets when written again."""
    layer, code = pdu
    cls = bumble_side.remote_control()[pdu]
    generator = random.Random(str(pdu))
    for _ in range(30):
        values = bumble_side.remote_control_values(cls, generator)
        parameters = bytes(cls(**values))
        wire = bytes([0x00, 0x19, 0x58, code, 0]) + len(parameters).to_bytes(2, "big") + parameters
        ours = codec.ask("decode", layer, wire.hex())
        assert ours["name"] == by_code(codec, layer)[(code, None)] and ours["problem"] == "" and ours["trailing"] == "", ours
        assert ours["encoded"] == wire.hex().upper() and ours["typed"] == parameters.hex().upper(), ours
        names = {"identifier": "Identifier", "attribute_ids": "Attribute_IDs", "playback_interval": "Playback_Interval", "event_id": "Event_ID"}
        names |= {"song_length": "Song_Length", "song_position": "Song_Position", "play_status": "Play_Status", "volume": "Absolute_Volume"}
        assert all(ours["fields"][names[key]] == value for key, value in values.items() if key in names), (ours, values)
