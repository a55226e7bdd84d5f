"""Pairing with Bumble over our controllers, two Bumble hosts or ours and one of them in either role: every association model in both generations of pairing,
and a bond that outlives a power cycle."""

import asyncio
import contextlib
import json

import pytest
from bumble.device import Device
from bumble.hci import Address
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.smp import OobContext, OobLegacyContext, OobSharedData

from support import Inbox, bluebench, host

CENTRAL = "F0:F1:F2:F3:F4:F5"
PERIPHERAL = "C0:C1:C2:C3:C4:C5"
CAPABILITIES = [
    PairingDelegate.DISPLAY_OUTPUT_ONLY, PairingDelegate.DISPLAY_OUTPUT_AND_YES_NO_INPUT, PairingDelegate.KEYBOARD_INPUT_ONLY,
    PairingDelegate.NO_OUTPUT_NO_INPUT, PairingDelegate.DISPLAY_OUTPUT_AND_KEYBOARD_INPUT,
]
MODELS = [
    "J J R J R",
    "J jN R J rN",
    "I I B J I",
    "J J J J J",
    "I iN R J iN",
]
"""Core Vol 3, Part H, 2.3.5.1, table 2.8, the responder down, the initiator across: J Just Works, N Numeric Comparison, a passkey that the initiator (I),
the responder (R) or nobody (B) shows; small letters for LE legacy pairing alone."""


class User:
    """The user of both devices."""

    def __init__(self):
        self.shown = []
        self.compared = []
        self.displayed = asyncio.Event()
        self.both = asyncio.Event()

    def delegate(self, capability, key_size=16):
        return Delegate(self, capability, key_size)


class Delegate(PairingDelegate):
    def __init__(self, user, capability, key_size):
        super().__init__(capability, maximum_encryption_key_size=key_size)
        self.user = user

    async def generate_passkey(self):
        return 12345 + len(self.user.shown)

    async def display_number(self, number, digits):
        self.user.shown.append(number)
        self.user.displayed.set()

    async def get_number(self):
        if self.user.displayed is None:
            return 271828
        await self.user.displayed.wait()
        return self.user.shown[0]

    async def compare_numbers(self, number, digits):
        self.user.compared.append(number)
        if len(self.user.compared) == 2:
            self.user.both.set()
        await self.user.both.wait()
        return len(set(self.user.compared)) == 1


def config(delegate, sc=True, oob=None):
    return PairingConfig(sc=sc, mitm=True, bonding=True, delegate=delegate, identity_address_type=PairingConfig.AddressType.RANDOM, oob=oob)


class Bench:
    """Two hosts with persistent keys."""

    def __init__(self, ports):
        self.ports = ports
        self.stores = [MemoryKeyStore(), MemoryKeyStore()]

    @contextlib.asynccontextmanager
    async def powered(self):
        async with host(self.ports[0], "central", CENTRAL) as self.central, host(self.ports[1], "peripheral", PERIPHERAL) as self.peripheral:
            self.central.keystore, self.peripheral.keystore = self.stores
            yield

    def configure(self, central, peripheral):
        self.central.pairing_config_factory = lambda _: central
        self.peripheral.pairing_config_factory = lambda _: peripheral

    @contextlib.asynccontextmanager
    async def link(self):
        accepted = Inbox(self.peripheral, Device.EVENT_CONNECTION)
        await self.peripheral.start_advertising(advertising_interval_min=20, advertising_interval_max=20)
        link = await self.central.connect(PERIPHERAL)
        other = await accepted.next()
        yield link, other
        gone = Inbox(other, "disconnection")
        await link.disconnect()
        await gone.next()

    async def pair(self, by_request=False):
        """Pairs on a new link; returns the keys of both sides."""
        async with self.link() as (link, other):
            kept = [Inbox(link, link.EVENT_PAIRING), Inbox(other, other.EVENT_PAIRING)]
            if by_request:
                requests = Inbox(link, link.EVENT_SECURITY_REQUEST)
                other.request_pairing()
                await requests.next()
                await link.pair()
            else:
                await link.pair()
            for inbox in kept:
                await inbox.next()
            assert link.is_encrypted and other.is_encrypted
        return await self.stores[0].get(str(Address(PERIPHERAL))), await self.stores[1].get(str(Address(CENTRAL)))

    async def comes_back(self):
        async with self.link() as (link, other):
            assert not link.is_encrypted and not other.is_encrypted
            far = Inbox(other, other.EVENT_CONNECTION_ENCRYPTION_CHANGE, lambda *_: other.is_encrypted)
            await link.encrypt()
            assert link.is_encrypted and await far.next()
            assert await link.gatt_client.request_mtu(100) == 100


