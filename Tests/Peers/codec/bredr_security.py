"""The security functions of BR/EDR once more: SAFER+ with E1, E21, E22 and E3, E0, P-192, and the HMACs of Secure Simple Pairing and secure authentication.

P-192 is that of the cryptography package (OpenSSL), all else is here. The numbers of SAFER+ and E0 are octets in the order of LMP and HCI, octet 0
first, an address least significant octet first; those of Secure Simple Pairing are most significant octet first. Core Vol 2, Part H, 4, 6 and 7.
"""

import hashlib
import hmac

from cryptography.hazmat.primitives.asymmetric import ec

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFF99DEF836146BC9B1B4D22831
PRIME = 2**192 - 2**64 - 1
CURVE_B = 0x64210519E59C80E70FA7E9AB72243049FEB8DEECC146B9B1

# --- SAFER+, 6.2: tables of 45^i mod 257, and a round for each position.

POWERS = [pow(45, i, 257) % 256 for i in range(256)]
LOGARITHMS = [POWERS.index(i) for i in range(256)]
XORED = {0, 3, 4, 7, 8, 11, 12, 15}
SHUFFLE = [8, 11, 12, 15, 2, 1, 6, 5, 10, 9, 14, 13, 0, 7, 4, 3]


def round_keys(key):
    register = list(key)
    parity = 0
    for octet in register:
        parity ^= octet
    register.append(parity)
    keys = [list(key)]
    for p in range(2, 18):
        register = [(octet << 3 | octet >> 5) & 255 for octet in register]
        bias = [pow(45, pow(45, 17 * p + i + 1, 257), 257) % 256 for i in range(16)]
        keys.append([(register[(p - 1 + i) % 17] + bias[i]) & 255 for i in range(16)])
    return keys


def mixed(block, key, xored=True):
    """XORs or adds each octet and the key's, depending on its position."""
    return [a ^ b if (i in XORED) == xored else (a + b) & 255 for i, (a, b) in enumerate(zip(block, key, strict=True))]


def safer(key, block, feeds_back):
    """Ar, or with `feeds_back` A'r, whose third round also uses the input."""
    keys, given = round_keys(key), list(block)
    state = given
    for number in range(8):
        if feeds_back and number == 2:
            state = mixed(state, given)
        state = mixed(state, keys[2 * number])
        state = [POWERS[octet] if i in XORED else LOGARITHMS[octet] for i, octet in enumerate(state)]
        state = mixed(state, keys[2 * number + 1], xored=False)
        for layer in range(4):
            if layer:
                state = [state[i] for i in SHUFFLE]
            state = [value & 255 for i in range(0, 16, 2) for value in (2 * state[i] + state[i + 1], state[i] + state[i + 1])]
    return bytes(mixed(state, keys[16]))


def repeated(octets, length=16):
    return bytes(octets[i % len(octets)] for i in range(length))


def offset_key(key):
    primes = [233, 229, 223, 193, 179, 167, 149, 131]
    added = [True, False] * 4 + [False, True] * 4
    return bytes(
        (octet + prime) & 255 if adds else octet ^ prime
        for octet, prime, adds in zip(key, primes * 2, added, strict=True)
    )


def keyed_hash(key, first, second):
    inner = bytes(a ^ b for a, b in zip(safer(key, first, False), first, strict=True))
    return safer(offset_key(key), bytes((a + b) & 255 for a, b in zip(inner, repeated(second), strict=True)), True)


def e1(key, rand, address):
    """SRES and ACO."""
    return keyed_hash(key, rand, address)


def e21(rand, address):
    return safer(rand[:15] + bytes([rand[15] ^ 6]), repeated(address), True)


def e22(rand, pin, address):
    augmented = (pin + address)[:16] if len(pin) < 16 else pin
    return safer(repeated(augmented), rand[:15] + bytes([rand[15] ^ len(augmented)]), True)


def e3(key, rand, cof):
    return keyed_hash(key, rand, cof)


# --- E0, 4.4 to 4.6: four registers as lists of bits, the newest first.

TAPS = [(25, 20, 12, 8), (31, 24, 16, 12), (33, 28, 24, 4), (39, 36, 28, 4)]
OUTPUTS = [24, 24, 32, 32]


def bits(octets):
    return [octet >> i & 1 for octet in octets for i in range(8)]


class Combiner:
    def __init__(self):
        self.c, self.before = 0, 0

    def step(self, symbols):
        out = (sum(symbols) + self.c) & 1
        s = (sum(symbols) + self.c) >> 1
        t1, t2 = self.c, (self.before & 1) << 1 | (self.before >> 1 ^ self.before & 1)
        self.c, self.before = s ^ t1 ^ t2, self.c
        return out


def fed(registers, entries):
    return [([entry] + register)[:TAPS[i][0]] for i, (register, entry) in enumerate(zip(registers, entries, strict=True))]


def fed_back(registers):
    return [sum(register[tap - 1] for tap in TAPS[i]) & 1 for i, register in enumerate(registers)]


def symbols(registers):
    return [register[OUTPUTS[i] - 1] for i, register in enumerate(registers)]


