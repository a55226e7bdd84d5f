"""Bumble's codec, seen as lists of plain values.

A PDU becomes the list of its leaves in the order of the wire: integers and octets, without counts and lengths. Both codecs are brought to that form; names do not matter.
"""

import dataclasses
import enum

from bumble import att, avdtp, avrcp, hci, l2cap, rfcomm, sdp, smp
from bumble.core import UUID


def leaves(value):
    """The plain values in one of Bumble's values."""
    if isinstance(value, bool):
        return [int(value)]
    if isinstance(value, enum.Enum):
        return [int(value.value)]
    if isinstance(value, int):
        return [int(value)]
    if isinstance(value, (bytes, bytearray)):
        return [bytes(value)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, hci.HCI_Object) or (dataclasses.is_dataclass(value) and hasattr(value, "fields")):
        return object_leaves(value)
    if dataclasses.is_dataclass(value):
        return [leaf for field in dataclasses.fields(value) for leaf in leaves(getattr(value, field.name))]
    return [bytes(value)]


# Commands that Bumble encodes and decodes without declared fields.
UNDECLARED = {
    hci.HCI_LE_Set_Extended_Scan_Parameters_Command: [
        ("own_address_type",), ("scanning_filter_policy",), ("scanning_phys",), [("scan_types",), ("scan_intervals",), ("scan_windows",)]],
    hci.HCI_LE_Extended_Create_Connection_Command: [
        ("initiator_filter_policy",), ("own_address_type",), ("peer_address_type",), ("peer_address",), ("initiating_phys",),
        [("scan_intervals",), ("scan_windows",), ("connection_interval_mins",), ("connection_interval_maxs",), ("max_latencies",), ("supervision_timeouts",),
         ("min_ce_lengths",), ("max_ce_lengths",)]],
}


def fields_of(thing):
    return UNDECLARED.get(type(thing), thing.fields)


def object_leaves(thing):
    """The plain values of a PDU, arrays row by row."""
    result = []
    for field in fields_of(thing):
        if isinstance(field, list):
            columns = [getattr(thing, name) for name, *_ in field]
            for row in zip(*columns):
                result += leaves(list(row))
        else:
            result += leaves(getattr(thing, field[0]))
    return result


def values(thing):
    """The attributes from which a PDU of this class is created."""
    names = []
    for field in fields_of(thing):
        names += [name for name, *_ in field] if isinstance(field, list) else [field[0]]
    return {name: getattr(thing, name) for name in names}


def commands():
    """The commands of the specification; Bumble's drivers add a few vendor commands."""
    return {code: cls for code, cls in hci.HCI_Command.command_classes.items() if code >> 10 != 0x3F}


def events():
    plain = {(code, None): cls for code, cls in hci.HCI_Event.event_classes.items()}
    return plain | {(hci.HCI_LE_META_EVENT, code): cls for code, cls in hci.HCI_LE_Meta_Event.subevent_classes.items()}


def att_pdus():
    return dict(att.ATT_PDU.pdu_classes)


def smp_commands():
    return {int(code): cls for code, cls in smp.SMP_Command.smp_classes.items()}


def signals():
    return {int(code): cls for code, cls in l2cap.L2CAP_Control_Frame.classes.items()}


def return_class(command):
    return getattr(command, "return_parameters_class", None)


def service_discovery():
    return {int(code): cls for code, cls in sdp.SDP_PDU.subclasses.items()}


