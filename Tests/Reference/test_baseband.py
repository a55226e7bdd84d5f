"""Our baseband and baseband.py agree on random numbers; both are verified with the specification's sample data."""

import random

import baseband as reference
import pytest

ROUNDS = 200


def number(bits):
    return int(bits[::-1], 2) if bits else 0


def ask(codec, *words):
    return codec.ask("baseband", *(f"{word:x}" if isinstance(word, int) else word for word in words))


def value(codec, *words):
    return int(ask(codec, *words)["value"], 16)


SAMPLES = [
    (reference.access_code(0x9E8B33), format(0x5475C58CC73345E72A, "072b")),
    (reference.access_code(0xFFFFFF), format(0xAE758B5227FFFFFF2A, "072b")),
    (reference.access_code(0x616CEC), format(0x5586A491F0DCDA18D5, "072b")),
    (number(reference.hec(reference.lsb_first(0x123, 10), 0x47)), 0x06),
    (number(reference.hec(reference.lsb_first(0x11F, 10), 0x00)), 0xF5),
    (reference.crc(reference.octet_bits(bytes.fromhex("4e010203040506070809")), 0x47), reference.octet_bits(b"\x6d\xd2")),
    (reference.whitening(0x2A << 1, 32), "11001100000110110101110100011001"),
    (reference.parity(reference.lsb_first(0x100, 10)), "11111"),
    ([reference.basic(clock, 0x2A96EF25) for clock in range(0x10, 0x20, 2)], [55, 26, 19, 20, 23, 22, 53, 40]),
    ([reference.adapted(clock, 0x6587CBA9, 0x55555555555555555555) for clock in range(0x3F0, 0x400, 4)], [76, 34, 38, 66]),
    ([reference.page(clock, 0x2A96EF25, 1) for clock in range(0x1000, 0x1006)], [41, 21, 10, 36, 25, 27]),
    ([reference.scan(slow << 12, 0x6587CBA9) for slow in range(5)], [16, 65, 67, 18, 20]),
    ([reference.peripheral_response(clock, 0, 0x10, clock - 0x10 >> 2) for clock in range(0x12, 0x1C, 2)], [64, 2, 68, 4, 17]),
    ([reference.central_response(clock, 0, 0x12, 0, clock - 0x10 >> 2) for clock in range(0x14, 0x1C, 2)], [2, 68, 4, 17]),
]


@pytest.mark.parametrize("sample", range(len(SAMPLES)))
def test_sample_data(sample):
    computed, printed = SAMPLES[sample]
    assert computed == printed


def test_access_codes(codec):
    source = random.Random(1)
    for lap in [0, 0xFFFFFF, 0x9E8B33, 0x800000, 0x7FFFFF] + [source.randrange(1 << 24) for _ in range(ROUNDS)]:
        assert value(codec, "access-code", lap) == number(reference.access_code(lap)), f"{lap:06x}"


@pytest.mark.parametrize("name", reference.TYPES)
def test_types_and_air_times(codec, name):
    code, slots, header, capacity, *_ = reference.TYPES[name]
    facts = {"code": code, "slots": slots, "header": header, "capacity": capacity}
    assert {key: int(text, 16) for key, text in ask(codec, "type", name).items()} == facts
    for octets in range(header, header + capacity + 1, max(1, capacity // 40)):
        assert value(codec, "air-time", name, octets) == reference.air_time(name, octets), octets


@pytest.mark.parametrize("name", reference.TYPES)
def test_frames(codec, name):
    source = random.Random(name)
    _, _, header, capacity, *_ = reference.TYPES[name]
    for _ in range(ROUNDS // 10):
        payload = source.randbytes(source.randint(header, header + capacity))
        fields = [source.randrange(8), *(source.randrange(2) for _ in range(3)), source.randrange(256), source.randrange(1 << 28)]
        ours = ask(codec, "frame", name, *fields, payload.hex() or "-")
        head, bits = reference.frame(name, *fields, payload)
        assert int(ours["header"], 16) == number(head)
        assert reference.octet_bits(bytes.fromhex(ours["payload"]))[: ours["bits"]] == bits


def test_errors_are_corrected(codec):
    source = random.Random(3)
    for _ in range(ROUNDS):
        data = reference.lsb_first(source.randrange(1 << 10), 10)
        block = data + reference.parity(data)
        assert value(codec, "parity", number(data)) == number(block[10:])
        for wrong in source.sample(range(15), source.randrange(4)):
            block = block[:wrong] + "10"[int(block[wrong])] + block[wrong + 1 :]
        right = reference.corrected(block)
        assert value(codec, "corrected", number(block)) == (0xFFFF if right is None else number(right))


def channel_map(source):
    return sum(1 << channel for channel in source.sample(range(79), source.randint(20, 79)))


HOPS = {
    "basic": (reference.basic, lambda source: []),
    "adapted": (reference.adapted, lambda source: [channel_map(source)]),
    "scan": (reference.scan, lambda source: []),
    "page": (reference.page, lambda source: [source.randrange(2)]),
    "peripheral-response": (reference.peripheral_response, lambda source: [source.randrange(1 << 28), source.randrange(64)]),
    "central-response": (
        reference.central_response,
        lambda source: [source.randrange(1 << 28), source.randrange(2), source.randrange(64)],
    ),
}


@pytest.mark.parametrize("kind", HOPS)
def test_hops(codec, kind):
    function, more = HOPS[kind]
    source = random.Random(kind)
    for _ in range(5 * ROUNDS):
        words = [source.randrange(1 << 28), source.randrange(1 << 28), *more(source)]
        assert value(codec, "hop", kind, *words) == function(*words), words
