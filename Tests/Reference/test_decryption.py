"""Encrypted links on the air: decrypted here with the key log, by `bluebench show`, and by tshark from the output of `show`."""

import json
import re
import subprocess

import pytest

from airlog import load
from decryption import ENC_REQ, ENC_RSP, START_ENC_REQ, Decryption, read_keys, session_key
from ll_packets import CENTRAL, PERIPHERAL, Packet, parse
from pcapng_reader import read
from test_throughput_agreement import ROOT, bluebench

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
    """An air log of two links, with packet loss, and its keys; the output of `show`."""
    folder = tmp_path_factory.mktemp("encrypted")
    subprocess.run(
        [bluebench(), "throughput", "--encrypted", "--over", "notify,write", "--phy", "2m,coded-s2", "--interval", "30", "--seconds", "0.3",
         "--packet-error-rate", "0.02", "--air", folder / "air.pcapng", "--keylog", folder / "keys", "--json", folder / "rows.json"],
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
    # With high packet loss a connection may fail before it is encrypted.
    links = [connection for connection in log.connections if connection.encryption.has_key]
    assert len(links) == len(rows)
    for connection in links:
        assert connection.encryption.opened > len(connection.deliveries) > 10


def test_a_wrong_key_opens_nothing(files, tmp_path):
    folder, _ = files
    keys = read_keys(folder / "keys")
    wrong = {address: [bytes(16)] * len(known) for address, known in keys.items()}
    log = load(folder / "air.pcapng", lossless=False, keys=wrong)
    # Then the changes of the control PDUs are also unknown.
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


def test_show_opens_with_the_keys_of_a_bond_file(files, tmp_path):
    folder, shown = files
    known = [key for keys in read_keys(folder / "keys").values() for key in keys]
    # LE Secure Connections keys have no identifier: one of several decrypts the link.
    keys = [bytes(range(n, n + 16)) for n in range(1, 4)] + sorted(set(known)) + [bytes(range(9, 25))]
    bonds = [
        {"peer": f"C0:B1:BE:00:00:{n:02X}/random", "authenticated": False, "secure_connections": True,
         "peer_ltk": {"key": key.hex(), "size": 16, "ediv": "0000", "rand": "0000000000000000"}}
        for n, key in enumerate(keys)
    ]
    path = tmp_path / "bonds.json"
    path.write_text(json.dumps({"format": "bluebench bonds", "version": 1, "bonds": bonds}))
    path.chmod(0o600)
    command = [bluebench(), "show", folder / "air.pcapng", "--bonds", path]
    assert subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout == shown
    path.write_text(json.dumps({"format": "bluebench bonds", "version": 1, "bonds": bonds[:3]}))
    closed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout
    assert "ATT_HANDLE_VALUE_NTF" not in closed and "encrypted" in closed


KEY = re.compile(r"(?:Long_Term_Key|Identity_Resolving_Key|Signature_Key|Peer_IRK|Local_IRK|DH_Key)=([0-9A-F]{32,64})")


def test_a_report_has_keys_if_it_is_asked_to(tmp_path):
    """Every file of the report of a run with pairing, encryption and privacy, with every possible format of a key."""
    def run(name, *options):
        folder = tmp_path / name
        command = [bluebench(), "run", "smp-legacy", "smp-sc", "bonding", "encryption", "privacy", "--report", folder, *options]
        subprocess.run(command, check=True, capture_output=True, timeout=600)
        return folder

    air, keylog = tmp_path / "air.pcapng", tmp_path / "keys"
    asked, hidden = run("asked", "--keys"), run("hidden", "--air", air, "--keylog", keylog)
    shown = subprocess.run([bluebench(), "show", asked / "capture.pcapng"], check=True, capture_output=True, text=True, timeout=600).stdout
    found = {bytes.fromhex(text[at:at + 32]) for text in KEY.findall(shown) for at in range(0, len(text), 32)}
    found |= {key for keys in read_keys(keylog).values() for key in keys}
    # Keys written in cases are not secret, and occur in other packets, too.
    cases = "".join(path.read_text() for path in (ROOT / "Conformance").rglob("*.yaml")).replace(" ", "").upper()
    found = {key for key in found if key.hex().upper() not in cases and key[::-1].hex().upper() not in cases and key != bytes(16)}
    found = {key for key in found if any(key[n + 1] - key[n] != 1 for n in range(1, 15))}
    assert len(found) > 20

    def kept(folder):
        files = [path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()]
        assert len(files) >= 5
        return {
            key for key in found for form in (key, key[::-1]) for text in (form, form.hex().encode(), form.hex().upper().encode())
            if any(text in octets for octets in files)
        }

    assert kept(asked) == found and kept(hidden) == set()
    opened = subprocess.run(
        [bluebench(), "show", air, "--keylog", keylog, "--filter", "SMP Identity_Information"], check=True, capture_output=True, text=True, timeout=600)
    assert len(opened.stdout.splitlines()) > 10


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
