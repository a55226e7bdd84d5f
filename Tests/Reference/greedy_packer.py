"""How much payload a saturated LE connection can carry, counted packet by packet.

An independent model for the throughput tests: plain arithmetic on air times, no knowledge of the programs it judges.

Rules of the model (Core Vol 6, Part A 2 and 3; Part B 2.1, 2.2, 4.5.1, 4.5.6 and 4.5.10):

* One side sends notifications (or write commands) without end; the other answers every packet with an empty one.
* Or it sends SDUs of an L2CAP channel (Part A of Vol 3, 3.4.3): two octets of length and the SDU are cut into K-frames of at most MPS
  octets. Several channels take turns K-frame by K-frame and begin together. Credits are never short and take no air.
* Or it sends write requests on Enhanced ATT bearers, which the other answers (`pack_requests`).
* An ATT packet or K-frame is cut into link layer fragments of the effective number of octets, also bounded by the effective time.
* An exchange is data, T_IFS, empty packet, T_IFS. Exchanges follow one another from the anchor point on; the first always
  happens, a further one starts only if it ends by the next anchor point.
* Fragments that did not fit go first in the next event.
* The figure is an average over whole events in the steady state: the model runs until the position within the packet train at the
  start of an event repeats, and averages over that cycle exactly.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from fractions import Fraction

PHYS = ("1m", "2m", "coded-s2", "coded-s8")
INTERVALS_MS = (7.5, 15, 30, 50, 100)
DATA_LENGTHS = (27, 251)
MTUS = (23, 247, 517)

T_IFS_US = 150
L2CAP_HEADER = 4
ATT_HEADER = 3
ATT_RESPONSE = 1
ACL_OCTETS = 251
"""Octets in a packet of the host for the simulated controllers (Vol 4, Part E, 5.4.2)."""
LONGEST_VALUE = 512
"""Octets of an attribute value at most, whatever the MTU (Vol 3, Part F, 3.2.9)."""
SDU_LENGTH = 2
MIC = 4
DEFAULT_OCTETS = 27
DEFAULT_CODED_TIME_US = 2704
LARGEST_TIME_US = {"1m": 2120, "2m": 2120, "coded-s2": 17040, "coded-s8": 17040}


def air_time_us(phy, payload, mic=0):
    """Time on air of a packet whose PDU has a 2-octet header, `payload` octets and a MIC of `mic`."""
    pdu = 2 + payload + mic
    if phy == "1m":
        return (1 + 4 + pdu + 3) * 8
    if phy == "2m":
        return (2 + 4 + pdu + 3) * 4
    per_bit = {"coded-s2": 2, "coded-s8": 8}[phy]
    first_block = 80 + 32 * 8 + 2 * 8 + 3 * 8
    second_block = (pdu * 8 + 24 + 3) * per_bit
    return first_block + second_block


def longest_payload(phy, time_us, mic=0):
    """The largest number of octets whose packet takes at most `time_us`."""
    payload = 0
    while payload < 251 and air_time_us(phy, payload + 1, mic) <= time_us:
        payload += 1
    return payload


def effective_time_us(phy, interval_us, asked_us, receive_octets=DEFAULT_OCTETS):
    """connEffectiveMaxTxTime of the sender if the other side's packets have up to `receive_octets` (4.5.10)."""
    if not phy.startswith("coded"):
        return asked_us
    receive_time = max(DEFAULT_CODED_TIME_US, receive_octets * 64 + 976)
    required = 2 * T_IFS_US + min(receive_time, receive_octets * 64 + 976)
    return max(DEFAULT_CODED_TIME_US, min(asked_us, interval_us - required))


@dataclass
class Row:
    phy: str
    data_length: int
    mtu: int
    interval_ms: float
    encrypted: bool
    octets: int
    packets_per_event: float
    exchanges_per_event: float
    goodput_kbps: float
    back_to_back_kbps: float
    cycle_events: int


def att_packet(mtu):
    """Octets of the longest notification or write."""
    return min(mtu, ATT_HEADER + LONGEST_VALUE)