def same_keys(keys, sc):
    central, peripheral = keys
    if sc:
        assert central.ltk.value == peripheral.ltk.value and any(central.ltk.value)
        return
    # Bumble stores both sides' LTKs by initiator: the own key of one side is the peer's key of the other.
    assert central.ltk_central.value == peripheral.ltk_central.value and central.ltk_peripheral.value == peripheral.ltk_peripheral.value


@pytest.mark.parametrize("sc", [False, True], ids=["legacy", "secure-connections"])
@pytest.mark.parametrize("responder", range(5), ids=[CAPABILITIES[index].name for index in range(5)])
@pytest.mark.virtual_time
async def test_every_association_model(ports, responder, sc):
    bench = Bench(ports)
    async with bench.powered():
        for initiator, cell in enumerate(MODELS[responder].split()):
            letter = cell[-1].upper() if sc else cell[0].upper()
            user = User()
            if letter == "B":
                user.displayed = None
            bench.configure(
                config(user.delegate(CAPABILITIES[initiator]), sc), config(user.delegate(CAPABILITIES[responder]), sc))
            same_keys(await bench.pair(), sc)
            assert len(user.shown) == (letter in "IR"), letter
            assert len(user.compared) == 2 * (letter == "N"), letter
            assert len(set(user.compared)) == (letter == "N")


@pytest.mark.parametrize("sc", [False, True], ids=["legacy", "secure-connections"])
@pytest.mark.virtual_time
async def test_out_of_band(ports, sc):
    bench = Bench(ports)
    contexts, secret = [OobContext(), OobContext()], OobLegacyContext()

    def oob(own, peer):
        if sc:
            return PairingConfig.OobConfig(our_context=contexts[own], peer_data=contexts[peer].share(), legacy_context=None)
        return PairingConfig.OobConfig(our_context=None, peer_data=None, legacy_context=secret)

    async with bench.powered():
        user = User()
        bench.configure(*(
            config(user.delegate(PairingDelegate.NO_OUTPUT_NO_INPUT), sc, oob(own, 1 - own)) for own in (0, 1)))
        keys = await bench.pair()
        same_keys(keys, sc)
        assert (keys[0].ltk or keys[0].ltk_central).authenticated


@pytest.mark.parametrize("by_request", [False, True], ids=["the central begins", "the peripheral asks"])
@pytest.mark.parametrize("sc", [False, True], ids=["legacy", "secure-connections"])
@pytest.mark.virtual_time
async def test_a_bond_outlives_a_power_cycle(ports, sc, by_request):
    bench = Bench(ports)
    async with bench.powered():
        user = User()
        bench.configure(*(config(user.delegate(PairingDelegate.DISPLAY_OUTPUT_AND_KEYBOARD_INPUT), sc) for _ in range(2)))
        central, peripheral = await bench.pair(by_request)
    if not sc:
        # Bumble uses the key that the central distributed instead of its own.
        peripheral.ltk_peripheral, peripheral.ltk_central = peripheral.ltk_central, peripheral.ltk_peripheral
    async with bench.powered():
        await bench.comes_back()
        await bench.comes_back()


OPTIONS = ["display", "display-yes-no", "keyboard", "none", "keyboard-display"]
"""`--io` in the order of CAPABILITIES."""
MEETINGS = {
    "just works": (3, 4, "Just Works"),
    "the initiator shows a passkey": (0, 2, "Passkey Entry"),
    "the responder shows a passkey": (2, 0, "Passkey Entry"),
    "both enter a passkey": (2, 2, "Passkey Entry"),
    "two displays with a keyboard": (4, 4, None),
    "two displays with buttons": (1, 1, None),
}
"""The capabilities of initiator and responder, and the model; None if it depends on the generation."""


