"""The information that `bluebench pair` gives to a sniffer or a stranger: no key, no unjustified security level, and nothing that is repeated in the next run."""

import asyncio
import json

import pytest
from bumble import smp
from bumble.core import ProtocolError
from bumble.keys import MemoryKeyStore
from bumble.pairing import OobContext, OobSharedData, PairingConfig, PairingDelegate
from cryptography.hazmat.primitives.asymmetric import ec

from support import TIMEOUT, Inbox, Process, bluebench, dongles, host, run_bench

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
ADDRESS_BITS = (1 << 46) - 1
FIVE, NINE, FIRST, SECOND = (pow(factor, -1, 1 << 64) for factor in (5, 9, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def rotated(value, by):
    return (value << by | value >> 64 - by) & MASK


def splitmix(value):
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


def unsplit(value):
    value = (value ^ value >> 31 ^ value >> 62) * SECOND & MASK
    value = (value ^ value >> 27 ^ value >> 54) * FIRST & MASK
    return value ^ value >> 30 ^ value >> 60


def second_word(output):
    """The state word of xoshiro256** that an output reveals."""
    return rotated(output * NINE & MASK, 57) * FIVE & MASK


class Xoshiro:
    def __init__(self, state):
        self.state = list(state)

    @classmethod
    def seeded(cls, seed):
        return cls([splitmix(seed + GAMMA * number & MASK) for number in (1, 2, 3, 4)])

    @classmethod
    def behind(cls, outputs):
        """The generator with four known successive outputs, before the second of them."""
        words = [second_word(output) for output in outputs]
        sums = [words[at] ^ words[at + 1] for at in range(3)]
        third = [sums[at] ^ words[at] << 17 & MASK for at in range(2)]
        first = [sums[at + 1] ^ third[at] for at in range(2)]
        return cls([first[0], words[1], third[0], first[0] ^ first[1] ^ words[1]])

    def next(self):
        a, b, c, d = self.state
        output = rotated(b * 5 & MASK, 7) * 9 & MASK
        c, d = c ^ a, d ^ b
        self.state = [a ^ d, b ^ c, c ^ (b << 17 & MASK), rotated(d, 45)]
        return output


def words(octets):
    """A value of SMP as two 64-bit numbers, the upper one first."""
    value = int.from_bytes(octets, "little")
    return [value >> 64, value & MASK]


def seeds(address):
    """The seeds for which an address could be the first output."""
    for top in range(1 << 18):
        yield unsplit(second_word(top << 46 | address & ADDRESS_BITS)) - 2 * GAMMA & MASK


def key_from_address(address, key):
    """Tests whether the address is the first output of a seed and the next outputs form the key, complete or with one octet each."""
    numbers = {int.from_bytes(key[at:at + 8], order) for at in (0, 8) for order in ("little", "big")}
    for seed in seeds(address):
        generator = Xoshiro.seeded(seed)
        generator.next()
        number = generator.next()
        if number in numbers or number >> 32 & 0xFF == key[0] and all(generator.next() >> 32 & 0xFF == octet for octet in key[1:]):
            return seed
    return None


def predicts(nonces):
    """True if two values of a pairing determine a later one."""
    drawn = [words(nonce) for nonce in nonces]
    for at in range(len(drawn) - 2):
        generator = Xoshiro.behind(drawn[at] + drawn[at + 1])
        later = [generator.next() for _ in range(16)][3:]
        if any(number in later for value in drawn[at + 2:] for number in value):
            return True
    return False


class Delegate(PairingDelegate):
    def __init__(self, passkey=None):
        super().__init__(PairingDelegate.NO_OUTPUT_NO_INPUT if passkey is None else PairingDelegate.KEYBOARD_INPUT_ONLY)
        self.passkey = passkey

    async def get_number(self):
        return self.passkey


class Sniffer:
    """The PDUs that the bench sends to a Bumble central."""

    def __init__(self, monkeypatch):
        self.nonces, self.public_key, self.address = [], None, None
        original = smp.Session.on_smp_command

        def heard(session, command):
            if isinstance(command, smp.SMP_Pairing_Random_Command):
                self.nonces.append(bytes(command.random_value))
            if isinstance(command, smp.SMP_Pairing_Public_Key_Command):
                self.public_key = bytes(command.public_key_x)[::-1]
            return original(session, command)

        monkeypatch.setattr(smp.Session, "on_smp_command", heard)


async def pair_with(port, peer, configuration):
    """A Bumble central pairs with the bench; returns None, or the reason of the failure."""
    async with host(port, "central", "F0:F1:F2:F3:F4:F5") as central:
        central.keystore = MemoryKeyStore()
        central.pairing_config_factory = lambda _: configuration
        link = await central.connect(peer.split("/")[0])
        try:
            await asyncio.wait_for(link.pair(), TIMEOUT)
            return None
        except ProtocolError as error:
            return error.error_name
        finally:
            await link.disconnect()


def victim(port, bonds, *options):
    return Process(bluebench(), "pair", f"tcp:127.0.0.1:{port}", "--advertise", "victim", "--json", "--bonds", bonds, "--seconds", TIMEOUT, *options)


def test_the_attacks_find_what_a_seed_has_made():
    generator = Xoshiro.seeded(0x0123456789ABCDEF)
    address = generator.next() & ADDRESS_BITS
    numbers = [generator.next() for _ in range(8)]
    assert predicts([(numbers[at] << 64 | numbers[at + 1]).to_bytes(16, "little") for at in (0, 2, 4)])
    key = b"".join(number.to_bytes(8, "little") for number in numbers[:2])
    assert key_from_address(address, key) == 0x0123456789ABCDEF


@pytest.mark.parametrize("options, passkey", [(("--io", "none", "--no-mitm", "--accept"), None), (("--io", "display", "--passkey", "271828"), 271828)])
def test_a_sniffer_computes_no_key(tmp_path, monkeypatch, options, passkey):
    """Two runs on the same port: neither the address nor the nonces reveal anything, and no value is repeated."""
    seen = []
    with dongles(2) as ports:
        for run in range(2):
            sniffer, bonds = Sniffer(monkeypatch), tmp_path / f"{run}.json"
            configuration = PairingConfig(sc=True, mitm=passkey is not None, bonding=True, delegate=Delegate(passkey))
            with victim(ports[1], bonds, *options) as bench:
                peer = bench.wait_for(r'"advertising","peer":"([^"]*)"')[0][1]
                assert asyncio.run(pair_with(ports[0], peer, configuration)) is None
                assert bench.wait() == 0, bench.text
            kept = json.loads(bonds.read_text())
            address, irk = int(peer.split("/")[0].replace(":", ""), 16), bytes.fromhex(kept["identity"]["irk"])
            assert len(sniffer.nonces) == (20 if passkey else 1)
            assert not predicts(sniffer.nonces)
            seen.append((address, irk, sniffer.public_key, sniffer.nonces[0], kept["bonds"][0]["peer_ltk"]["key"]))
    assert all(one != other for one, other in zip(*seen)), "nothing of a bench's keys is a constant"
    address, irk, public_key, *_ = seen[0]
    assert key_from_address(address, irk[::-1]) is None
    for seed in [0, 1, 2, address]:
        generator = Xoshiro.seeded(seed)
        private = int.from_bytes(b"".join(generator.next().to_bytes(8, "big") for _ in range(4)), "big")
        made = ec.derive_private_key(private, ec.SECP256R1()).public_key().public_numbers().x
        assert made.to_bytes(32, "big") != public_key


@pytest.mark.parametrize("is_central", [False, True])
@pytest.mark.parametrize("options", [(), ("--secure-connections-only",)])
def test_a_stranger_with_the_out_of_band_flag_is_refused(tmp_path, monkeypatch, is_central, options):
    """It claims to have data that the bench never generated, and does not verify anything."""
    monkeypatch.setattr(smp.Session, "check_expected_value", lambda *_: True)
    data = PairingConfig.OobConfig(our_context=OobContext(), peer_data=OobSharedData(c=bytes(16), r=bytes(16)), legacy_context=None)
    stranger = PairingConfig(sc=True, mitm=True, bonding=True, delegate=Delegate(), oob=data)
    bonds = tmp_path / "bonds.json"

    async def advertise(port):
        async with host(port, "stranger", "F0:F1:F2:F3:F4:F5") as peripheral:
            peripheral.keystore = MemoryKeyStore()
            peripheral.pairing_config_factory = lambda _: stranger
            gone = Inbox(peripheral, "connection")
            await peripheral.start_advertising(advertising_interval_min=20, advertising_interval_max=20)
            arguments = ["pair", f"tcp:127.0.0.1:{ports[1]}", "--peer", "F0:F1:F2:F3:F4:F5/random", "--json", "--bonds", bonds, *options]
            done = await asyncio.to_thread(run_bench, *arguments, "--io", "display-yes-no", expected=None)
            await gone.next()
            return done.returncode, done.stdout

    with dongles(2) as ports:
        if is_central:
            code, text = asyncio.run(advertise(ports[0]))
            assert code == 1 and "OOB_Not_Available" in text, text
        else:
            with victim(ports[1], bonds, "--io", "display-yes-no", *options) as bench:
                peer = bench.wait_for(r'"advertising","peer":"([^"]*)"')[0][1]
                assert asyncio.run(pair_with(ports[0], peer, stranger)) == "OOB_NOT_AVAILABLE"
                assert bench.wait() == 1 and "authenticated" not in bench.text
    assert not bonds.exists() or json.loads(bonds.read_text())["bonds"] == []