def fragments(payload, octets):
    """Link layer payloads of an L2CAP PDU, which the host cuts into packets of the controller's buffers first."""
    whole = payload + L2CAP_HEADER
    pieces = [min(ACL_OCTETS, whole - at) for at in range(0, whole, ACL_OCTETS)]
    return [min(octets, piece - at) for piece in pieces for at in range(0, piece, octets)]


def pack_both(phy, data_length, mtu, interval_ms):
    """One row of each direction if both have data: the pairing of fragments is random, and this is the best one."""
    count = len(fragments(att_packet(mtu), pack(phy, data_length, mtu, interval_ms, meeting=0).octets))
    return max((pack(phy, data_length, mtu, interval_ms, meeting=at) for at in range(count)), key=lambda row: row.goodput_kbps)


def pack(phy, data_length, mtu, interval_ms, encrypted=False, ifs_us=T_IFS_US, crc_octets=3, extra_exchanges=0, meeting=None):
    """One row of the table. The last but one are faults that a comparison must notice; `meeting` is the fragment that the other direction's first one
    meets where both have data."""
    both = meeting is not None
    mic = MIC if encrypted else 0
    interval_us = round(interval_ms * 1000)
    time_us = effective_time_us(phy, interval_us, LARGEST_TIME_US[phy], data_length if both else DEFAULT_OCTETS)
    octets = min(data_length, longest_payload(phy, time_us, mic))
    train = fragments(att_packet(mtu), octets)
    per_octet = {"1m": 8, "2m": 4, "coded-s2": 16, "coded-s8": 64}[phy]
    left_out = (3 - crc_octets) * per_octet
    empty_us = air_time_us(phy, 0) - left_out
    answers = train[meeting:] + train[:meeting] if both else [0] * len(train)
    answer_us = [air_time_us(phy, n, mic) - left_out if n else empty_us for n in answers]
    exchange_us = [air_time_us(phy, n, mic) - left_out + ifs_us + answer + ifs_us for n, answer in zip(train, answer_us)]

    delivered, exchanges, cycle = steady_state(exchange_us, interval_us, extra_exchanges)
    payload_bits = (att_packet(mtu) - ATT_HEADER) * 8
    rate = Fraction(delivered * payload_bits * 1000, cycle * interval_us)
    limit = Fraction(payload_bits * 1000, sum(exchange_us))
    return Row(
        phy, data_length, mtu, interval_ms, encrypted, octets,
        round(delivered / cycle, 6), round(exchanges / cycle, 6),
        round(float(rate), 3), round(float(limit), 3), cycle,
    )


def steady_state(exchange_us, interval_us, extra_exchanges=0):
    """Complete trains, exchanges and events of the cycle into which the events fall."""
    seen = {}
    totals = [(0, 0)]
    position = events = trains = exchanges = 0
    while position not in seen:
        seen[position] = events
        clock = 0
        in_event = 0
        overtime = extra_exchanges
        while True:
            fits = clock + exchange_us[position] <= interval_us
            if not fits and in_event > 0:
                if overtime == 0:
                    break
                overtime -= 1
            clock += exchange_us[position]
            in_event += 1
            position += 1
            if position == len(exchange_us):
                position = 0
                trains += 1
        exchanges += in_event
        events += 1
        totals.append((trains, exchanges))
    before = totals[seen[position]]
    return trains - before[0], exchanges - before[1], events - seen[position]


def k_frames(sdu, mps):
    """Payloads of the K-frames of one SDU."""
    whole = SDU_LENGTH + sdu
    return [min(mps, whole - at) for at in range(0, whole, mps)]


