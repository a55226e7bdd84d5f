"""Decodes the bits of a BR/EDR packet on the air to header and payload: FEC 1/3 and 2/3 by blocks, then whitening. Core Vol 2, Part B, 7.2 to 7.5."""

from functools import lru_cache

from baseband import HAMMING, corrected, octet_bits, remainder, thrice, two_thirds, whitening_from, xor

HEADER_BITS, HEADER_OCTETS, PERIOD = 54, 7, 127


@lru_cache
def _sequence(register):
    return whitening_from(register, PERIOD)


def unwhitened(bits, register, skipped=0):
    """After the first bits of the sequence, which the header uses."""
    whole = _sequence(register) * ((skipped + len(bits)) // PERIOD + 1)
    return xor(bits, whole[skipped : skipped + len(bits)])


@lru_cache(1 << 15)
def _block(block):
    """The ten most likely bits, and True if the fifteen form a code word: the generator divides it."""
    is_word = "1" not in remainder(block, HAMMING)
    return block[:10] if is_word else corrected(block) or block[:10], is_word


def _majorities(bits):
    triples = [bits[at : at + 3] for at in range(0, len(bits), 3)]
    return "".join("01"[triple.count("1") > 1] for triple in triples), len(set(triples) - {"000", "111"}) == 0


def _decoded(bits, coding, length):
    """Bits without their code, and the error."""
    if coding is thrice:
        data, is_word = _majorities(bits)
        return data, [] if is_word else ["three bits of FEC 1/3 that are not the same"]
    if coding is not two_thirds:
        return bits, []
    count = len(bits) // 15 * 15
    blocks = [_block(bits[at : at + 15]) for at in range(0, count, 15)]
    faults = [f"block {index} is no word of FEC 2/3" for index, (_, is_word) in enumerate(blocks) if not is_word]
    data = "".join(ten for ten, _ in blocks)
    if "1" in data[length:] + bits[count:] or len(data) - length > 9:
        faults.append("what fills up the last block is not zeros, or more than a block")
    return data[:length], faults


def decode(octets, register, coding, length):
    """Header as 18 bits, payload with CRC as octets with their number, and a list of coding errors."""
    sent = octet_bits(octets[:HEADER_OCTETS])
    header, is_word = _majorities(sent[:HEADER_BITS])
    data, faults = _decoded(octet_bits(octets[HEADER_OCTETS:]), coding, 8 * length)
    if not is_word or "1" in sent[HEADER_BITS:]:
        faults.insert(0, "the header is not each bit three times")
    bits = unwhitened(data, register, 18)
    payload = bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))
    return unwhitened(header, register), payload, faults
