"""HFP: our hands-free unit with Bumble's gateway, our gateway with Bumble's hands-free unit."""

import asyncio
from types import SimpleNamespace

import pytest
from bumble import hfp
from fake_channel import Channel

FEATURES = hfp.HfFeature
GATEWAY = hfp.AgFeature


class Connection(Channel):
    """An RFCOMM connection that accepts text."""

    def __init__(self, codec, *words):
        super().__init__(codec, *words)
        self.multiplexer = SimpleNamespace(l2cap_channel=self)

    def write(self, data):
        super().write(data.encode() if isinstance(data, str) else data)


def gateway_configuration(features):
    return hfp.AgConfiguration(
        supported_ag_features=features,
        supported_ag_indicators=[hfp.AgIndicatorState.call(), hfp.AgIndicatorState.callsetup(), hfp.AgIndicatorState.service(),
                                 hfp.AgIndicatorState.battchg()],
        supported_hf_indicators=[hfp.HfIndicator.ENHANCED_SAFETY, hfp.HfIndicator.BATTERY_LEVEL],
        supported_ag_call_hold_operations=[hfp.CallHoldOperation.ADD_HELD_CALL, hfp.CallHoldOperation.HOLD_ALL_ACTIVE_CALLS],
        supported_audio_codecs=[hfp.AudioCodec.CVSD, hfp.AudioCodec.MSBC])


def unit_configuration(features):
    return hfp.HfConfiguration(
        supported_hf_features=features, supported_hf_indicators=[hfp.HfIndicator.ENHANCED_SAFETY, hfp.HfIndicator.BATTERY_LEVEL],
        supported_audio_codecs=[hfp.AudioCodec.CVSD, hfp.AudioCodec.MSBC])


EVERYTHING = (
    [FEATURES.THREE_WAY_CALLING, FEATURES.CODEC_NEGOTIATION, FEATURES.HF_INDICATORS],
    [GATEWAY.THREE_WAY_CALLING, GATEWAY.CODEC_NEGOTIATION, GATEWAY.HF_INDICATORS],
)


@pytest.mark.parametrize("features", [([], []), (EVERYTHING[0], []), ([], EVERYTHING[1]), EVERYTHING], ids=["none", "unit", "gateway", "both"])
async def test_our_unit_with_bumbles_gateway(codec, features):
    codec.ask("profile", "handsfree", "new", sum(features[0]))
    dlc = Connection(codec, "handsfree", "receive")
    gateway = hfp.AgProtocol(dlc, gateway_configuration(features[1]))
    done = []
    gateway.on("slc_complete", lambda: done.append(True))
    dlc.tell("handsfree", "start")
    await dlc.until("connected")
    assert done == [True]
    gateway.update_ag_indicator(hfp.AgIndicator.CALL, 1)
    await dlc.until('indicator("call", 1)')
    if features == EVERYTHING:
        await gateway.negotiate_codec(hfp.AudioCodec.MSBC)
        await dlc.until("codec(BBHost.HFPCodec(rawValue: 2))")
        assert gateway.active_codec == hfp.AudioCodec.MSBC


@pytest.mark.parametrize("features", [([], []), (EVERYTHING[0], []), ([], EVERYTHING[1]), EVERYTHING], ids=["none", "unit", "gateway", "both"])
async def test_our_gateway_with_bumbles_unit(codec, features):
    codec.ask("profile", "gateway", "new", sum(features[1]))
    dlc = Connection(codec, "gateway", "receive")
    unit = hfp.HfProtocol(dlc, unit_configuration(features[0]))
    await unit.initiate_slc()
    assert any(report == "connected" for report in dlc.reports), dlc.reports
    assert [state.indicator.value for state in unit.ag_indicators] == ["service", "call", "callsetup", "callheld", "signal", "roam", "battchg"]
    assert [state.current_status for state in unit.ag_indicators] == [1, 0, 0, 0, 5, 0, 5]
    if features == EVERYTHING:
        agreed = asyncio.get_running_loop().create_future()
        unit.on(unit.EVENT_CODEC_NEGOTIATION, agreed.set_result)
        following = asyncio.create_task(unit.run())
        await unit.setup_audio_connection()
        await dlc.until("codec(BBHost.HFPCodec(rawValue: 2))")
        assert await asyncio.wait_for(agreed, 5) == hfp.AudioCodec.MSBC
        following.cancel()