def pack_channels(phy, data_length, mps, sdu, interval_ms, channels=1, encrypted=False, meeting=None):
    """One row of SDUs on channels. `meeting` is the fragment that the other direction's first one meets where both have data."""
    both = meeting is not None
    mic = MIC if encrypted else 0
    interval_us = round(interval_ms * 1000)
    time_us = effective_time_us(phy, interval_us, LARGEST_TIME_US[phy], data_length if both else DEFAULT_OCTETS)
    octets = min(data_length, longest_payload(phy, time_us, mic))
    train = []
    for payload in k_frames(sdu, mps):
        for _ in range(channels):
            train += fragments(payload, octets)
    answers = train[meeting:] + train[:meeting] if both else [0] * len(train)
    exchange_us = [
        air_time_us(phy, n, mic) + T_IFS_US + air_time_us(phy, answer, mic if answer else 0) + T_IFS_US for n, answer in zip(train, answers)
    ]
    delivered, exchanges, cycle = steady_state(exchange_us, interval_us)
    bits = channels * sdu * 8
    return Row(
        phy, data_length, sdu, interval_ms, encrypted, octets,
        round(delivered * channels / cycle, 6), round(exchanges / cycle, 6),
        round(float(Fraction(delivered * bits * 1000, cycle * interval_us)), 3), round(float(Fraction(bits * 1000, sum(exchange_us))), 3), cycle,
    )


def pack_requests(phy, data_length, mps, mtu, interval_ms, bearers, encrypted=True):
    """Round trips of write requests of full length on Enhanced ATT bearers, and their goodput: (per event, kbit/s).

    Each bearer has one request on its way (Vol 3, Part F, 3.3.2): the next follows the response. Hosts answer at once, but no host answers
    within T_IFS: the packet that follows a received one, and its MD bit, were settled before. An event ends when the last packets of both
    sides had MD = 0 (Part B, 4.5.6), or when no exchange fits any more.
    """
    mic = MIC if encrypted else 0
    interval_us = round(interval_ms * 1000)
    time_us = effective_time_us(phy, interval_us, LARGEST_TIME_US[phy])
    octets = min(data_length, longest_payload(phy, time_us, mic))
    frames = k_frames(att_packet(mtu), mps)
    assert len(frames) == 1, "with several K-frames the order of the bearers' frames is unknown"
    train = [(n, False) for n in fragments(frames[0], octets)]
    train[-1] = (train[-1][0], True)
    answer = L2CAP_HEADER + SDU_LENGTH + ATT_RESPONSE

    requests, answers = train * bearers, 0
    seen, totals = {}, [0]
    while (state := (tuple(requests), answers)) not in seen:
        seen[state] = len(totals) - 1
        clock = trips = 0
        late = []
        while True:
            request = requests[0] if requests else (0, False)
            reply = answer if answers else 0
            exchange_us = air_time_us(phy, request[0], mic if request[0] else 0) + air_time_us(phy, reply, mic if reply else 0) + 2 * T_IFS_US
            if clock and clock + exchange_us > interval_us:
                break
            clock += exchange_us
            requests = requests[1:]
            more = bool(requests)
            # What the response before has caused comes after the packet that followed it.
            requests, late = requests + late, []
            answers -= 1 if reply else 0
            more = more or answers > 0
            answers += request[1]
            if reply:
                trips += 1
                late = train
            if not more:
                break
        requests += late
        totals.append(totals[-1] + trips)
    events = len(totals) - 1 - seen[state]
    rate = Fraction(totals[-1] - totals[seen[state]], events)
    return float(rate), float(rate * (att_packet(mtu) - ATT_HEADER) * 8000 / interval_us)


def table(phys=PHYS, data_lengths=DATA_LENGTHS, mtus=MTUS, intervals_ms=INTERVALS_MS, encrypted=False):
    return [
        pack(phy, length, mtu, interval, encrypted)
        for phy in phys
        for length in data_lengths
        for mtu in mtus
        for interval in intervals_ms
    ]


def main():
    def numbers(kind):
        return lambda text: tuple(kind(part) for part in text.split(","))

    parser = argparse.ArgumentParser(description="Print the packer's table as JSON.")
    parser.add_argument("--phy", type=numbers(str), default=PHYS)
    parser.add_argument("--data-length", type=numbers(int), default=DATA_LENGTHS)
    parser.add_argument("--mtu", type=numbers(int), default=MTUS)
    parser.add_argument("--interval", type=numbers(float), default=INTERVALS_MS)
    parser.add_argument("--encrypted", action="store_true")
    chosen = parser.parse_args()
    rows = table(chosen.phy, chosen.data_length, chosen.mtu, chosen.interval, chosen.encrypted)
    print(json.dumps({"rows": [asdict(row) for row in rows]}, indent=1))


if __name__ == "__main__":
    main()
