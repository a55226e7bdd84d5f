"""Our SBC frames, decoded by sbc.py: the result is the tone, with little noise."""

import math

import pytest
import sbc


def noise(original, decoded, delay):
    """Signal-to-noise ratio in decibels; the filters need the first samples to settle."""
    pairs = list(zip(original[200:], decoded[200 + delay :]))
    signal = sum(one * one for one, _ in pairs)
    error = sum((one - other) ** 2 for one, other in pairs)
    return 10 * math.log10(signal / max(error, 1e-9))


SETTINGS = [
    (44_100, 16, sbc.JOINT, 0, 8, 53), (44_100, 16, sbc.STEREO, 0, 8, 53), (48_000, 16, sbc.JOINT, 0, 8, 51), (48_000, 12, sbc.MONO, 0, 8, 31),
    (16_000, 15 + 1, sbc.MONO, 0, 8, 26), (32_000, 8, sbc.DUAL, 1, 4, 40), (44_100, 4, sbc.STEREO, 1, 4, 60), (16_000, 4, sbc.MONO, 1, 4, 31),
    (32_000, 12, sbc.JOINT, 1, 4, 35), (48_000, 16, sbc.DUAL, 0, 8, 60), (44_100, 16, sbc.MONO, 1, 8, 128),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("cycle", [25, 100])
def test_a_tone_comes_out_again(codec, setting, cycle):
    answer = codec.ask("profile", "sbc", *setting, cycle, 24)
    decoder = sbc.Decoder()
    channels = len(answer["samples"])
    decoded = [[] for _ in range(channels)]
    for frame in answer["frames"]:
        for channel, samples in enumerate(decoder.decode(bytes.fromhex(frame))):
            decoded[channel] += samples
    # The delay of both filters is ten times the subbands, less one block that both share.
    delay = 9 * setting[4] + 1
    for original, samples in zip(answer["samples"], decoded):
        assert noise(original, samples, delay) > 25, [(shift, noise(original, samples, shift)) for shift in range(delay - 10, delay + 10)]


def test_a_broken_frame_is_noticed(codec):
    frame = bytearray.fromhex(codec.ask("profile", "sbc", *SETTINGS[0], 100, 1)["frames"][0])
    for index in (1, 2, 3, 4, 6):
        broken = bytearray(frame)
        broken[index] ^= 0x10
        with pytest.raises(AssertionError):
            sbc.Decoder().decode(bytes(broken))
