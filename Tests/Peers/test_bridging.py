"""One pairing over LE opens profiles over BR/EDR between `bluebench bridge` and an accessory that uses Bumble's modules."""

import asyncio
import contextlib
import dataclasses
import json
import os
import signal

import pytest
from bumble import a2dp, avdtp, avrcp, hfp, rfcomm
from bumble.core import PhysicalTransport
from bumble.hci import Address, CodecID, CodingFormat, HCI_Enhanced_Accept_Synchronous_Connection_Request_Command, OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate

from bredr import User, classic_host
from support import Process, bluebench, dongles, run_bench, run_beside

KEYS = PairingDelegate.KeyDistribution
OVER_LE = KEYS.DISTRIBUTE_ENCRYPTION_KEY | KEYS.DISTRIBUTE_IDENTITY_KEY | KEYS.DISTRIBUTE_LINK_KEY
COMPARE = PairingDelegate.IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT
HANDS_FREE = hfp.HfConfiguration(
    supported_hf_features=[hfp.HfFeature.CODEC_NEGOTIATION, hfp.HfFeature.HF_INDICATORS],
    supported_hf_indicators=[hfp.HfIndicator.ENHANCED_SAFETY, hfp.HfIndicator.BATTERY_LEVEL],
    supported_audio_codecs=[hfp.AudioCodec.CVSD, hfp.AudioCodec.MSBC])
TRANSPARENT = CodingFormat(CodecID.TRANSPARENT)
WIDE_BAND = dataclasses.replace(
    hfp.ESCO_PARAMETERS[hfp.DefaultCodecParameters.ESCO_MSBC_T2], transmit_coding_format=TRANSPARENT, receive_coding_format=TRANSPARENT,
    input_coding_format=TRANSPARENT, output_coding_format=TRANSPARENT, input_bandwidth=8000, output_bandwidth=8000)
"""Set T2 with frames coded by the host: the controllers have no mSBC."""
MSBC_FRAMES = [bytes([1, number, 0xAD]) for number in (0x08, 0x38, 0xC8, 0xF8)]


def sbc(octets):
    return avdtp.MediaCodecCapabilities(
        media_type=avdtp.AVDTP_AUDIO_MEDIA_TYPE, media_codec_type=a2dp.CodecType.SBC,
        media_codec_information=a2dp.SbcMediaCodecInformation.from_bytes(octets))


def over_le(delegate):
    """Requests a link key, and provides one."""
    delegate.local_initiator_key_distribution = delegate.local_responder_key_distribution = OVER_LE
    return delegate


class Accessory:
    """A loudspeaker with a hands-free unit, which records what it receives."""

    def __init__(self, device, answers=True):
        self.device, self.user = device, User()
        self.steps, self.packets, self.codecs, self.voice = [], [], [], []
        if answers:
            device.on("sco_request", self.on_call)
        device.on("sco_connection", lambda link: setattr(link, "sink", self.voice.append))
        device.pairing_config_factory = lambda _: PairingConfig(
            delegate=over_le(self.user.delegate(COMPARE)), identity_address_type=PairingConfig.AddressType.PUBLIC)
        self.remote = avrcp.Protocol(avrcp.Delegate(supported_events=[avrcp.EventId.VOLUME_CHANGED]))
        self.remote.listen(device)
        avdtp.Listener.for_device(device).on("connection", self.on_stream)
        channel = rfcomm.Server(device).listen(self.on_serial_port)
        device.sdp_service_records = {
            0x10001: a2dp.make_audio_sink_service_sdp_records(0x10001),
            0x10002: hfp.make_hf_sdp_records(0x10002, channel, HANDS_FREE),
            0x10003: avrcp.TargetServiceSdpRecord(0x10003).to_service_attributes(),
        }

    def on_stream(self, protocol):
        sink = protocol.add_sink(sbc(bytes([0xFF, 0xFF, 2, 53])))
        for name in ("configuration", "open", "start", "suspend", "close"):
            sink.on(name, lambda name=name: self.steps.append(name))
        sink.on("rtp_packet", self.packets.append)

    def on_serial_port(self, dlc):
        unit = hfp.HfProtocol(dlc, HANDS_FREE)
        unit.on("codec_negotiation", self.codecs.append)
        self.unit = asyncio.get_running_loop().create_task(unit.run())

    def on_call(self, link, _):
        self.accepting = asyncio.get_running_loop().create_task(self.device.send_async_command(
            HCI_Enhanced_Accept_Synchronous_Connection_Request_Command(bd_addr=link.peer_address, **WIDE_BAND.asdict())))

    async def advertise(self):
        await self.device.set_connectable(True)
        await self.device.start_advertising(
            own_address_type=OwnAddressType.PUBLIC, advertising_interval_min=20, advertising_interval_max=20)


@contextlib.asynccontextmanager
async def accessory(port, store, answers=True, **attributes):
    async with classic_host(port, "accessory", keystore=store, **attributes) as device:
        made = Accessory(device, answers)
        await made.advertise()
        yield made


