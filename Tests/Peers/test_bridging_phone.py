"""Bumble as the phone of `bluebench bridge --advertise`: one pairing over LE, then A2DP, HFP and AVRCP over BR/EDR with the key that was derived."""

import asyncio
import json

from bumble import a2dp, avdtp, avrcp, hfp, rfcomm
from bumble.hci import Address, OwnAddressType
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig

from bredr import BR_EDR, User, classic_host
from support import Inbox, Process, bluebench
from test_bredr_ctkd import OVER_LE
from test_bredr_pairing import AES_CCM, COMPARE

FRAMES = 400
GATEWAY = hfp.AgConfiguration(
    supported_ag_features=[hfp.AgFeature.CODEC_NEGOTIATION, hfp.AgFeature.HF_INDICATORS],
    supported_ag_indicators=[hfp.AgIndicatorState.call(), hfp.AgIndicatorState.callsetup(), hfp.AgIndicatorState.service()],
    supported_hf_indicators=[hfp.HfIndicator.BATTERY_LEVEL], supported_ag_call_hold_operations=[],
    supported_audio_codecs=[hfp.AudioCodec.CVSD, hfp.AudioCodec.MSBC])


def silence():
    """A frame of SBC: 44,100 Hz, 16 blocks, joint stereo, 8 subbands, loudness, bitpool 53, all scale factors and samples zero. A2DP, 12.6.1 and 12.9."""
    header, rest = bytes([0xBD, 53]), bytes(9)
    crc = 0x0F
    for octet in header + rest:
        for place in range(7, -1, -1):
            carry = crc >> 7 ^ octet >> place & 1
            crc = (crc << 1 & 0xFF) ^ (0x1D if carry else 0)
    return b"\x9c" + header + bytes([crc]) + rest + bytes(106)


def source(protocol):
    # Bumble sends the packet that it has collected with the next frame, so the last one is not sent.
    frames = silence() * (FRAMES + 1)
    position = 0

    async def read(count):
        nonlocal position
        position += count
        return frames[position - count : position]

    information = a2dp.SbcMediaCodecInformation.from_bytes(bytes([0x21, 0x15, 2, 53]))
    packets = a2dp.SbcPacketSource(read, protocol.l2cap_channel.peer_mtu).packets
    return protocol.add_source(
        avdtp.MediaCodecCapabilities(
            media_type=avdtp.AVDTP_AUDIO_MEDIA_TYPE, media_codec_type=a2dp.CodecType.SBC, media_codec_information=information),
        avdtp.MediaPacketPump(packets))


async def plays(link):
    """Finds the loudspeaker's sink, configures a stream, plays all frames and suspends."""
    version = await avdtp.find_avdtp_service_with_connection(link)
    protocol = await avdtp.Protocol.connect(link, version)
    await protocol.discover_remote_endpoints()
    sink = protocol.find_remote_sink_by_codec(avdtp.AVDTP_AUDIO_MEDIA_TYPE, a2dp.CodecType.SBC)
    local = source(protocol)
    stream = await protocol.create_stream(local, sink)
    await stream.start()
    await local.packet_pump.wait_for_completion()
    await stream.stop()


async def calls(link):
    """The service level connection as a gateway, with a negotiated codec."""
    channel, _, _ = await hfp.find_hf_sdp_record(link)
    gateway = hfp.AgProtocol(await (await rfcomm.Client(link).start()).open_dlc(channel), GATEWAY)
    ready = Inbox(gateway, gateway.EVENT_SLC_COMPLETE, lambda *_: None)
    await ready.next()
    await gateway.negotiate_codec(hfp.AudioCodec.MSBC)


async def controls(link):
    remote = avrcp.Protocol(avrcp.Delegate())
    await remote.connect(link)
    assert avrcp.EventId.VOLUME_CHANGED in await remote.get_supported_events()
    assert 0 <= await anext(remote.monitor_volume()) < 0x80


async def test_a_phone_brings_up_the_profiles_of_our_accessory(dual_ports, tmp_path):
    store, user = MemoryKeyStore(), User()
    for meeting in range(2):
        with Process(
                bluebench(), "bridge", f"tcp:127.0.0.1:{dual_ports[1]}", "--advertise", "loudspeaker", "--bonds", tmp_path / "bonds.json", "--compare",
                "--accept", "--json") as ours:
            address = Address((await asyncio.to_thread(ours.wait_for, r'"advertising","peer":"([0-9A-F:]+)/public'))[0][1], Address.PUBLIC_DEVICE_ADDRESS)
            async with classic_host(dual_ports[0], "phone", keystore=store, connectable=False) as phone:
                delegate = user.delegate(COMPARE)
                delegate.local_initiator_key_distribution = delegate.local_responder_key_distribution = OVER_LE
                phone.pairing_config_factory = lambda _, delegate=delegate: PairingConfig(
                    delegate=delegate, identity_address_type=PairingConfig.AddressType.PUBLIC)
                near = await phone.connect(address, own_address_type=OwnAddressType.PUBLIC)
                await (near.encrypt() if meeting else near.pair())
                link = await phone.connect(address, transport=BR_EDR)
                await link.authenticate()
                await link.encrypt()
                assert link.encryption == AES_CCM
                await calls(link)
                await controls(link)
                await plays(link)
                await link.disconnect()
                assert await asyncio.to_thread(ours.wait) == 0, ours.text
            events = [json.loads(line) for line in ours.lines if line.startswith("{")]
            [media] = [event for event in events if event["event"] == "media"]
            assert (media["frames"], media["lost"], media["malformed"]) == (FRAMES, 0, 0)
            names = {event["event"] for event in events}
            assert {"configured", "streaming", "suspended", "service_level_connection"} <= names and "failed" not in names, events
    # One question is sufficient for both transports and for the reconnection.
    assert len(user.compared) == 1
