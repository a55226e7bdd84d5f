"""The security functions of LE once more, from the specification's formulas: AES and P-256 are those of the cryptography package (OpenSSL), all else is here.

Numbers are octets, most significant first; an address is its type and six octets. Core Vol 3, Part H, 2.2; Vol 6, Part E, 2.
"""

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

DEBUG_X = bytes.fromhex("20b003d2f297be2c5e2c83a7e9f9a5b9eff49111acf4fddbcc0301480e359de6")
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
PRIME = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
CURVE_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B


def e(key, block):
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update(block) + encryptor.finalize()


def xor(one, other):
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def doubled(block):
    """Multiplication by x in GF(2^128). RFC 4493, 2.3."""
    number = int.from_bytes(block, "big") << 1
    return ((number & (1 << 128) - 1) ^ (0x87 if number >> 128 else 0)).to_bytes(16, "big")


def cmac(key, message):
    """RFC 4493, 2.4."""
    last_key = doubled(e(key, bytes(16)))
    blocks = [message[i : i + 16] for i in range(0, len(message), 16)] or [b""]
    if len(blocks[-1]) < 16:
        last_key = doubled(last_key)
        blocks[-1] = (blocks[-1] + b"\x80").ljust(16, b"\0")
    state = bytes(16)
    for block in blocks[:-1]:
        state = e(key, xor(state, block))
    return e(key, xor(xor(state, blocks[-1]), last_key))


def c1(k, r, request, response, initiator, responder):
    p1 = response[::-1] + request[::-1] + responder[:1] + initiator[:1]
    p2 = bytes(4) + initiator[1:] + responder[1:]
    return e(k, xor(e(k, xor(r, p1)), p2))


def s1(k, r1, r2):
    return e(k, r1[8:] + r2[8:])


def f4(u, v, x, z):
    return cmac(x, u + v + z)


def f5(w, n1, n2, a1, a2):
    t = cmac(bytes.fromhex("6C888391AAF5A53860370BDB5A6083BE"), w)
    return b"".join(cmac(t, bytes([counter]) + b"btle" + n1 + n2 + a1 + a2 + b"\x01\x00") for counter in (0, 1))


def f6(w, n1, n2, r, io_cap, a1, a2):
    return cmac(w, n1 + n2 + r + io_cap + a1 + a2)


def g2(u, v, x, y):
    return cmac(x, u + v + y)[12:]


def h6(w, key_id):
    return cmac(w, key_id)


def h7(salt, w):
    return cmac(salt, w)


def h8(k, s, key_id):
    return cmac(cmac(s, k), key_id)


def ah(irk, prand):
    return b"\0" + e(irk, bytes(13) + prand[-3:])[13:]


def link_key(ltk, uses_h7):
    return h6(h7(bytes(12) + b"tmp1", ltk) if uses_h7 else h6(ltk, b"tmp1"), b"lebr")


def ltk(key, uses_h7):
    return h6(h7(bytes(12) + b"tmp2", key) if uses_h7 else h6(key, b"tmp2"), b"brle")


def signature(csrk, message, counter):
    """The twelve octets in the order of transmission. Core Vol 3, Part H, 2.4.5."""
    counter = counter[::-1]
    return counter + cmac(csrk, (message + counter)[::-1])[:8][::-1]


def seal(key, iv, text, counter, from_central, header):
    """CCM with M = 4, L = 2. RFC 3610; Core Vol 6, Part E, 2."""
    nonce = counter[::-1][:4] + bytes([counter[-5] & 0x7F | (0x80 if any(from_central) else 0)]) + iv
    b = b"\x49" + nonce + len(text).to_bytes(2, "big") + b"\0\x01" + bytes([header[0] & 0xE3]) + bytes(13) + text
    state = bytes(16)
    for start in range(0, len(b), 16):
        state = e(key, xor(state, b[start : start + 16].ljust(16, b"\0")))
    stream = b"".join(e(key, b"\x01" + nonce + index.to_bytes(2, "big")) for index in range(1 + (len(text) + 15) // 16))
    return xor(text, stream[16 : 16 + len(text)]) + xor(state[:4], stream[:4])


def public_key(private):
    numbers = ec.derive_private_key(int.from_bytes(private, "big"), ec.SECP256R1()).public_key().public_numbers()
    return numbers.x.to_bytes(32, "big") + numbers.y.to_bytes(32, "big")


def dhkey(private, x, y):
    point = ec.EllipticCurvePublicNumbers(int.from_bytes(x, "big"), int.from_bytes(y, "big"), ec.SECP256R1()).public_key()
    return ec.derive_private_key(int.from_bytes(private, "big"), ec.SECP256R1()).exchange(ec.ECDH(), point)


def is_on_curve(x, y):
    x, y = int.from_bytes(x, "big"), int.from_bytes(y, "big")
    return x < PRIME and y < PRIME and (y * y - (x**3 - 3 * x + CURVE_B)) % PRIME == 0
