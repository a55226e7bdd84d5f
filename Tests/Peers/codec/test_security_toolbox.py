"""Our security functions and those of security_toolbox.py agree on random numbers."""

import random

import pytest
import security_toolbox as reference

ROUNDS = 40


def address(source):
    return bytes([source.randrange(2)]) + source.randbytes(6)


def flag(source):
    return bytes([source.randrange(2)])


def pdu(source):
    return source.randbytes(7)


def key(source):
    return source.randbytes(16)


def wide(source):
    return source.randbytes(32)


def word(source):
    return source.randbytes(4)


def octet(source):
    return source.randbytes(1)


def text(source):
    return source.randbytes(source.choice([0, 1, 15, 16, 17, 27, 32, 100, 251]))


def prand(source):
    return source.randbytes(3)


def counter(source):
    return bytes([0]) + source.randbytes(4) if source.randrange(2) else bytes([source.randrange(128)]) + source.randbytes(4)


def private(source):
    return source.randrange(1, reference.ORDER).to_bytes(32, "big")


FUNCTIONS = {
    "e": (reference.e, [key, key]),
    "cmac": (reference.cmac, [key, text]),
    "c1": (reference.c1, [key, key, pdu, pdu, address, address]),
    "s1": (reference.s1, [key, key, key]),
    "f4": (reference.f4, [wide, wide, key, octet]),
    "f5": (reference.f5, [wide, key, key, address, address]),
    "f6": (reference.f6, [key, key, key, key, prand, address, address]),
    "g2": (reference.g2, [wide, wide, key, key]),
    "h6": (reference.h6, [key, word]),
    "h7": (reference.h7, [key, key]),
    "h8": (reference.h8, [key, key, word]),
    "ah": (reference.ah, [key, prand]),
    "link-key": (lambda k, h: reference.link_key(k, any(h)), [key, flag]),
    "ltk": (lambda k, h: reference.ltk(k, any(h)), [key, flag]),
    "signature": (reference.signature, [key, text, word]),
    "seal": (reference.seal, [key, lambda s: s.randbytes(8), text, counter, flag, octet]),
    "public-key": (reference.public_key, [private]),
}


def ask(codec, name, arguments):
    return codec.ask("crypto", name, *(one.hex() or "-" for one in arguments))


def computed(codec, name, arguments):
    return bytes.fromhex(ask(codec, name, arguments)["value"])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_agree(codec, name):
    function, kinds = FUNCTIONS[name]
    source = random.Random(name)
    for _ in range(ROUNDS):
        arguments = [kind(source) for kind in kinds]
        assert computed(codec, name, arguments) == function(*arguments), [one.hex() for one in arguments]


def test_what_is_sealed_opens(codec):
    source = random.Random(5)
    for _ in range(ROUNDS):
        arguments = [kind(source) for kind in FUNCTIONS["seal"][1]]
        clear = arguments[2]
        arguments[2] = reference.seal(*arguments)
        assert computed(codec, "open", arguments) == clear


def test_shared_secrets_agree(codec):
    source = random.Random(6)
    for _ in range(ROUNDS):
        mine, theirs = private(source), private(source)
        point = reference.public_key(theirs)
        assert reference.is_on_curve(point[:32], point[32:])
        assert computed(codec, "dhkey", [mine, point[:32], point[32:]]) == reference.dhkey(mine, point[:32], point[32:])


def off_curve(source):
    point = reference.public_key(private(source))
    broken = bytearray(point)
    broken[source.randrange(64)] ^= 1 << source.randrange(8)
    return bytes(broken)


WRONG = {
    "off the curve": (lambda source, mine: off_curve(source), "pointNotOnCurve"),
    "zero": (lambda source, mine: bytes(64), "pointNotOnCurve"),
    "beyond the field": (lambda source, mine: b"\xff" * 64, "pointNotOnCurve"),
    "the own key": (lambda source, mine: reference.public_key(mine), "ownKey"),
    "the own x": (lambda source, mine: negated(reference.public_key(mine)), "ownKey"),
    "the debug key": (lambda source, mine: debug_key(), "debugKey"),
}


def negated(point):
    return point[:32] + (reference.PRIME - int.from_bytes(point[32:], "big")).to_bytes(32, "big")


def debug_key():
    return reference.public_key(bytes.fromhex("3f49f6d4a3c55f3874c9b3e3d2103f504aff607beb40b7995899b8a6cd3c1abd"))


@pytest.mark.parametrize("name", WRONG)
def test_wrong_keys_are_refused(codec, name):
    make, reason = WRONG[name]
    source = random.Random(name)
    assert debug_key()[:32] == reference.DEBUG_X
    for _ in range(ROUNDS):
        mine = private(source)
        point = make(source, mine)
        if name == "off the curve":
            assert not reference.is_on_curve(point[:32], point[32:])
        assert ask(codec, "dhkey", [mine, point[:32], point[32:]]) == {"refused": reason}
