"""Shared by the tests over BR/EDR: Bumble hosts on dual-mode dongles, their simulated user, and persistent keys."""

import asyncio
import contextlib

from bumble.core import PhysicalTransport
from bumble.device import Device
from bumble.hci import HCI_Error, HCI_Write_Page_Scan_Activity_Command
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate

from support import Inbox, host

RANDOM_ADDRESSES = ["F0:F1:F2:F3:F4:F5", "C0:C1:C2:C3:C4:C5"]
SCAN_INTERVAL, SCAN_WINDOW = 0x0040, 0x0012
"""The page scan interval in slots: pages take milliseconds instead of the default interval of 1.28 s."""
BR_EDR = PhysicalTransport.BR_EDR


@contextlib.asynccontextmanager
async def classic_host(port, name, random_address=RANDOM_ADDRESSES[0], **attributes):
    """A Bumble host with BR/EDR that is connectable and not discoverable."""
    async with host(port, name, random_address, power_on=False) as device:
        device.classic_enabled = True
        device.discoverable = False
        for key, value in attributes.items():
            setattr(device, key, value)
        await device.power_on()
        await device.send_sync_command(HCI_Write_Page_Scan_Activity_Command(page_scan_interval=SCAN_INTERVAL, page_scan_window=SCAN_WINDOW))
        yield device


class User:
    """The user of both devices. With `answer` False the user rejects."""

    def __init__(self, answer=True, shows=True):
        self.answer = answer
        self.shown, self.compared, self.confirmed = [], [], 0
        self.displayed = asyncio.Event() if shows else None

    def delegate(self, capability):
        return Delegate(self, capability)


class Delegate(PairingDelegate):
    """Passes the questions of one device to the user."""

    def __init__(self, user, capability):
        super().__init__(capability)
        self.user = user

    async def confirm(self, auto=False):
        self.user.confirmed += 1
        return self.user.answer

    async def display_number(self, number, digits):
        self.user.shown.append(number)
        if self.user.displayed:
            self.user.displayed.set()

    async def compare_numbers(self, number, digits):
        self.user.compared.append(number)
        return self.user.answer and len(set(self.user.compared)) == 1

    async def get_number(self):
        if self.user.displayed is None:
            return 271828
        await self.user.displayed.wait()
        return self.user.shown[0]

    async def get_string(self, max_length):
        return "0000" if self.user.answer else "9999"


def config(delegate, bonding=True, mitm=True):
    return PairingConfig(mitm=mitm, bonding=bonding, delegate=delegate, identity_address_type=PairingConfig.AddressType.PUBLIC)


class Bench:
    """Two hosts, `near` and `far`, and their keys."""

    def __init__(self, ports):
        self.ports = ports
        self.stores = [MemoryKeyStore(), MemoryKeyStore()]

    @contextlib.asynccontextmanager
    async def powered(self, **attributes):
        async with contextlib.AsyncExitStack() as stack:
            self.near, self.far = [
                await stack.enter_async_context(classic_host(port, name, address, keystore=store, **attributes))
                for port, name, address, store in zip(self.ports, ("near", "far"), RANDOM_ADDRESSES, self.stores, strict=True)]
            yield

    def configure(self, near, far):
        self.near.pairing_config_factory = lambda _: near
        self.far.pairing_config_factory = lambda _: far

    @contextlib.asynccontextmanager
    async def link(self, by_far=False):
        """Both ends of a connection, first the end that initiates and, if the connection still exists, ends it; only the other end is connectable."""
        maker, taker = (self.far, self.near) if by_far else (self.near, self.far)
        await maker.set_connectable(False)
        await taker.set_connectable(True)
        accepted = Inbox(taker, Device.EVENT_CONNECTION)
        link = await maker.connect(taker.public_address, transport=BR_EDR)
        other = await accepted.next()
        gone = Inbox(other, other.EVENT_DISCONNECTION)
        yield link, other
        if link.handle in maker.connections:
            with contextlib.suppress(HCI_Error):  # already ended by the controllers
                await link.disconnect()
        await gone.next()

    async def authenticated(self, link, other):
        """Pairs on a connection without keys; returns the keys that each side stores."""
        kept = [Inbox(side.device, Device.EVENT_KEY_STORE_UPDATE, lambda *_: None) for side in (link, other)]
        await link.authenticate()
        for inbox in kept:
            await inbox.next()
        return await self.keys()

    async def keys(self):
        """The keys that each side stores."""
        return [await store.get(str(peer.public_address)) for store, peer in zip(self.stores, (self.far, self.near), strict=True)]
