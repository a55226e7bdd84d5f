"""Encrypted links on the air: opened here with the key log, by `bluebench show`, and by tshark in what `show` writes."""

import json
import subprocess

import pytest

from airlog import load
from decryption import ENC_REQ, ENC_RSP, START_ENC_REQ, Decryption, read_keys, session_key
from ll_packets import CENTRAL, PERIPHERAL, Packet, parse
from pcapng_reader import read
from test_throughput_agreement import bluebench

DECRYPTED, MIC_VALID = 0x0008, 0x2000

LTK = bytes.fromhex("4C68384139F574D836BCF34E9DFB01BF")
SAMPLES = [
    (CENTRAL, 0x0F, "06", "9FCDA7F448"), (PERIPHERAL, 0x07, "06", "A34C13A415"),
    (CENTRAL, 0x0E, "1700636465666768696A6B6C6D6E6F707131323334353637383930", "7A70D66415226DF26B17839A060405596BD6564F796B5B9CE6FF32F75A6D33"),
    (PERIPHERAL, 0x06, "170037363534333231304142434445464748494A4B4C4D4E4F5051", "F38881E7BD94C9C369B9A66846DD4786AA8C39CE540D0DAE3ADCDF89B96088"),
]


def test_sample_data_of_the_specification():
    """Core Vol 6, Part C, 1."""
    assert session_key(LTK, bytes.fromhex("1302F1E0DFCEBDAC" + "7968574635241302")).hex().upper() == "99AD1B5226A37E3E058E3B8E27C2C666"
    link = Decryption([LTK])
    link.delivered(bytes((ENC_REQ,)) + bytes(10) + bytes.fromhex("1302F1E0DFCEBDAC24ABDCBA"), CENTRAL)
    link.delivered(bytes((ENC_RSP,)) + bytes.fromhex("7968574635241302BEBAAFDE"), PERIPHERAL)
    link.delivered(bytes((START_ENC_REQ,)), PERIPHERAL)
    for sender, header, clear, sealed in SAMPLES:
        payload = bytes.fromhex(sealed)
        packet = Packet(1, 0, "1m", 0, 0, bytes((header, len(payload))) + payload, b"", 0)
        assert link.open(packet, sender) == bytes.fromhex(clear)
        if clear == "06":
            link.delivered(b"\x06", sender)
    assert link.opened == len(SAMPLES)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """An air log of two links, a few packets lost, with its keys; what `show` writes of it, and says."""
    folder = tmp_path_factory.mktemp("encrypted")
    subprocess.run(
        [bluebench(), "throughput", "--encrypted", "--over", "notify,write", "--phy", "2m,coded-s2", "--interval", "30", "--seconds", "0.3",
         "--packet-error", "0.02", "--air", folder / "air.pcapng", "--keylog", folder / "keys", "--json", folder / "rows.json"],
        check=True, capture_output=True, timeout=600,
    )
    shown = subprocess.run(
        [bluebench(), "show", folder / "air.pcapng", "--keylog", folder / "keys", "--decrypted", folder / "plain.pcapng"],
        check=True, capture_output=True, text=True, timeout=600,
    )
    return folder, shown.stdout


def packets(path):
    return [parse(number, time, record) for number, (time, record) in enumerate(read(path), 1)]


def test_every_mic_is_right(files):
    folder, _ = files
    log = load(folder / "air.pcapng", lossless=False, keys=read_keys(folder / "keys"))
    assert log.faults() == []
    rows = json.loads((folder / "rows.json").read_text())["rows"]
    assert len(rows) == 4 and all(row["encrypted"] for row in rows)
    # On a bad air a connection may fail before it is encrypted.
    links = [connection for connection in log.connections if connection.encryption.has_key]
    assert len(links) == len(rows)
    for connection in links:
        assert connection.encryption.opened > len(connection.deliveries) > 10


def test_a_wrong_key_opens_nothing(files, tmp_path):
    folder, _ = files
    keys = read_keys(folder / "keys")
    wrong = {address: [bytes(16)] * len(known) for address, known in keys.items()}
    log = load(folder / "air.pcapng", lossless=False, keys=wrong)
    # What the control PDUs change cannot be known then, either.
    assert "mic" in {fault["rule"] for fault in log.faults()}
    assert all(connection.encryption.opened == 0 for connection in log.connections)
    lines = tmp_path / "wrong"
    lines.write_text("".join(f"{address:08X} {key.hex()}\n" for address, known in wrong.items() for key in known))
    shown = subprocess.run([bluebench(), "show", folder / "air.pcapng", "--keylog", lines], check=True, capture_output=True, text=True, timeout=600)
    assert "ATT_HANDLE_VALUE_NTF" not in shown.stdout and "encrypted" in shown.stdout


def test_show_opens_what_python_opens(files):
    folder, shown = files
    log = load(folder / "air.pcapng", lossless=False, keys=read_keys(folder / "keys"))
    sealed, plain = packets(folder / "air.pcapng"), packets(folder / "plain.pcapng")
    assert len(sealed) == len(plain)
    opened = [packet for packet in plain if packet.flags & DECRYPTED]
    assert all(packet.flags & MIC_VALID for packet in opened)
    assert len({packet.number for packet in opened}) >= sum(connection.encryption.opened for connection in log.connections)
    for before, after in zip(sealed, plain):
        if after.flags & DECRYPTED:
            assert len(after.payload) == len(before.payload) - 4 and after.payload != before.payload[:-4]
        else:
            assert after.pdu == before.pdu
    assert shown.count("ATT_HANDLE_VALUE_NTF") > 10 and shown.count("ATT_WRITE_CMD") > 10
    assert "encrypted" not in shown.replace("Encrypted", "")


def test_tshark_reads_the_decrypted_log(files):
    folder, _ = files

    def count(path, wanted):
        result = subprocess.run(["tshark", "-n", "-r", path, "-Y", wanted], capture_output=True, text=True, timeout=600)
        assert result.returncode == 0, result.stderr
        return len(result.stdout.splitlines())

    notifications = "btatt.opcode == 0x1b && btatt.value"
    assert count(folder / "air.pcapng", notifications) == 0
    assert count(folder / "plain.pcapng", notifications) > 10
    assert count(folder / "plain.pcapng", "btle_rf.flags.decrypted == 1 && btle_rf.flags.mic_valid == 1") > 100
    assert count(folder / "plain.pcapng", "_ws.malformed") == 0
