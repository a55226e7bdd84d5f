"""A small pcapng reader for link type LE_LL_WITH_PHDR (256)."""

import struct
from dataclasses import dataclass

LINK_TYPE = 256
SECTION_HEADER = 0x0A0D0D0A
INTERFACE_DESCRIPTION = 1
ENHANCED_PACKET = 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D


class NotAnAirLog(Exception):
    pass


@dataclass
class Interface:
    link_type: int
    ticks_per_second: int
    offset_s: int


def _options(body, order):
    at = 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, at)
        if code == 0:
            return
        yield code, body[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4


def _interface(body, order):
    link_type = struct.unpack_from(order + "H", body)[0]
    ticks, offset = 1_000_000, 0
    for code, value in _options(body[8:], order):
        if code == 9:
            ticks = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == 14:
            offset = struct.unpack(order + "q", value)[0]
    return Interface(link_type, ticks, offset)


def read(path):
    """Yields (time in microseconds, octets) of every LE packet, in file order."""
    for link_type, ticks, per_second, octets, _ in packets(path):
        if link_type != LINK_TYPE:
            raise NotAnAirLog(f"{path}: link type {link_type}")
        yield ticks * 1_000_000 // per_second, octets


def packets(path):
    """Yields (link type, time in ticks, ticks per second, octets, options by code) of every packet, in file order."""
    with open(path, "rb") as file:
        data = file.read()
    at, order, interfaces = 0, None, []
    while at < len(data):
        if len(data) - at < 12:
            raise NotAnAirLog(f"{path}: cut off at offset {at}")
        if struct.unpack_from("<I", data, at)[0] == SECTION_HEADER:
            order = "<" if struct.unpack_from("<I", data, at + 8)[0] == BYTE_ORDER_MAGIC else ">"
            interfaces = []
        elif order is None:
            raise NotAnAirLog(f"{path}: not a pcapng file")
        kind, length = struct.unpack_from(order + "II", data, at)
        if length < 12 or length % 4 or at + length > len(data):
            raise NotAnAirLog(f"{path}: block of {length} octets at offset {at}")
        if struct.unpack_from(order + "I", data, at + length - 4)[0] != length:
            raise NotAnAirLog(f"{path}: lengths of the block at offset {at} differ")
        body = data[at + 8 : at + length - 4]
        if kind == INTERFACE_DESCRIPTION:
            interfaces.append(_interface(body, order))
        elif kind == ENHANCED_PACKET:
            number, high, low, captured, _ = struct.unpack_from(order + "IIIII", body)
            if number >= len(interfaces):
                raise NotAnAirLog(f"{path}: packet of an interface that was not described")
            interface = interfaces[number]
            ticks = (high << 32 | low) + interface.offset_s * interface.ticks_per_second
            options = dict(_options(body[20 + (captured + 3) // 4 * 4 :], order))
            yield interface.link_type, ticks, interface.ticks_per_second, body[20 : 20 + captured], options
        at += length
