"""The baseband of BR/EDR once more: access codes, headers, payloads and their codes as texts of bits in the order of the air, air times, and hops.

Core Vol 2, Part B, 2.6, 6 and 7. Addresses are 28 bits, UAP above LAP.
"""

CHANNELS = 79


def lsb_first(value, count):
    return format(value & (1 << count) - 1, f"0{count}b")[::-1][:count]


OCTETS = [lsb_first(octet, 8) for octet in range(256)]


def octet_bits(octets):
    return "".join(OCTETS[octet] for octet in octets)


def xor(one, other):
    assert len(one) == len(other)
    return format(int(one, 2) ^ int(other, 2), f"0{len(one)}b") if one else ""


def remainder(bits, polynomial):
    """The remainder of bits, the highest coefficient first, divided by a polynomial over GF(2)."""
    rest = list(bits)
    for start in range(len(bits) - len(polynomial) + 1):
        if rest[start] == "1":
            rest[start : start + len(polynomial)] = xor("".join(rest[start : start + len(polynomial)]), polynomial)
    return "".join(rest[len(bits) - len(polynomial) + 1 :])


# --- Access codes, 6.3

PSEUDO_NOISE = lsb_first(0x83848D96BBCC54FC, 64)
BCH = format(0o260534236651, "035b")


def sync_word(lap):
    information = lsb_first(lap, 24)
    information += "110010" if information[23] == "1" else "001101"
    scrambled = xor(information, PSEUDO_NOISE[34:])
    # The last bit of the information is the highest coefficient, so the first parity bit sent is the lowest.
    parity = remainder(scrambled[::-1] + "0" * 34, BCH)[::-1]
    return xor(parity + scrambled, PSEUDO_NOISE)


def access_code(lap):
    word = sync_word(lap)
    return ("1010" if word[0] == "1" else "0101") + word + ("0101" if word[-1] == "1" else "1010")


# --- Checks, 7.1: shift registers, position 0 first


def register_check(bits, initial, taps):
    """The register after shifting bits in; the highest position is sent first."""
    register, highest = int(initial[::-1], 2), len(initial) - 1
    feedback = sum(1 << tap for tap in taps)
    for bit in bits:
        returned = (bit == "1") != register >> highest
        register = register << 1 & (2 << highest) - 1
        if returned:
            register ^= feedback
    return format(register, f"0{highest + 1}b")


def hec(ten_bits, uap):
    return register_check(ten_bits, lsb_first(uap, 8), [0, 1, 2, 5, 7])


def crc(bits, uap):
    return register_check(bits, lsb_first(uap, 8) + "0" * 8, [0, 5, 12])


# --- Whitening, 7.2: x^7 + x^4 + 1


def whitening(clock, count):
    return whitening_from(clock_register(clock), count)


def clock_register(clock):
    """If both ends know the central's clock: CLK6-1 below a one."""
    return lsb_first(clock >> 1, 6) + "1"


def phase_register(phase):
    """In responses to pages and inquiries: X of the hop sequence below two ones."""
    return lsb_first(phase, 5) + "11"


def whitening_from(register, count):
    sequence = []
    register = [int(bit) for bit in register]
    for _ in range(count):
        out = register.pop()
        sequence.append(str(out))
        register.insert(0, out)
        register[4] ^= out
    return "".join(sequence)


# --- Codes, 7.4 and 7.5

HAMMING = "110101"


def thrice(bits):
    return "".join(bit * 3 for bit in bits)


def parity(ten_bits):
    return remainder(ten_bits + "00000", HAMMING)


def two_thirds(bits):
    bits += "0" * (-len(bits) % 10)
    return "".join(bits[at : at + 10] + parity(bits[at : at + 10]) for at in range(0, len(bits), 10))


def corrected(block):
    """The ten bits of a block with at most one error; None otherwise."""
    near = [block] + [block[:at] + "10"[int(block[at])] + block[at + 1 :] for at in range(15)]
    return next((one[:10] for one in near if parity(one[:10]) == one[10:]), None)


# --- Packet types, 6.5 and 6.7: TYPE, slots, octets of payload header, of user data, code, CRC, bits in a symbol

