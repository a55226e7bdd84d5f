"""A Bumble accessory that starts procedures of its own, uses two addresses, or keeps its bonds: `asking.py HOST:PORT KIND`."""

import asyncio
import sys

from bumble import smp
from bumble.device import Device, DeviceConfiguration
from bumble.gatt import Characteristic, Service
from bumble.hci import Address, OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate

from peripheral import advertise_again, expect_a_tester, open_controller, run

ADDRESS = "F5:F4:F3:F2:F1:F0"
KEYS = PairingDelegate.KeyDistribution
GIVEN = KEYS.DISTRIBUTE_ENCRYPTION_KEY | KEYS.DISTRIBUTE_IDENTITY_KEY
REQUEST = bytes([0x06, 1, 0, 0xFF, 0xFF, 0, 0x28]) + bytes(60)
"""ATT_FIND_BY_TYPE_VALUE_REQ of 67 octets."""


def pairing(kind):
    given = GIVEN | KEYS.DISTRIBUTE_LINK_KEY if kind == "dual" else GIVEN
    public = kind in ("dual", "public-identity")
    return PairingConfig(
        sc=True, mitm=False, bonding=True,
        delegate=PairingDelegate(PairingDelegate.NO_OUTPUT_NO_INPUT, given, given),
        identity_address_type=PairingConfig.AddressType.PUBLIC if public else PairingConfig.AddressType.RANDOM)


class FirstBondOnly(PairingDelegate):
    """Refuses a peer that has a bond, as a device does on which no new pairing replaces a bond. It prints the public key of each peer."""

    def __init__(self, device, peer):
        super().__init__(PairingDelegate.NO_OUTPUT_NO_INPUT, GIVEN, GIVEN)
        self.device, self.peer = device, peer

    async def accept(self):
        return await self.device.keystore.get(str(self.peer)) is None


def print_public_keys():
    original = smp.Session.on_smp_pairing_public_key_command

    def received(session, command):
        print("key", bytes(command.public_key_x)[::-1].hex(), flush=True)
        return original(session, command)
    smp.Session.on_smp_pairing_public_key_command = received


def ask_after_mtu(device):
    """Sends a request of the length of the new ATT_MTU immediately after its own response."""
    server = device.gatt_server
    answer = server.on_att_exchange_mtu_request

    def answered(bearer, request):
        answer(bearer, request)
        device.send_l2cap_pdu(bearer.handle, 4, REQUEST)
    server.on_att_exchange_mtu_request = answered

    def received(handle, pdu):
        if pdu[0] in (0x01, 0x07):
            print("answered", bytes(pdu).hex(), flush=True)
        device.on_gatt_pdu(handle, pdu)
    device.l2cap_channel_manager.register_fixed_channel(4, received)


async def serve(target, kind):
    transport = await open_controller(target)
    settings = DeviceConfiguration(name="Asking", address=Address(ADDRESS), classic_enabled=kind == "dual")
    if kind == "irk":
        settings.irk = bytes(range(1, 17))
    device = Device.from_config_with_hci(settings, transport.source, transport.sink)
    device.pairing_config_factory = lambda _: pairing(kind)
    if kind == "first-bond":
        print_public_keys()
        device.pairing_config_factory = lambda connection: PairingConfig(
            sc=True, mitm=False, bonding=True, delegate=FirstBondOnly(device, connection.peer_address),
            identity_address_type=PairingConfig.AddressType.RANDOM)
    device.add_services([Service("180F", [Characteristic(
        "2A19", Characteristic.Properties.READ, Characteristic.READABLE | Characteristic.READ_REQUIRES_ENCRYPTION, bytes([50]))])])
    if kind == "mtu":
        ask_after_mtu(device)
    await device.power_on()
    device.keystore = MemoryKeyStore()
    ended = asyncio.Queue()

    def connected(connection):
        connection.on("disconnection", ended.put_nowait)
        connection.on("pairing", lambda _: print("paired", flush=True))
        connection.on("pairing_failure", lambda reason: print("pairing failed", reason, flush=True))
        connection.on("connection_encryption_change", lambda: print("encrypted", connection.encryption, flush=True))
        if kind == "security":
            connection.request_pairing()
    device.on("connection", connected)

    async def advertise():
        await device.start_advertising(own_address_type=OwnAddressType.RANDOM, advertising_interval_min=20, advertising_interval_max=20)
    await advertise()
    expect_a_tester()
    print("advertising", flush=True)
    await advertise_again(transport, ended, advertise)


if __name__ == "__main__":
    run(serve, *sys.argv[1:])
