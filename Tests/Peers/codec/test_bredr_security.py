"""Our security functions of BR/EDR and those of bredr_security.py agree on random numbers."""

import random

import bredr_security as reference
import pytest
from test_security_toolbox import ROUNDS, ask, computed


def octets(*lengths):
    return lambda source: source.randbytes(source.choice(lengths))


key = octets(16)
address = octets(6)


def clock(source):
    """CLK26-1, least significant octet first."""
    return source.randrange(1 << 26).to_bytes(4, "little")


def length(source):
    return bytes([source.randrange(1, 17)])


def private(source):
    return source.randrange(1, reference.ORDER).to_bytes(24, "big")


FUNCTIONS = {
    "e1": (reference.e1, [key, key, address]),
    "e21": (reference.e21, [key, address]),
    "e22": (reference.e22, [key, octets(*range(1, 17)), address]),
    "e3": (reference.e3, [key, key, octets(12)]),
    "reduced-key": (reference.reduced_key, [key, length]),
    "e0": (reference.e0, [key, address, clock, octets(0, 1, 29, 341)]),
    "f1": (reference.f1, [octets(24), octets(24), key, octets(1)]),
    "g": (reference.g, [octets(24), octets(24), key, key]),
    "f2": (reference.f2, [octets(24), key, key, address, address]),
    "f3": (reference.f3, [octets(24), key, key, key, octets(3), address, address]),
    "h3": (reference.h3, [key, address, address, octets(8)]),
    "h4": (reference.h4, [key, address, address]),
    "h5": (reference.h5, [key, key, key]),
    "p192-public-key": (reference.public_key, [private]),
}
# The same over numbers of P-256.
WIDE = {
    "f1": [octets(32), octets(32), key, octets(1)],
    "g": [octets(32), octets(32), key, key],
    "f2": [octets(32), key, key, address, address],
    "f3": [octets(32), key, key, key, octets(3), address, address],
}


def compare(codec, name, kinds):
    source = random.Random(name)
    for _ in range(ROUNDS):
        arguments = [kind(source) for kind in kinds]
        assert computed(codec, name, arguments) == FUNCTIONS[name][0](*arguments), [one.hex() for one in arguments]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_agree(codec, name):
    compare(codec, name, FUNCTIONS[name][1])


@pytest.mark.parametrize("name", WIDE)
def test_functions_agree_over_p256(codec, name):
    compare(codec, name, WIDE[name])


def test_every_length_of_a_key(codec):
    for octet_count in range(1, 17):
        arguments = [random.Random(octet_count).randbytes(16), bytes([octet_count])]
        assert computed(codec, "reduced-key", arguments) == reference.reduced_key(*arguments)


def test_shared_secrets_agree(codec):
    source = random.Random(7)
    for _ in range(ROUNDS):
        mine, theirs = private(source), private(source)
        point = reference.public_key(theirs)
        assert reference.is_on_curve(point[:24], point[24:])
        assert computed(codec, "p192-dhkey", [mine, point[:24], point[24:]]) == reference.dhkey(mine, point[:24], point[24:])


def off_curve(source, mine):
    point = bytearray(reference.public_key(private(source)))
    point[source.randrange(48)] ^= 1 << source.randrange(8)
    assert not reference.is_on_curve(point[:24], point[24:])
    return bytes(point)


def negated(source, mine):
    point = reference.public_key(mine)
    return point[:24] + (reference.PRIME - int.from_bytes(point[24:], "big")).to_bytes(24, "big")


WRONG = {
    "off the curve": (off_curve, "pointNotOnCurve"),
    "zero": (lambda source, mine: bytes(48), "pointNotOnCurve"),
    "beyond the field": (lambda source, mine: b"\xff" * 48, "pointNotOnCurve"),
    "the own key": (lambda source, mine: reference.public_key(mine), "ownKey"),
    "the own x": (negated, "ownKey"),
    "the debug key": (
        lambda source, mine: reference.public_key(bytes.fromhex("07915f86918ddc27005df1d6cf0c142b625ed2eff4a518ff")),
        "debugKey",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_keys_are_refused(codec, name):
    make, reason = WRONG[name]
    source = random.Random(name)
    for _ in range(ROUNDS):
        mine = private(source)
        point = make(source, mine)
        assert ask(codec, "p192-dhkey", [mine, point[:24], point[24:]]) == {"refused": reason}