TYPES = {
    "NULL": (0, 1, 0, 0, None, False, 1), "POLL": (1, 1, 0, 0, None, False, 1), "FHS": (2, 1, 0, 18, two_thirds, True, 1),
    "DM1": (3, 1, 1, 17, two_thirds, True, 1), "DH1": (4, 1, 1, 27, None, True, 1), "AUX1": (9, 1, 1, 29, None, False, 1),
    "DM3": (10, 3, 2, 121, two_thirds, True, 1), "DH3": (11, 3, 2, 183, None, True, 1),
    "DM5": (14, 5, 2, 224, two_thirds, True, 1), "DH5": (15, 5, 2, 339, None, True, 1),
    "2-DH1": (4, 1, 2, 54, None, True, 2), "2-DH3": (10, 3, 2, 367, None, True, 2), "2-DH5": (14, 5, 2, 679, None, True, 2),
    "3-DH1": (8, 1, 2, 83, None, True, 3), "3-DH3": (11, 3, 2, 552, None, True, 3), "3-DH5": (15, 5, 2, 1021, None, True, 3),
    "HV1": (5, 1, 0, 10, thrice, False, 1), "HV2": (6, 1, 0, 20, two_thirds, False, 1), "HV3": (7, 1, 0, 30, None, False, 1),
    "EV3": (7, 1, 0, 30, None, True, 1), "EV4": (12, 3, 0, 120, two_thirds, True, 1), "EV5": (13, 3, 0, 180, None, True, 1),
    "2-EV3": (6, 1, 0, 60, None, True, 2), "2-EV5": (12, 3, 0, 360, None, True, 2),
    "3-EV3": (7, 1, 0, 90, None, True, 3), "3-EV5": (13, 3, 0, 540, None, True, 3),
}  # fmt: skip


def frame(name, lt_addr, flow, arqn, seqn, uap, clock, payload):
    """Header and payload in the order of transmission."""
    code, _, _, _, coding, has_crc, _ = TYPES[name]
    header = lsb_first(lt_addr, 3) + lsb_first(code, 4) + f"{flow}{arqn}{seqn}"
    header += hec(header, uap)
    bits = octet_bits(payload)
    if has_crc:
        bits += crc(bits, uap)
    white = whitening(clock, 18 + len(bits))
    bits = xor(bits, white[18:])
    return thrice(xor(header, white[:18])), coding(bits) if coding else bits


def air_time(name, payload_octets):
    """Duration of a packet in microseconds, by its octets of payload header and user data."""
    _, _, _, _, coding, has_crc, per_symbol = TYPES[name]
    bits = "0" * 8 * (payload_octets + 2 * has_crc)
    symbols = -(-len(coding(bits) if coding else bits) // per_symbol)
    return 72 + 54 + symbols + (5 + 11 + 2 if per_symbol > 1 else 0)


# --- Hops, 2.6

BANK = [*range(0, CHANNELS, 2), *range(1, CHANNELS, 2)]
# The stages of PERM5 from the first to the last: two butterflies each, with their control bits.
STAGES = [
    ((13, 1, 2), (12, 0, 3)), ((11, 1, 3), (10, 2, 4)), ((9, 0, 3), (8, 1, 4)), ((7, 3, 4), (6, 0, 2)),
    ((5, 1, 3), (4, 0, 4)), ((3, 3, 4), (2, 1, 2)), ((1, 2, 3), (0, 0, 1)),
]  # fmt: skip


def bits_of(value, places):
    return sum((value >> place & 1) << index for index, place in enumerate(places))


def perm5(value, control):
    wires = [value >> place & 1 for place in range(5)]
    for stage in STAGES:
        for switch, one, other in stage:
            if control >> switch & 1:
                wires[one], wires[other] = wires[other], wires[one]
    return sum(bit << place for place, bit in enumerate(wires))


def kernel(x, y1, address, clock=None, bank=BANK):
    """The channel of the phase X; with a clock, that of a connection."""
    a, b, d = bits_of(address, range(23, 28)), bits_of(address, range(19, 23)), bits_of(address, range(10, 19))
    c, e, f = bits_of(address, (0, 2, 4, 6, 8)), bits_of(address, (1, 3, 5, 7, 9, 11, 13)), 0
    if clock is not None:
        a, c, d = a ^ bits_of(clock, range(21, 26)), c ^ bits_of(clock, range(16, 21)), d ^ bits_of(clock, range(7, 16))
        f = 16 * bits_of(clock, range(7, 28)) % len(bank)
    z = ((x + a) % 32) ^ b
    control = (c ^ (31 * y1)) << 9 | d
    return bank[(perm5(z, control) + e + f + 32 * y1) % len(bank)]


def basic(clock, address):
    return kernel(bits_of(clock, range(2, 7)), clock >> 1 & 1, address, clock)


def adapted(clock, address, channel_map):
    start = clock & ~3 | clock & 1
    channel = basic(start, address)
    if channel_map >> channel & 1:
        return channel
    used = [one for one in BANK if channel_map >> one & 1]
    return kernel(bits_of(clock, range(2, 7)), 0, address, start, used)


def train_phase(clock, train):
    slow = bits_of(clock, range(12, 17))
    return (slow + (24, 8)[train] + (bits_of(clock, (0, 2, 3, 4)) - slow) % 16) % 32


def scan(clock, address):
    return kernel(bits_of(clock, range(12, 17)), 0, address)


def page(clock, address, train):
    return kernel(train_phase(clock, train), clock >> 1 & 1, address)


def peripheral_response(clock, address, frozen, count):
    return kernel((bits_of(frozen, range(12, 17)) + count) % 32, clock >> 1 & 1, address)


def central_response(clock, address, frozen, train, count):
    return kernel((train_phase(frozen, train) + count) % 32, clock >> 1 & 1, address)