def service_discovery_values(cls, generator):
    """Random values for a PDU of service discovery. Bumble keeps the length of a continuation state in front of it."""
    some = lambda most: generator.randbytes(generator.randrange(most + 1))
    numbers = lambda most: [generator.randrange(1 << 16) for _ in range(generator.randrange(1, most))]
    kinds = {
        "error_code": lambda: sdp.ErrorCode(generator.randrange(1, 7)),
        "service_search_pattern": lambda: sdp.DataElement.sequence([sdp.DataElement.uuid(UUID.from_16_bits(value)) for value in numbers(12)]),
        "attribute_id_list": lambda: sdp.DataElement.sequence([sdp.DataElement.unsigned_integer_16(value) for value in numbers(20)]),
        "service_record_handle_list": lambda: [generator.randrange(1 << 32) for _ in range(generator.randrange(9))],
        "service_record_handle": lambda: generator.randrange(1 << 32),
        "attribute_list": lambda: some(300),
        "attribute_lists": lambda: some(300),
        "continuation_state": lambda: (lambda state: bytes([len(state)]) + state)(some(16)),
    }
    return {name: kinds.get(name, lambda: generator.randrange(1, 1 << 16))() for name, *_ in cls.fields}


def stream_signals():
    """The messages of AVDTP by signal identifier and message type."""
    return {(int(signal), int(kind)): cls for signal, kinds in avdtp.Message.subclasses.items() for kind, cls in kinds.items() if signal}


def stream_signal_values(cls, generator):
    """Random values for a message of AVDTP."""
    seid = lambda: generator.randrange(1, 63)
    categories = [category for category in range(1, 9) if category != avdtp.AVDTP_MEDIA_CODEC_SERVICE_CATEGORY]
    capability = lambda: avdtp.ServiceCapabilities(generator.choice(categories), generator.randbytes(generator.randrange(12)))
    endpoint = lambda: avdtp.EndPointInfo(
        seid(), generator.randrange(2), avdtp.MediaType(generator.randrange(3)), avdtp.StreamEndPointType(generator.randrange(2)))
    some = lambda make, least: [make() for _ in range(generator.randrange(least, 6))]
    kinds = {
        "acp_seid": seid,
        "int_seid": seid,
        "acp_seids": lambda: some(seid, 1),
        "endpoints": lambda: some(endpoint, 1),
        "capabilities": lambda: some(capability, 0),
        "service_category": lambda: generator.choice(categories),
        "error_code": lambda: generator.choice(list(avdtp.ErrorCode)),
        "data": lambda: generator.randbytes(generator.randrange(20)),
        "delay": lambda: generator.randrange(1 << 16),
    }
    return {name: kinds[name]() for name, *_ in cls.fields}


def remote_control():
    """The commands and responses of AVRCP that we declare, by layer and PDU ID."""
    ids = (0x10, 0x20, 0x30, 0x31, 0x50)
    commands = {("AVRCPCommands", code): avrcp.Command.subclasses[code] for code in ids}
    return commands | {("AVRCPResponses", code): avrcp.Response.subclasses[avrcp.PduId(code)] for code in ids if code != 0x31}


def remote_control_values(cls, generator):
    """Random values for a command or response of AVRCP. The values of a notification depend on its event, so there is none here."""
    attribute = lambda: avrcp.MediaAttribute(
        generator.choice(list(avrcp.MediaAttributeId)), avrcp.CharacterSetId.UTF_8, "".join(generator.choices("abcde ", k=generator.randrange(9))))
    some = lambda make: [make() for _ in range(generator.randrange(6))]
    event = lambda: generator.choice(list(avrcp.EventId))
    kinds = {
        "capability_id": lambda: avrcp.GetCapabilitiesCommand.CapabilityId.EVENTS_SUPPORTED,
        "capabilities": lambda: [bytes([event()]) for _ in range(generator.randrange(6))],
        "identifier": lambda: generator.randrange(1 << 64),
        "attribute_ids": lambda: some(lambda: generator.choice(list(avrcp.MediaAttributeId))),
        "attributes": lambda: some(attribute),
        "event_id": event,
        "play_status": lambda: generator.choice(list(avrcp.PlayStatus)),
        "volume": lambda: generator.randrange(128),
    }
    lists = [field if isinstance(field, list) else [field] for field in cls.fields]
    names = ["capability_id", "capabilities"] if cls is avrcp.GetCapabilitiesResponse else [name for fields in lists for name, *_ in fields]
    return {name: kinds.get(name, lambda: generator.randrange(1 << 32))() for name in names}