def e0(key, address, clock, text):
    """Encrypts a text, the least significant bit of an octet first. `clock`: CLK26-1 in four octets, least significant first."""
    low, high = bits(clock[:1])[:4], bits(clock[:1])[4:]
    last = bits(clock[3:])
    inputs = [
        [last[0]] + bits(key[0::4]) + bits(clock[1:2]) + bits(address[2:3]),
        [1, 0, 0] + low + bits(key[1::4]) + bits(address[0:1]) + bits(address[3:4]),
        [last[1]] + bits(key[2::4]) + bits(clock[2:3]) + bits(address[4:5]),
        [1, 1, 1] + high + bits(key[3::4]) + bits(address[1:2]) + bits(address[5:6]),
    ]
    registers = [[0] * taps[0] for taps in TAPS]
    combiner, held, warm = Combiner(), Combiner(), []
    for t in range(240):
        if t == 39:
            combiner = Combiner()
        # The loaded bits are combined with the state before the last symbol.
        held.c, held.before = combiner.c, combiner.before
        warm.append(combiner.step(symbols(registers)))
        back = fed_back(registers)
        given = [stream[t] if t < len(stream) else 0 for stream in inputs]
        registers = fed(registers, [one ^ (back[i] if t >= TAPS[i][0] else 0) for i, one in enumerate(given)])
    z = warm[-128:]
    octet = [z[8 * i : 8 * i + 8] for i in range(16)]
    loaded = [
        octet[0] + octet[4] + octet[8] + octet[12][:1],
        octet[1] + octet[5] + octet[9] + octet[12][1:],
        octet[2] + octet[6] + octet[10] + octet[13] + octet[15][:1],
        octet[3] + octet[7] + octet[11] + octet[14] + octet[15][1:],
    ]
    stream = stream_octets(loaded, held, len(text))
    return bytes(a ^ b for a, b in zip(text, stream, strict=True))


def stream_octets(registers, combiner, length):
    out = bytearray()
    for _ in range(length):
        octet = 0
        for place in range(8):
            octet |= combiner.step(symbols(registers)) << place
            registers = fed(registers, fed_back(registers))
        out.append(octet)
    return bytes(out)


# --- The length of a key, 4.1: polynomials over GF(2) as numbers, by the number of octets.

G1 = [
    0x11D, 0x1003F, 0x10000DB, 0x1000000AF, 0x10000000039, 0x1000000000291, 0x100000000000095, 0x1000000000000001B, 0x1000000000000000609,
    0x100000000000000000215, 0x1000000000000000000013B, 0x10000000000000000000000DD, 0x10000000000000000000000049D,
    0x1000000000000000000000000014F, 0x10000000000000000000000000000E7, 0x100000000000000000000000000000000,
]  # fmt: skip
G2 = [
    0xE275A0ABD218D4CF928B9BBF6CB08F, 0x1E3F63D7659B37F18C258CFF6EFEF, 0x1BEF66C6C3AB1030A5A1919808B, 0x16AB89969DE17467FD3736AD9,
    0x163063291DA50EC55715247, 0x2C9352AA6CC054468311, 0xB3F7FFFCE279F3A073, 0xA1AB815BC7EC8025, 0x2C98011D8B04D, 0x58E24F9A4BB,
    0xCA76024D7, 0x1C9C26B9, 0x26D9E3, 0x4377, 0x89, 0x1,
]  # fmt: skip


def reduced_key(key, length):
    modulus, factor = G1[length[0] - 1], G2[length[0] - 1]
    rest = int.from_bytes(key, "little")
    while rest.bit_length() >= modulus.bit_length():
        rest ^= modulus << rest.bit_length() - modulus.bit_length()
    product = 0
    while factor:
        lowest = factor & -factor
        product ^= rest * lowest
        factor ^= lowest
    return product.to_bytes(16, "little")


# --- Secure Simple Pairing and secure authentication, 7.7.


def code(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def f1(u, v, x, z):
    return code(x, u, v, z)[:16]


def g(u, v, x, y):
    return hashlib.sha256(u + v + x + y).digest()[-4:]


def f2(w, n1, n2, a1, a2):
    return code(w, n1, n2, b"btlk", a1, a2)[:16]


def f3(w, n1, n2, r, io_cap, a1, a2):
    return code(w, n1, n2, r, io_cap, a1, a2)[:16]


def h3(t, a1, a2, aco):
    return code(t, b"btak", a1, a2, aco)[:16]


def h4(t, a1, a2):
    return code(t, b"btdk", a1, a2)[:16]


def h5(s, r1, r2):
    return code(s, r1, r2)[:16]


# --- P-192, 7.6.


def public_key(private):
    numbers = ec.derive_private_key(int.from_bytes(private, "big"), ec.SECP192R1()).public_key().public_numbers()
    return numbers.x.to_bytes(24, "big") + numbers.y.to_bytes(24, "big")


def dhkey(private, x, y):
    point = ec.EllipticCurvePublicNumbers(int.from_bytes(x, "big"), int.from_bytes(y, "big"), ec.SECP192R1()).public_key()
    return ec.derive_private_key(int.from_bytes(private, "big"), ec.SECP192R1()).exchange(ec.ECDH(), point)


def is_on_curve(x, y):
    x, y = int.from_bytes(x, "big"), int.from_bytes(y, "big")
    return x < PRIME and y < PRIME and (y * y - (x**3 - 3 * x + CURVE_B)) % PRIME == 0
