"""A decoder of SBC, written from A2DP's appendix B without our code: frames in, samples out."""

import math

FREQUENCIES = [16_000, 32_000, 44_100, 48_000]
MONO, DUAL, STEREO, JOINT = range(4)
LOUDNESS = {
    4: [[-1, 0, 0, 0], [-2, 0, 0, 1], [-2, 0, 0, 1], [-2, 0, 0, 1]],
    8: [[-2, 0, 0, 0, 0, 0, 0, 1], [-3, 0, 0, 0, 0, 0, 1, 2], [-4, 0, 0, 0, 0, 0, 1, 2], [-4, 0, 0, 0, 0, 0, 1, 2]],
}


def prototype(subbands, table):
    """The complete filter from its first half and its centre."""
    half = table[subbands]
    length = 10 * subbands
    whole = half + [0.0] * (length - len(half))
    for index in range(length // 2 + 1, length):
        mirror = half[length - index]
        whole[index] = -mirror if index % (2 * subbands) == 0 else mirror
    return whole


HALVES = {
    4: [0.0, 5.36548976e-04, 1.49188357e-03, 2.73370904e-03, 3.83720193e-03, 3.89205149e-03, 1.86581691e-03, -3.06012286e-03, 1.09137620e-02,
        2.04385087e-02, 2.88757392e-02, 3.21939290e-02, 2.58767811e-02, 6.13245186e-03, -2.88217274e-02, -7.76463494e-02, 1.35593274e-01,
        1.94987841e-01, 2.46636662e-01, 2.81828203e-01, 2.94315332e-01],
    8: [0.0, 1.56575398e-04, 3.43256425e-04, 5.54620202e-04, 8.23919506e-04, 1.13992507e-03, 1.47640169e-03, 1.78371725e-03, 2.01182542e-03,
        2.10371989e-03, 1.99454554e-03, 1.61656283e-03, 9.02154502e-04, -1.78805361e-04, -1.64973098e-03, -3.49717454e-03, 5.65949473e-03,
        8.02941163e-03, 1.04584443e-02, 1.27472335e-02, 1.46525263e-02, 1.59045603e-02, 1.62208471e-02, 1.53184106e-02, 1.29371806e-02,
        8.85757540e-03, 2.92408442e-03, -4.91578024e-03, -1.46404076e-02, -2.61098752e-02, -3.90751381e-02, -5.31873032e-02, 6.79989431e-02,
        8.29847578e-02, 9.75753918e-02, 1.11196689e-01, 1.23264548e-01, 1.33264415e-01, 1.40753505e-01, 1.45389847e-01, 1.46955068e-01],
}


class Bits:
    def __init__(self, octets):
        self.number, self.left = int.from_bytes(octets, "big"), 8 * len(octets)

    def take(self, count):
        self.left -= count
        assert self.left >= 0, "the frame is too short"
        return self.number >> self.left & (1 << count) - 1


def crc(bits):
    """x8 + x4 + x3 + x2 + 1 over a list of bits, initial value 0x0F."""
    value = 0x0F
    for bit in bits:
        carry = value >> 7 ^ bit
        value = value << 1 & 0xFF
        if carry:
            value ^= 0x1D
    return value


def spread(number, count):
    return [number >> shift & 1 for shift in reversed(range(count))]


def allocate(needs, pool):
    """The bits for a list of needs, in the order in which the remaining bits are assigned."""
    count, slices, level = 0, 0, max(needs) + 1
    while True:
        level -= 1
        count += slices
        slices = sum(2 if need == level + 1 else 1 if level + 1 < need < level + 16 else 0 for need in needs)
        if count + slices >= pool:
            break
    if count + slices == pool:
        count += slices
        level -= 1
    bits = [0 if need < level + 2 else min(need - level, 16) for need in needs]
    for index, need in enumerate(needs):
        if count >= pool:
            break
        if 2 <= bits[index] < 16:
            bits[index] += 1
            count += 1
        elif need == level + 1 and pool > count + 1:
            bits[index] = 2
            count += 2
    for index in range(len(needs)):
        if count >= pool:
            break
        if bits[index] < 16:
            bits[index] += 1
            count += 1
    return bits


class Decoder:
    def __init__(self):
        self.memory = {}

    def decode(self, frame):
        """Returns samples by channel; raises an error for an invalid frame."""
        bits = Bits(frame)
        assert bits.take(8) == 0x9C, "no sync word"
        frequency, blocks, mode, snr, wide = bits.take(2), 4 * (bits.take(2) + 1), bits.take(2), bits.take(1), bits.take(1)
        pool, check = bits.take(8), bits.take(8)
        subbands, channels = (8 if wide else 4), (1 if mode == MONO else 2)
        covered = spread(frame[1], 8) + spread(frame[2], 8)
        joined = [bits.take(1) for _ in range(subbands)] if mode == JOINT else [0] * subbands
        factors = [[bits.take(4) for _ in range(subbands)] for _ in range(channels)]
        covered += (joined if mode == JOINT else []) + [bit for row in factors for factor in row for bit in spread(factor, 4)]
        assert crc(covered) == check, "wrong check"
        assert not (mode == JOINT and joined[-1]), "the last subband is never joined"
        allocation = self.allocation(factors, subbands, frequency, snr, mode, pool)
        samples = [[0.0] * subbands for _ in range(channels)]
        output = [[] for _ in range(channels)]
        for _ in range(blocks):
            for channel in range(channels):
                for subband in range(subbands):
                    width = allocation[channel][subband]
                    levels = (1 << width) - 1
                    code = bits.take(width)
                    scale = 2.0 ** (factors[channel][subband] + 1)
                    samples[channel][subband] = scale * ((2 * code + 1) / levels - 1) if width else 0.0
            if mode == JOINT:
                for subband in range(subbands):
                    if joined[subband]:
                        one, other = samples[0][subband], samples[1][subband]
                        samples[0][subband], samples[1][subband] = one + other, one - other
            for channel in range(channels):
                output[channel] += self.synthesise(channel, samples[channel], subbands)
        assert bits.left < 8 and bits.take(bits.left) == 0, "something behind the samples"
        return output

    @staticmethod
    def allocation(factors, subbands, frequency, snr, mode, pool):
        def need(factor, subband):
            if snr:
                return factor
            if factor == 0:
                return -5
            loudness = factor - LOUDNESS[subbands][frequency][subband]
            return loudness // 2 if loudness > 0 else loudness

        needs = [[need(factor, subband) for subband, factor in enumerate(row)] for row in factors]
        if mode in (MONO, DUAL):
            return [allocate(row, pool) for row in needs]
        both = allocate([needs[channel][subband] for subband in range(subbands) for channel in range(2)], pool)
        return [both[0::2], both[1::2]]

    def synthesise(self, channel, samples, subbands):
        """A2DP's synthesis: V shifted by twice the subbands, U extracted, windowed and summed."""
        memory = self.memory.setdefault(channel, [0.0] * (20 * subbands))
        fresh = [
            sum(samples[k] * math.cos((i + subbands / 2) * (2 * k + 1) * math.pi / (2 * subbands)) for k in range(subbands))
            for i in range(2 * subbands)
        ]
        memory[:] = fresh + memory[: 18 * subbands]
        window = prototype(subbands, HALVES)
        wide = []
        for i in range(5):
            wide += memory[i * 4 * subbands : i * 4 * subbands + subbands]
            wide += memory[i * 4 * subbands + 3 * subbands : i * 4 * subbands + 4 * subbands]
        weighted = [value * weight * -subbands for value, weight in zip(wide, window)]
        return [sum(weighted[j + subbands * i] for i in range(10)) for j in range(subbands)]