class Ours:
    """`bluebench pair`, with the user at its standard streams."""

    def __init__(self, user, process):
        self.user, self.process, self.events = user, process, []
        self._advertising = asyncio.get_running_loop().create_future()
        self._reader = asyncio.ensure_future(self._read())

    @classmethod
    @contextlib.asynccontextmanager
    async def run(cls, user, port, bonds, *options):
        process = await asyncio.create_subprocess_exec(
            bluebench(), "pair", f"tcp:127.0.0.1:{port}", "--json", "--seconds", "30", "--bonds", str(bonds), *options,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        ours = cls(user, process)
        try:
            yield ours
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()
            ours._reader.cancel()

    async def _read(self):
        while line := await self.process.stdout.readline():
            event = json.loads(line)
            self.events.append(event)
            match event["event"]:
                case "advertising" | "discoverable":
                    self._advertising.set_result(event["peer"].removesuffix("/random").replace("/public", "/P"))
                case "passkey":
                    await self.user.delegate(None).display_number(int(event["passkey"]), 6)
                case "enter_passkey":
                    self._answer(f"{await self.user.delegate(None).get_number():06}")
                case "compare":
                    self._answer("yes" if await self.user.delegate(None).compare_numbers(int(event["number"]), 6) else "no")
                case "consent":
                    self._answer("yes")

    def _answer(self, text):
        self.process.stdin.write(f"{text}\n".encode())

    async def address(self):
        return await self._advertising

    async def end(self):
        await self._reader
        assert await self.process.wait() == 0, self.events
        return self.events[-1]


class Meeting:
    """Our host and a Bumble host; ours stores its bonds in a file."""

    def __init__(self, folder, ports, we_are_central):
        self.bonds = folder / "bonds.json"
        self.ports = ports
        self.we_are_central = we_are_central
        self.store = MemoryKeyStore()

    async def meet(self, user, configuration, *options, begin=True):
        """A link from power-on to power-off: our last event, and the encryption state in Bumble."""
        async with host(self.ports[1], "foreign", PERIPHERAL) as device:
            device.keystore = self.store
            device.pairing_config_factory = lambda _: configuration()
            if self.we_are_central:
                accepted = Inbox(device, Device.EVENT_CONNECTION, lambda link: (link, Inbox(link, link.EVENT_PAIRING)))
                await device.start_advertising(advertising_interval_min=20, advertising_interval_max=20)
                async with Ours.run(user, self.ports[0], self.bonds, "--peer", f"{PERIPHERAL}/random", *options) as ours:
                    link, paired = await accepted.next()
                    return await self._outcome(ours, link, paired if begin else None)
            async with Ours.run(user, self.ports[0], self.bonds, "--advertise", "ours", *options) as ours:
                link = await device.connect(await ours.address())
                paired = Inbox(link, link.EVENT_PAIRING)
                await (link.pair() if begin else link.encrypt())
                return await self._outcome(ours, link, paired if begin else None)

    async def _outcome(self, ours, link, paired):
        encrypted = Inbox(link, link.EVENT_CONNECTION_ENCRYPTION_CHANGE)
        if paired is not None:
            await paired.next()
        elif not link.is_encrypted:
            await encrypted.next()
        assert link.is_encrypted
        if not self.we_are_central:
            # A peripheral leaves the end of the link to the central, after the last key was received.
            with contextlib.suppress(ValueError):  # nothing was sent
                await link.device.host.connections[link.handle].acl_packet_queue.drain(link.handle)
            await link.disconnect()
        return await ours.end()

    async def comes_back(self, level, sc):
        if self.we_are_central and not sc:
            # Bumble uses the key that the central distributed instead of its own.
            for _, keys in await self.store.get_all():
                keys.ltk_peripheral, keys.ltk_central = keys.ltk_central, keys.ltk_peripheral
        user = User()
        last = await self.meet(user, lambda: config(user.delegate(PairingDelegate.NO_OUTPUT_NO_INPUT), sc), begin=False)
        assert (last["event"], last["level"]) == ("encrypted", level)


@pytest.fixture(params=[True, False], ids=["we are the central", "we are the peripheral"])
def meeting(request, tmp_path, ports):
    return Meeting(tmp_path, ports, request.param)


def level_of(model, sc):
    return "encrypted" if model == "Just Works" else "secure_connections" if sc else "authenticated"


@pytest.mark.parametrize("name", MEETINGS)
@pytest.mark.parametrize("sc", [False, True], ids=["legacy", "secure-connections"])
async def test_our_host_pairs_and_comes_back(meeting, sc, name):
    initiator, responder, model = MEETINGS[name]
    generation = "Numeric Comparison" if sc else "Just Works" if name == "two displays with buttons" else "Passkey Entry"
    model = model or generation
    ours, theirs = (initiator, responder) if meeting.we_are_central else (responder, initiator)
    user = User()
    if name == "both enter a passkey":
        user.displayed = None
    last = await meeting.meet(
        user, lambda: config(user.delegate(CAPABILITIES[theirs]), sc), "--io", OPTIONS[ours], *([] if sc else ["--legacy"]))
    level = level_of(model, sc)
    assert (last["event"], last["model"], last["level"], last["secure_connections"]) == ("paired", model, level, sc)
    assert (last["key_size"], last["bonded"]) == (16, True)
    assert len(user.shown) == (1 if model == "Passkey Entry" and "both" not in name else 0)
    assert len(user.compared) == (2 if model == "Numeric Comparison" else 0)
    await meeting.comes_back(level, sc)


@pytest.mark.parametrize("sc", [False, True], ids=["legacy", "secure-connections"])
async def test_our_host_pairs_out_of_band(meeting, tmp_path, sc):
    context, secret, user = OobContext(), OobLegacyContext(), User()
    given, own = tmp_path / "given.json", tmp_path / "own.json"
    if sc:
        shared = context.share()
        given.write_text(json.dumps({"confirm": shared.c[::-1].hex(), "random": shared.r[::-1].hex()}))
    else:
        given.write_text(json.dumps({"tk": secret.tk[::-1].hex()}))

    def configuration():
        if not sc:
            oob = PairingConfig.OobConfig(our_context=None, peer_data=None, legacy_context=secret)
        else:
            data = json.loads(own.read_text())
            ours = OobSharedData(c=bytes.fromhex(data["confirm"])[::-1], r=bytes.fromhex(data["random"])[::-1])
            oob = PairingConfig.OobConfig(our_context=context, peer_data=ours, legacy_context=None)
        return config(user.delegate(PairingDelegate.NO_OUTPUT_NO_INPUT), sc, oob)

    options = ["--io", "none", "--oob", str(given), *(["--oob-own", str(own)] if sc else ["--legacy"])]
    last = await meeting.meet(user, configuration, *options)
    assert (last["event"], last["model"], last["level"]) == ("paired", "Out of Band", level_of("Out of Band", sc))
    await meeting.comes_back(last["level"], sc)


async def test_a_link_key_comes_of_the_pairing(meeting):
    user = User()
    keys = PairingDelegate.KeyDistribution
    given = keys.DISTRIBUTE_ENCRYPTION_KEY | keys.DISTRIBUTE_IDENTITY_KEY | keys.DISTRIBUTE_LINK_KEY

    def configuration():
        delegate = user.delegate(PairingDelegate.DISPLAY_OUTPUT_AND_KEYBOARD_INPUT)
        delegate.local_initiator_key_distribution = delegate.local_responder_key_distribution = given
        return PairingConfig(
            sc=True, mitm=True, bonding=True, delegate=delegate, identity_address_type=PairingConfig.AddressType.PUBLIC)

    last = await meeting.meet(user, configuration, "--bredr")
    assert (last["event"], last["model"]) == ("paired", "Numeric Comparison")
    [ours] = json.loads(meeting.bonds.read_text())["bonds"]
    [(_, theirs)] = await meeting.store.get_all()
    assert ours["link_key"] == {"key": theirs.link_key.value[::-1].hex().upper(), "type": 8, "size": 16}
