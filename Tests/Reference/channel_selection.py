"""Channel selection algorithms #1 and #2. Core Vol 6, Part B, 4.5.8."""


def used_channels(channel_map):
    return [channel for channel in range(37) if channel_map >> channel & 1]


def select_1(counter, hop, channel_map):
    """The channel of event `counter` of a connection that has hopped in every event since the first."""
    unmapped = (counter + 1) * hop % 37
    if channel_map >> unmapped & 1:
        return unmapped
    used = used_channels(channel_map)
    return used[unmapped % len(used)]


def _permute(value):
    octets = [int(format(octet, "08b")[::-1], 2) for octet in (value & 0xFF, value >> 8)]
    return octets[0] | octets[1] << 8


def select_2(counter, access_address, channel_map):
    identifier = (access_address >> 16 ^ access_address) & 0xFFFF
    value = counter & 0xFFFF ^ identifier
    for _ in range(3):
        value = (_permute(value) * 17 + identifier) & 0xFFFF
    value ^= identifier
    unmapped = value % 37
    if channel_map >> unmapped & 1:
        return unmapped
    used = used_channels(channel_map)
    return used[len(used) * value >> 16]