async def bridge(port, peer, bonds, *options, expected=0):
    """The steps that the phone reports, beside an event loop that runs the accessory."""
    result = await run_beside(
        "bridge", port, "--peer", f"{peer.public_address.to_string(False)}/public", "--bonds", bonds, "--compare",
        "--accept", "--seconds", "2", "--json", *options, expected=expected)
    return [json.loads(line) for line in result.stdout.splitlines()]


def named(events, name):
    return [event for event in events if event["event"] == name]


@pytest.mark.virtual_time
@pytest.mark.parametrize("compares", [True, False], ids=["authenticated", "unauthenticated"])
async def test_a_downgrade_to_e0_is_told(dual_ports, tmp_path, compares):
    """The accessory pairs by LE Secure Connections and has turned them off for BR/EDR: the link key is one of P-256, and E0 encrypts.

    A key that is worth more than E0 leaves of it ends the bridge."""
    capability = COMPARE if compares else PairingDelegate.IoCapability.NO_OUTPUT_NO_INPUT
    async with accessory(dual_ports[1], MemoryKeyStore(), classic_sc_enabled=False) as peer:
        peer.device.pairing_config_factory = lambda _: PairingConfig(
            mitm=compares, delegate=over_le(peer.user.delegate(capability)), identity_address_type=PairingConfig.AddressType.PUBLIC)
        events = await bridge(dual_ports[0], peer.device, tmp_path / "bonds.json", expected=int(compares))
        assert named(events, "link_key")[0]["key_type"] == 8 - (not compares)
        [told] = named(events, "downgraded")
        assert told["transport"] == "br_edr" and "E0" in told["reason"]
        assert bool(named(events, "failed")) == compares


@pytest.mark.virtual_time
async def test_a_phone_brings_up_the_profiles_of_an_accessory(dual_ports, tmp_path):
    store, bonds = MemoryKeyStore(), tmp_path / "bonds.json"
    async with accessory(dual_ports[1], store) as peer:
        events = await bridge(dual_ports[0], peer.device, bonds)
        names = [event["event"] for event in events]
        assert names[:6] == ["connected", "compare", "paired", "link_key", "connected", "encrypted"], names
        assert named(events, "encrypted")[0]["level"] == "secure_connections"
        assert {event["profile"] for event in named(events, "found")} == {"a2dp", "hfp", "avrcp"} and not named(events, "failed")
        assert named(events, "codec")[0]["codec"] == "mSBC" and peer.codecs == [hfp.AudioCodec.MSBC]
        assert named(events, "remote_control") and names[-1] == "ended"
        assert peer.steps == ["configuration", "open", "start", "suspend"]
        # The call uses eSCO during the music: an mSBC frame in each packet, every 7.5 ms.
        [audio], [call] = named(events, "audio"), named(events, "audio_ended")
        assert (audio["codec"], audio["value"]) == ("mSBC", "eSCO") and names.index("audio_ended") < names.index("suspended")
        frames = [packet.data for packet in peer.voice if packet.data[:3] in MSBC_FRAMES]
        assert call["packets"] * 0.8 < len(frames) <= call["packets"] and 200 < call["packets"] < 700
        assert all(len(frame) == 60 for frame in frames)
        # One question is sufficient for both transports.
        assert len(peer.user.compared) == 1
        [media] = named(events, "media")
        assert media["packets"] == len(peer.packets) and media["dropped"] == 0
        # The tone plays for 2 s after the last profile was opened.
        assert 2 <= sum(packet.payload[0] & 15 for packet in peer.packets) * 128 / 44_100 < 5
        assert [packet.sequence_number for packet in peer.packets] == list(range(len(peer.packets)))
        # With the stored bond the devices reconnect without questions.
        peer.packets.clear()
        await peer.advertise()
        again = await bridge(dual_ports[0], peer.device, bonds)
        assert [event["event"] for event in again][:5] == ["connected", "encrypted", "link_key", "connected", "encrypted"]
        assert len(peer.user.compared) == 1 and len(peer.packets) == named(again, "media")[0]["packets"] > 0


@pytest.mark.virtual_time
async def test_who_does_not_answer_a_call_has_no_audio(dual_ports, tmp_path):
    async with accessory(dual_ports[1], MemoryKeyStore(), answers=False) as peer:
        events = await bridge(dual_ports[0], peer.device, tmp_path / "bonds.json", "--profiles", "hfp")
        [refusal] = named(events, "no_audio")
        assert "has not answered" in refusal["reason"] and not named(events, "audio") and events[-1]["event"] == "ended"


@pytest.mark.virtual_time
async def test_a_corrupted_link_key_brings_up_nothing(dual_ports, tmp_path):
    store, bonds = MemoryKeyStore(), tmp_path / "bonds.json"
    async with accessory(dual_ports[1], store) as peer:
        await bridge(dual_ports[0], peer.device, bonds, "--profiles", "avrcp")
        [(name, keys)] = await store.get_all()
        keys.link_key.value = bytes([keys.link_key.value[0] ^ 1]) + keys.link_key.value[1:]
        await store.update(name, keys)
        await peer.advertise()
        events = await bridge(dual_ports[0], peer.device, bonds, expected=1)
        assert events[-1]["event"] == "failed" and "Authentication_Failure" in events[-1]["reason"], events[-1]
        assert not named(events, "found") and not peer.packets


