"""Two Bumble hosts pair over BR/EDR with our controllers: every association model on both curves and by PIN, both ciphers, bonds and their faults."""

import pytest
from bumble.hci import HCI_Error
from bumble.pairing import PairingDelegate

from bredr import Bench, User, config
from support import Inbox

pytestmark = pytest.mark.virtual_time

CAPABILITIES = [
    PairingDelegate.DISPLAY_OUTPUT_ONLY, PairingDelegate.DISPLAY_OUTPUT_AND_YES_NO_INPUT, PairingDelegate.KEYBOARD_INPUT_ONLY,
    PairingDelegate.NO_OUTPUT_NO_INPUT,
]
MODELS = ["J J P J", "J N P J", "P P B J", "J J J J"]
"""Core Vol 3, Part C, 5.2.2.6, table 5.7, the responder down, the initiator across: J unauthenticated, N Numeric Comparison, P a passkey that one side
shows, B one that both enter."""
E0, AES_CCM = 1, 2
COMPARE = PairingDelegate.DISPLAY_OUTPUT_AND_YES_NO_INPUT


def same(values):
    [value] = set(values)
    return value


async def encrypts(link, other, cipher):
    far = Inbox(other, other.EVENT_CONNECTION_ENCRYPTION_CHANGE, lambda *_: other.encryption)
    await link.encrypt()
    assert (link.encryption, await far.next()) == (cipher, cipher)


@pytest.mark.parametrize("secure", [False, True], ids=["P-192", "P-256"])
@pytest.mark.parametrize("responder", range(4), ids=[capability.name for capability in CAPABILITIES])
async def test_every_association_model(dual_ports, responder, secure):
    bench = Bench(dual_ports)
    async with bench.powered(classic_sc_enabled=secure):
        for initiator, letter in enumerate(MODELS[responder].split()):
            user = User(shows=letter != "B")
            bench.configure(config(user.delegate(CAPABILITIES[initiator])), config(user.delegate(CAPABILITIES[responder])))
            async with bench.link() as (link, other):
                keys = await bench.authenticated(link, other)
                assert any(same(key.link_key.value for key in keys))
                # Vol 4, Part E, 7.7.24: unauthenticated and authenticated, P-192 and P-256.
                assert same(key.link_key_type for key in keys) == 4 + (letter != "J") + 3 * secure
                assert letter != "N" or len(user.compared) == 2
                assert len(set(user.compared)) <= 1
                await encrypts(link, other, AES_CCM if secure else E0)
            await bench.near.keystore.delete_all()
            await bench.far.keystore.delete_all()


@pytest.mark.parametrize("attributes,cipher", [
    ({"classic_ssp_enabled": False, "classic_sc_enabled": False}, E0), ({"classic_sc_enabled": False}, E0), ({}, AES_CCM),
], ids=["PIN", "P-192", "P-256"])
async def test_a_bond_outlives_a_power_cycle(dual_ports, attributes, cipher):
    bench, user = Bench(dual_ports), User()
    capability = PairingDelegate.KEYBOARD_INPUT_ONLY if "classic_ssp_enabled" in attributes else COMPARE
    async with bench.powered(**attributes):
        bench.configure(*(config(user.delegate(capability)) for _ in range(2)))
        async with bench.link() as (link, other):
            before = same(key.link_key.value for key in await bench.authenticated(link, other))
    asked = len(user.compared)
    async with bench.powered(**attributes):
        for by_far in (False, True):
            async with bench.link(by_far) as (link, other):
                await link.authenticate()
                await encrypts(link, other, cipher)
    assert same(key.link_key.value for key in await bench.keys()) == before
    assert len(user.compared) == asked


@pytest.mark.parametrize("attributes", [{"classic_sc_enabled": False}, {}], ids=["P-192", "P-256"])
@pytest.mark.parametrize("side", [0, 1], ids=["of the verifier", "of the claimant"])
async def test_a_corrupted_key_fails_authentication(dual_ports, side, attributes):
    bench, user = Bench(dual_ports), User()
    async with bench.powered(**attributes):
        bench.configure(*(config(user.delegate(COMPARE)) for _ in range(2)))
        async with bench.link() as (link, other):
            key = (await bench.authenticated(link, other))[side].link_key
        key.value = bytes([key.value[0] ^ 1]) + key.value[1:]
    async with bench.powered(**attributes):
        async with bench.link() as (link, other):
            with pytest.raises(HCI_Error) as raised:
                await link.authenticate()
            assert raised.value.error_code == 0x05
            assert not link.is_encrypted and not other.is_encrypted


async def test_a_side_that_lost_the_key_says_so(dual_ports):
    bench, user = Bench(dual_ports), User()
    async with bench.powered():
        bench.configure(*(config(user.delegate(COMPARE)) for _ in range(2)))
        async with bench.link() as (link, other):
            await bench.authenticated(link, other)
        await bench.far.keystore.delete_all()
        async with bench.link() as (link, _):
            with pytest.raises(HCI_Error) as raised:
                await link.authenticate()
            assert raised.value.error_code == 0x06


@pytest.mark.parametrize("refuses", [0, 1], ids=["the initiator's user", "the responder's user"])
async def test_a_user_says_no(dual_ports, refuses):
    bench = Bench(dual_ports)
    async with bench.powered():
        bench.configure(*(config(User(answer=side != refuses).delegate(COMPARE)) for side in range(2)))
        async with bench.link() as (link, other):
            failures = [Inbox(side, side.EVENT_CLASSIC_PAIRING_FAILURE) for side in (link, other)]
            with pytest.raises(HCI_Error) as raised:
                await link.authenticate()
            assert raised.value.error_code == 0x05
            assert [await inbox.next() for inbox in failures] == [0x05, 0x05]
        assert await bench.keys() == [None, None]
