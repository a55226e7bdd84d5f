"""Two Bumble hosts pair once, on either transport, and reconnect encrypted on the other with the derived key, after a power cycle."""

import asyncio

import pytest
from bumble.device import Device
from bumble.hci import HCI_Error, OwnAddressType
from bumble.pairing import PairingConfig, PairingDelegate

from bredr import Bench, User
from support import Inbox
from test_bredr_pairing import AES_CCM, COMPARE, encrypts

pytestmark = pytest.mark.virtual_time

KEYS = PairingDelegate.KeyDistribution
OVER_LE = KEYS.DISTRIBUTE_ENCRYPTION_KEY | KEYS.DISTRIBUTE_IDENTITY_KEY | KEYS.DISTRIBUTE_LINK_KEY
OVER_BREDR = KEYS.DISTRIBUTE_ENCRYPTION_KEY | KEYS.DISTRIBUTE_IDENTITY_KEY


def configure(bench, given):
    user = User()
    for device in (bench.near, bench.far):
        delegate = user.delegate(COMPARE)
        delegate.local_initiator_key_distribution = delegate.local_responder_key_distribution = given
        pairing = PairingConfig(delegate=delegate, identity_address_type=PairingConfig.AddressType.PUBLIC)
        device.pairing_config_factory = lambda _, pairing=pairing: pairing
    return user


async def le_link(bench):
    """Both ends of an LE connection between the public addresses."""
    accepted = Inbox(bench.far, Device.EVENT_CONNECTION)
    await bench.far.start_advertising(
        own_address_type=OwnAddressType.PUBLIC, advertising_interval_min=20, advertising_interval_max=20)
    link = await bench.near.connect(bench.far.public_address, own_address_type=OwnAddressType.PUBLIC)
    return link, await accepted.next()


async def pair_over_le(bench):
    configure(bench, OVER_LE)
    link, other = await le_link(bench)
    paired = Inbox(other, other.EVENT_PAIRING)
    await link.pair()
    await paired.next()
    await link.disconnect()


async def pair_over_bredr(bench):
    user = configure(bench, OVER_BREDR)
    async with bench.link() as (link, other):
        await bench.authenticated(link, other)
        await encrypts(link, other, AES_CCM)
        paired = Inbox(other, other.EVENT_PAIRING)
        await link.pair()
        await paired.next()
    assert len(user.compared) == 2, "one dialogue serves both transports"


def corrupt(key):
    key.value = bytes([key.value[0] ^ 1]) + key.value[1:]


async def test_a_pairing_over_le_serves_bredr(dual_ports):
    bench = Bench(dual_ports)
    async with bench.powered():
        await pair_over_le(bench)
    async with bench.powered():
        keys = await bench.keys()
        assert keys[0].link_key.value == keys[1].link_key.value
        async with bench.link() as (link, other):
            await link.authenticate()
            await encrypts(link, other, AES_CCM)
        corrupt(keys[1].link_key)
        async with bench.link() as (link, other):
            with pytest.raises(HCI_Error) as raised:
                await link.authenticate()
            assert raised.value.error_code == 0x05


async def test_a_pairing_over_bredr_serves_le(dual_ports):
    bench = Bench(dual_ports)
    async with bench.powered():
        await pair_over_bredr(bench)
    async with bench.powered():
        keys = await bench.keys()
        assert keys[0].ltk.value == keys[1].ltk.value
        link, other = await le_link(bench)
        far = Inbox(other, other.EVENT_CONNECTION_ENCRYPTION_CHANGE, lambda *_: other.encryption)
        await link.encrypt()
        assert link.is_encrypted and await far.next()
        await link.disconnect()
        corrupt(keys[1].ltk)
        link, other = await le_link(bench)
        # The device that receives the first encrypted PDU reports the reason; the other side loses the link. Vol 6, Part B, 5.1.3.1.
        gone = Inbox(other, other.EVENT_DISCONNECTION)
        with pytest.raises(asyncio.CancelledError):
            await link.encrypt()
        assert await gone.next() == 0x3D
