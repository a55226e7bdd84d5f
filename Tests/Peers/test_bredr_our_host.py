"""Our host and Bumble's over BR/EDR: inquiry, pairing in both roles, reconnection after a power cycle, and LE keys derived from the link key."""

import contextlib
import json

import pytest
from bumble.device import Device
from bumble.hci import Address, HCI_Error, OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate

from bredr import BR_EDR, RANDOM_ADDRESSES, classic_host
from support import Inbox, run_beside
from test_bredr_ctkd import OVER_BREDR
from test_pairing import Ours, User

COMPARE = PairingDelegate.DISPLAY_OUTPUT_AND_YES_NO_INPUT
MODELS = {
    "numeric comparison": ("display-yes-no", COMPARE, "Numeric Comparison"),
    "we show a passkey": ("display-yes-no", PairingDelegate.KEYBOARD_INPUT_ONLY, "Passkey Entry"),
    "Bumble shows a passkey": ("keyboard", COMPARE, "Passkey Entry"),
    "just works": ("none", COMPARE, "Just Works"),
}


class Meeting:
    """Our program and a Bumble host, one of which pages the other; both store their bonds."""

    def __init__(self, folder, ports, we_page):
        self.bonds, self.ports, self.we_page = folder / "bonds.json", ports, we_page
        self.store = MemoryKeyStore()
        self.user = User()

    @contextlib.asynccontextmanager
    async def bumble(self, capability=COMPARE, **attributes):
        async with classic_host(self.ports[1], "foreign", RANDOM_ADDRESSES[1], keystore=self.store, **attributes) as device:
            delegate = self.user.delegate(capability)
            delegate.local_initiator_key_distribution = delegate.local_responder_key_distribution = OVER_BREDR
            config = PairingConfig(delegate=delegate, identity_address_type=PairingConfig.AddressType.PUBLIC)
            device.pairing_config_factory = lambda _: config
            yield device

    async def meet(self, capability=COMPARE, io="display-yes-no", *options, code=0, **attributes):
        """A link from power-on to power-off; returns the events that we reported, and the cipher of the link in Bumble."""
        cipher = None
        async with self.bumble(capability, **attributes) as device:
            role = ["--peer", device.public_address.to_string(False)] if self.we_page else ["--advertise", "ours"]
            words = ["--transport", "bredr", *role, "--io", io, *options]
            accepted = Inbox(device, Device.EVENT_CONNECTION)
            if self.we_page:
                await device.set_connectable(True)
            async with Ours.run(self.user, self.ports[0], self.bonds, *words) as ours:
                if self.we_page:
                    link = await accepted.next()
                    gone = Inbox(link, link.EVENT_DISCONNECTION)
                    seen = []
                    link.on(link.EVENT_CONNECTION_ENCRYPTION_CHANGE, lambda: seen.append(link.encryption))
                    await gone.next()
                    cipher = seen[0] if seen else None
                else:
                    link = await device.connect(Address(await ours.address(), Address.PUBLIC_DEVICE_ADDRESS), transport=BR_EDR)
                    cipher = await self.begins(link, pairs=not await self.keys() and attributes.get("classic_sc_enabled", True))
                await ours._reader
                assert await ours.process.wait() == code, ours.events
                return ours.events, cipher

    async def begins(self, link, pairs):
        """Bumble authenticates and encrypts, and after a pairing with P-256 derives the LE keys. We authenticate Bumble, and end the link."""
        gone = Inbox(link, link.EVENT_DISCONNECTION)
        try:
            await link.authenticate()
            await link.encrypt()
            cipher = link.encryption
            if pairs:
                await link.pair()
            await gone.next()
        except HCI_Error:
            cipher = None
        if link.handle in link.device.connections:
            with contextlib.suppress(HCI_Error):  # already ended by the controllers
                await link.disconnect()
        return cipher

    async def keys(self):
        return next((keys for _, keys in await self.store.get_all()), None)

    def bond(self):
        [bond] = json.loads(self.bonds.read_text())["bonds"]
        return bond


@pytest.fixture(params=[True, False], ids=["we page", "we are paged"])
def meeting(request, tmp_path, dual_ports):
    return Meeting(tmp_path, dual_ports, request.param)


@pytest.mark.parametrize("secure", [False, True], ids=["P-192", "P-256"])
@pytest.mark.parametrize("name", MODELS)
async def test_our_host_pairs_and_comes_back(meeting, name, secure):
    io, capability, model = MODELS[name]
    options = [] if secure else ["--legacy"]
    events, cipher = await meeting.meet(capability, io, *options, classic_sc_enabled=secure)
    paired = next(event for event in events if event["event"] == "paired")
    assert (paired["model"], paired["secure_connections"], cipher) == (model, secure, 1 + secure)
    theirs = await meeting.keys()
    assert meeting.bond()["link_key"]["key"] == theirs.link_key.value[::-1].hex().upper()
    kind = 4 + (model != "Just Works") + 3 * secure
    # Bumble omits the link key's type when it stores the LE keys.
    assert meeting.bond()["link_key"]["type"] == kind and theirs.link_key_type in (kind, None)
    asked = len(meeting.user.compared)
    meeting.we_page = not meeting.we_page
    events, cipher = await meeting.meet(capability, io, *options, classic_sc_enabled=secure)
    assert events[-1]["event"] == "encrypted" and cipher == 1 + secure, events
    assert len(meeting.user.compared) == asked


async def test_a_corrupted_key_fails_authentication(meeting):
    await meeting.meet()
    keys = await meeting.keys()
    keys.link_key.value = bytes([keys.link_key.value[0] ^ 1]) + keys.link_key.value[1:]
    events, cipher = await meeting.meet(code=1)
    assert cipher is None and events[-1]["event"] not in ("paired", "encrypted"), events


async def test_a_pairing_over_bredr_serves_le(meeting):
    events, _ = await meeting.meet()
    assert [event["event"] for event in events if event["event"] in ("paired", "le_keys")] == ["le_keys", "paired"], events
    asked = len(meeting.user.compared)
    async with meeting.bumble() as device:
        accepted = Inbox(device, Device.EVENT_CONNECTION)
        await device.start_advertising(own_address_type=OwnAddressType.PUBLIC, advertising_interval_min=20, advertising_interval_max=20)
        async with Ours.run(meeting.user, meeting.ports[0], meeting.bonds, "--peer", device.public_address.to_string(False) + "/public") as ours:
            link = await accepted.next()
            assert (await ours.end())["event"] == "encrypted"
            assert link.encryption
    assert len(meeting.user.compared) == asked


@pytest.mark.virtual_time
async def test_an_inquiry_finds_bumble_and_its_name(dual_ports):
    async with classic_host(dual_ports[1], "sought", RANDOM_ADDRESSES[1], class_of_device=0x5A020C) as device:
        await device.set_discoverable(True)
        result = await run_beside("scan", dual_ports[0], "--bredr", "--count", 1, "--seconds", 5)
        assert device.public_address.to_string(False) in result.stdout and "'sought'" in result.stdout
