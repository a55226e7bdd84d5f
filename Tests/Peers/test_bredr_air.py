"""The packets of our controllers between two Bumble hosts over BR/EDR satisfy the rules of `Tests/Reference`, encrypted or not."""

import asyncio
import itertools
import struct
import sys

import pytest
from bumble import l2cap
from bumble.hci import HCI_REFRESH_ENCRYPTION_KEY_COMMAND, HCI_Write_Default_Link_Policy_Settings_Command, Role

from bredr import Bench
from support import ROOT, Inbox, dongles, in_virtual_time
from test_bredr_channels import PSM, answers, echo, secured

sys.path.insert(0, str(ROOT / "Tests" / "Reference"))
import piconet_check  # noqa: E402
from link_secrets import LinkSecrets, SecureLinkSecrets  # noqa: E402


async def refresh(sides):
    """Each side changes the link key, twice; both hosts are notified each time."""
    for side in sides * 2:
        told = [Inbox(one, one.EVENT_CONNECTION_ENCRYPTION_KEY_REFRESH, lambda *_: None) for one in sides]
        side.device.host.hci_sink.on_packet(struct.pack("<BHBH", 1, HCI_REFRESH_ENCRYPTION_KEY_COMMAND, 2, side.handle))
        for inbox in told:
            await inbox.next()


async def conversation(ports, secure, switches=False, refreshes=False):
    """Two links, the second with the stored key; optionally with role switches, or key refreshes, while they are encrypted."""
    bench, spec = Bench(ports), l2cap.ClassicChannelSpec(psm=PSM, mtu=2000)
    async with bench.powered(classic_sc_enabled=secure):
        for device in (bench.near, bench.far):
            await device.send_sync_command(HCI_Write_Default_Link_Policy_Settings_Command(default_link_policy_settings=1))
        bench.far.create_l2cap_server(spec, handler=lambda channel: channel.on(channel.EVENT_OPEN, lambda: echo(channel)))
        for _ in range(2):
            async with bench.link() as (link, other):
                if not (await bench.keys())[0]:
                    await secured(bench, link, other)
                else:
                    await link.authenticate()
                    await link.encrypt()
                channel = await link.create_l2cap_channel(spec)
                await answers(channel, [1, 100, 2000])
                for side, role in ((other, Role.CENTRAL), (link, Role.CENTRAL)) if switches else ():
                    changed = Inbox(link, link.EVENT_ROLE_CHANGE)
                    await side.switch_role(role)
                    await changed.next()
                    await answers(channel, [1, 100, 2000])
                if refreshes:
                    await refresh([link, other])
                    await answers(channel, [1, 100, 2000])
        return (await bench.keys())[0].link_key.value, bytes(bench.near.public_address), bytes(bench.far.public_address)


class Sessions:
    """The secrets of each link of an air log: a page starts one, and after a role switch it continues with the same offset under the other central."""

    def __init__(self, kind, key, addresses):
        self.kind, self.key, self.addresses, self.made = kind, key, addresses, []

    def __call__(self, lap):
        central, peripheral = sorted(self.addresses, key=lambda address: int.from_bytes(address[:3], "little") != lap)
        if self.made and self.made[-1].addresses["central"] != central:
            self.made[-1].addresses = {"central": central, "peripheral": peripheral}
        else:
            self.made.append(self.kind(self.key, {"central": central, "peripheral": peripheral}))
        return self.made[-1]


def rules(check):
    return {fault["rule"] for fault in check.violations}


@pytest.mark.parametrize(("switches", "refreshes"), [(False, False), (True, False), (False, True)], ids=["as it is", "roles switched", "refreshed"])
@pytest.mark.parametrize("kind", [LinkSecrets, SecureLinkSecrets], ids=["E0", "AES-CCM"])
def test_encryption_and_its_authentication(tmp_path, kind, switches, refreshes):
    """With the link key each SRES is correct, and each packet can be decrypted: CRC or MIC, lengths and sequence are those of the plaintext."""
    path, is_secure = tmp_path / "air.pcapng", kind is SecureLinkSecrets
    with dongles(2, "--profile", "dual", "--air", path, virtual_time=True) as ports:
        key, *addresses = in_virtual_time(conversation(ports, is_secure, switches, refreshes))
    sessions = Sessions(kind, key, addresses)
    check = piconet_check.load(path, sessions)
    assert check.violations == [] and check.pages == 2 + 4 * switches
    assert check.decoded > 100 and len(check.piconets) == 1 + switches
    assert all(each.opened > 10 for each in sessions.made) and sum(each.proofs for each in sessions.made) >= 3
    wrong = piconet_check.load(path, Sessions(kind, bytes([key[0] ^ 1]) + key[1:], addresses))
    assert {"authentication", "mic" if is_secure else "crc"} <= rules(wrong)


