"""A Bumble accessory that pairs, legally unlike others or with one fault: `pairing_faults.py HOST:PORT|virtual:HOST:PORT KIND`."""

import asyncio
import sys

from bumble import crypto, smp
from bumble.device import Device, DeviceConfiguration
from bumble.gatt import Characteristic, Service
from bumble.hci import Address, OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate

from peripheral import advertise_again, expect_a_tester, open_controller, run

NAME, ADDRESS = "Lock", "F5:F4:F3:F2:F1:F1"
PASSKEY = 246_810
KEYS = PairingDelegate.KeyDistribution
GIVEN = KEYS.DISTRIBUTE_ENCRYPTION_KEY | KEYS.DISTRIBUTE_IDENTITY_KEY

Session, Reason = smp.Session, smp.ErrorCode
LEGAL = {"": None, "no-bonding": None, "legacy": None, "declines": Reason.PAIRING_NOT_SUPPORTED, "wants-more": Reason.AUTHENTICATION_REQUIREMENTS,
         "waits": Reason.REPEATED_ATTEMPTS}
# Also legal: "insists" asks for security and leaves if it is refused, "shows" displays the passkey 246810. "level-187" has a wrong value that is protected.
"""Kinds without a fault, and the reason for which they decline."""


def replace(name):
    """Replaces a method of Bumble's sessions; the replacement gets the original."""
    original = getattr(Session, name)

    def apply(replacement):
        setattr(Session, name, lambda session, *arguments: replacement(original, session, *arguments))
        return replacement
    return apply


def decline(reason):
    @replace("on_smp_pairing_request_command")
    def declined(_, session, command):
        session.send_command(smp.SMP_Pairing_Failed_Command(reason=reason))


def check_of_zeros():
    @replace("send_pairing_dhkey_check_command")
    def sent(_, session):
        session.send_command(smp.SMP_Pairing_DHKey_Check_Command(dhkey_check=bytes(16)))


def another_random():
    @replace("send_pairing_random_command")
    def sent(_, session):
        session.send_command(smp.SMP_Pairing_Random_Command(random_value=bytes([session.r[0] ^ 1]) + session.r[1:]))


def keys_never_sent():
    @replace("distribute_keys")
    def sent(*_):
        pass


def key_unasked():
    @replace("distribute_keys")
    def sent(original, session):
        original(session)
        session.send_command(smp.SMP_Signing_Information_Command(signature_key=bytes(range(16))))


def change_response(change):
    @replace("send_pairing_response_command")
    def sent(original, session):
        change(session)
        original(session)


def agrees_to_more():
    change_response(lambda session: setattr(session, "responder_key_distribution", session.responder_key_distribution | smp.KeyDistribution.SIGN_KEY))


def size(octets):
    change_response(lambda session: setattr(session, "maximum_encryption_key_size", octets))


def debug_key():
    @replace("send_public_key_command")
    def sent(_, session):
        session.ecc_key = crypto.EccKey.from_private_key_bytes(smp.SMP_DEBUG_KEY_PRIVATE)
        session.send_command(smp.SMP_Pairing_Public_Key_Command(public_key_x=session.ecc_key.x[::-1], public_key_y=session.ecc_key.y[::-1]))


def key_off_curve():
    @replace("send_public_key_command")
    def sent(_, session):
        session.send_command(smp.SMP_Pairing_Public_Key_Command(public_key_x=session.ecc_key.x[::-1], public_key_y=bytes(32)))


def key_reflected():
    @replace("send_public_key_command")
    def sent(_, session):
        session.send_command(smp.SMP_Pairing_Public_Key_Command(public_key_x=session.peer_public_key_x, public_key_y=session.peer_public_key_y))


def random_constant():
    crypto.r = lambda: bytes(range(16))


def at_public_key(act):
    @replace("on_smp_pairing_public_key_command")
    def received(_, session, command):
        act(session)


def any_check():
    @replace("check_expected_value")
    def checked(*_):
        return True


def any_point():
    original = crypto.EccKey.dh

    def dh(key, x, y):
        try:
            return original(key, x, y)
        except Exception:
            return bytes(32)
    crypto.EccKey.dh = dh


def bond_forgotten(device):
    @replace("on_smp_pairing_request_command")
    def received(original, session, command):
        asyncio.get_running_loop().create_task(device.keystore.delete_all())
        original(session, command)


def leave(session):
    asyncio.get_running_loop().create_task(session.connection.disconnect())


FAULTS = {
    "check-of-zeros": check_of_zeros, "another-random": another_random, "keys-never-sent": keys_never_sent, "key-unasked": key_unasked,
    "agrees-to-more": agrees_to_more, "size-7-boasted": lambda: size(7), "size-5": lambda: size(5), "debug-key": debug_key,
    "key-off-curve": key_off_curve, "key-reflected": key_reflected, "random-constant": random_constant,
    "silent": lambda: decline_silently(), "silent-at-key": lambda: at_public_key(lambda _: None), "leaves-at-key": lambda: at_public_key(leave),
    "fails-at-key": lambda: at_public_key(lambda session: session.send_pairing_failed(Reason.UNSPECIFIED_REASON)),
    "invalid-request": lambda: decline(Reason.INVALID_PARAMETERS), "any-check": any_check, "any-point": any_point,
    "bond-forgotten": None,
}


class Display(PairingDelegate):
    def __init__(self):
        super().__init__(PairingDelegate.DISPLAY_OUTPUT_ONLY, GIVEN, GIVEN)

    async def generate_passkey(self):
        return PASSKEY


def decline_silently():
    @replace("on_smp_pairing_request_command")
    def received(*_):
        pass


async def serve(target, kind=""):
    transport = await open_controller(target)
    device = Device.from_config_with_hci(DeviceConfiguration(name=NAME, address=Address(ADDRESS)), transport.source, transport.sink)
    device.pairing_config_factory = lambda _: PairingConfig(
        sc=kind != "legacy", mitm=kind == "shows", bonding=kind != "no-bonding",
        delegate=Display() if kind == "shows" else PairingDelegate(PairingDelegate.NO_OUTPUT_NO_INPUT, GIVEN, GIVEN),
        identity_address_type=PairingConfig.AddressType.RANDOM)
    if LEGAL.get(kind) is not None:
        decline(LEGAL[kind])
    level = bytes([187 if kind == "level-187" else 50])
    if kind == "bond-forgotten":
        bond_forgotten(device)
    elif kind in FAULTS:
        FAULTS[kind]()
    device.add_services([Service("180F", [Characteristic(
        "2A19", Characteristic.Properties.READ, Characteristic.READABLE | Characteristic.READ_REQUIRES_ENCRYPTION, level)])])
    await device.power_on()
    device.keystore = MemoryKeyStore()
    ended = asyncio.Queue()

    def connected(connection):
        connection.on("disconnection", ended.put_nowait)
        if kind == "insists":
            connection.on("pairing_failure", lambda _: asyncio.get_running_loop().create_task(connection.disconnect()))
            connection.request_pairing()
        if kind == "shows":
            connection.on("pairing", lambda *_: print("paired", flush=True))
    device.on("connection", connected)

    async def advertise():
        data = bytes([2, 1, 6, 1 + len(NAME), 9]) + NAME.encode()
        await device.start_advertising(own_address_type=OwnAddressType.RANDOM, advertising_data=data, advertising_interval_min=20, advertising_interval_max=20)
    await advertise()
    expect_a_tester()
    print("advertising", flush=True)
    await advertise_again(transport, ended, advertise)


if __name__ == "__main__":
    run(serve, *sys.argv[1:])