def test_both_ends_on_the_simulated_air():
    """The accessory counts the phone's packets, and equal seeds give equal lines."""
    run = [run_bench("bridge", "virtual", "--seconds", "3", "--json", "--seed", "7").stdout for _ in range(2)]
    assert run[0] == run[1]
    events = [json.loads(line) for line in run[0].splitlines()]
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)
    sent, taken = [next(event for event in named(events, "media") if event["side"] == side) for side in ("phone", "accessory")]
    start, end = [next(event["time"] for event in named(events, name) if event["side"] == "phone") for name in ("streaming", "suspended")]
    # 44,100 samples per second in packets of five frames of 128 samples.
    assert end - start > 3 and abs(sent["packets"] - (end - start) * 44_100 / 640) < 2
    assert sent["packets"] == taken["packets"] and sent["dropped"] == 0
    assert taken["frames"] == 5 * taken["packets"] and taken["lost"] == taken["malformed"] == 0
    calls = named(events, "audio_ended")
    assert {call["side"] for call in calls} == {"phone", "accessory"} and len(named(events, "audio")) == 2
    for one, other in (calls, calls[::-1]):
        # A frame every 7.5 ms, of which the last few are still in transit.
        assert one["packets"] >= 398 and one["packets"] - 4 <= other["frames"] <= one["packets"]
        assert other["lost"] == other["malformed"] == other["doubtful"] == 0
    phone = [event["event"] for event in events if event["side"] == "phone"]
    assert phone[:5] == ["connected", "paired", "link_key", "connected", "encrypted"] and phone[-4:] == ["suspended", "stream_ended", "media", "ended"]


@pytest.mark.parametrize("words,complaint", [
    (["tcp:127.0.0.1:1"], "missing peer: give --peer ADDRESS (as the phone) or --advertise NAME (as the accessory)"),
    (["virtual", "--peer", "00:1B:DC:00:00:01/public"], "is both the phone and the accessory"),
    (["virtual", "--profiles", "a2dp,hid"], "unknown profile 'hid'"),
    (["tcp:127.0.0.1:1", "--advertise", "x", "--seed", "2"], "need the device 'virtual'"),
])
def test_wrong_words_are_refused(words, complaint):
    assert complaint in run_bench("bridge", *words, expected=2).stderr


def test_who_is_interrupted_says_so(tmp_path):
    with dongles(1, "--profile", "dual") as [port]:
        words = ["bridge", f"tcp:127.0.0.1:{port}", "--advertise", "speaker", "--bonds", tmp_path / "bonds.json", "--json"]
        with Process(bluebench(), *words) as speaker:
            speaker.wait_for('"event":"advertising"')
            os.kill(speaker.pid, signal.SIGINT)
            assert speaker.wait() == 3
            assert json.loads(speaker.wait_for('"event":"interrupted"')[0].string)["reason"] == "interrupted"


async def test_a_phone_of_bumble_sets_up_a_stream_to_us(dual_ports, tmp_path):
    words = ["--advertise", "speaker", "--bonds", tmp_path / "bonds.json", "--compare", "--accept", "--json"]
    with Process(bluebench(), "bridge", f"tcp:127.0.0.1:{dual_ports[0]}", *words) as speaker:
        [found] = await asyncio.to_thread(speaker.wait_for, r'"peer":"(\S+)/public"')
        address = Address(found.group(1), Address.PUBLIC_DEVICE_ADDRESS)
        async with classic_host(dual_ports[1], "phone", keystore=MemoryKeyStore()) as phone:
            user = User()
            phone.pairing_config_factory = lambda _: PairingConfig(
                delegate=over_le(user.delegate(COMPARE)), identity_address_type=PairingConfig.AddressType.PUBLIC)
            link = await phone.connect(address, own_address_type=OwnAddressType.PUBLIC)
            await link.pair()
            classic = await phone.connect(address, transport=PhysicalTransport.BR_EDR)
            await classic.authenticate()
            await classic.encrypt()
            version = await avdtp.find_avdtp_service_with_connection(classic)
            protocol = await avdtp.Protocol.connect(classic, version)
            await protocol.discover_remote_endpoints()
            sink = protocol.find_remote_sink_by_codec(avdtp.AVDTP_AUDIO_MEDIA_TYPE, a2dp.CodecType.SBC)
            stream = await protocol.create_stream(protocol.add_source(sbc(bytes([0x21, 0x15, 2, 53])), None), sink)
            await stream.start()
            await stream.stop()
            await classic.disconnect()
        assert await asyncio.to_thread(speaker.wait) == 0
        events = [json.loads(line) for line in speaker.lines]
        assert [event["event"] for event in events if event.get("profile") == "a2dp"] == [
            "configured", "media_open", "streaming", "suspended", "stream_ended"]
        assert named(events, "encrypted")[0]["level"] == "secure_connections" and len(named(events, "compare")) == len(user.compared) == 1