def test_a_changed_octet_under_aes_ccm_has_a_wrong_mic(tmp_path):
    path = tmp_path / "air.pcapng"
    with dongles(2, "--profile", "dual", "--air", path, virtual_time=True) as ports:
        key, *addresses = in_virtual_time(conversation(ports, True))
    check = piconet_check.PiconetCheck(Sessions(SecureLinkSecrets, key, addresses))
    packets = list(piconet_check.read(path))
    sealed = next(packet for packet in reversed(packets) if packet.name == "3-DH3" or len(packet.payload) > 100)
    body = sealed.body[:-1] + bytes([sealed.body[-1] ^ 1])
    checked = piconet_check.crc(piconet_check.octet_bits(body), sealed.uap)
    sealed.payload, sealed.on_air = body + bytes(int(checked[at : at + 8][::-1], 2) for at in (0, 8)), None
    for packet in packets:
        check.feed(packet)
    assert [fault["rule"] for fault in check.violations] == ["mic"] and check.violations[0]["packet"] == sealed.number


# Opcodes of Core Vol 2, Part C, 5.1; those above 0x7F00 are escaped.
FEATURES_REQ, FEATURES_RES, HOST_CONNECTION_REQ, SETUP_COMPLETE, DETACH, ACCEPTED = 39, 40, 51, 49, 7, 3
IO_REQ, IO_RES, HEADER, PAYLOAD, CONFIRM, NUMBER, CHECK = 0x7F19, 0x7F1A, 61, 62, 63, 64, 65
AU_RAND, SRES, MODE_REQ, KEY_SIZE_REQ, START_REQ = 11, 12, 15, 16, 17
REFUSALS = {4, 0x7F02}
PAIRING = [IO_REQ, IO_RES, HEADER, PAYLOAD, CONFIRM, NUMBER, CHECK, AU_RAND, SRES, MODE_REQ, KEY_SIZE_REQ, START_REQ]


async def one_pairing(ports):
    bench = Bench(ports)
    async with bench.powered(classic_sc_enabled=True), bench.link() as (link, other):
        await secured(bench, link, other)


def messages(path):
    """Opcode, transaction ID and parameters of each link manager PDU of the air log, retransmissions once."""
    found = (packet.body for packet in piconet_check.read(path) if packet.name == "DM1" and packet.body and packet.body[0] & 3 == 3)
    for body, _ in itertools.groupby(found):
        code, data = body[1] >> 1, body[2:]
        yield (code << 8 | data[0] if code == 0x7F else code), body[1] & 1, data


def test_link_managers_say_what_those_of_chips_say(tmp_path):
    """Order and transaction IDs of a connection with secure pairing, as recorded from two chips; no PDU is refused."""
    path = tmp_path / "air.pcapng"
    with dongles(2, "--profile", "dual", "--air", path) as ports:
        asyncio.run(one_pairing(ports))
    said = list(messages(path))
    codes = [code for code, _, _ in said]
    assert not REFUSALS & set(codes)
    setup = [FEATURES_REQ, FEATURES_RES, HOST_CONNECTION_REQ, SETUP_COMPLETE]
    first = [codes.index(code) for code in setup + PAIRING + [DETACH]]
    assert first == sorted(first)
    # P-256: four payloads for each of the two keys, and a header with length 64.
    assert [data for code, _, data in said if code == HEADER] == [bytes([1, 2, 64])] * 2 and codes.count(PAYLOAD) == 8
    # The central initiates, so all PDUs of its transaction have its ID.
    assert {tid for code, tid, _ in said if code in PAIRING} == {0}
    # Both sides complete the set-up, each with its own transaction ID.
    assert sorted(tid for code, tid, _ in said if code == SETUP_COMPLETE) == [0, 1]
