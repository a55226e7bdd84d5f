"""The declared bits of Supported_Commands and of the event masks agree with Bumble's for every command and event that both know."""

import pytest
from bumble import hci

# Core Vol 4, Part E, 6.27 decides.
KNOWN_BITS = {}


@pytest.fixture(scope="module")
def declared(codec):
    return codec.ask("list")


def bit_number(octets):
    """The only bit that is set."""
    number = int.from_bytes(octets, "little")
    assert number.bit_count() == 1
    return number.bit_length() - 1


def test_supported_commands(declared):
    compared = 0
    for command in (pdu for pdu in declared if pdu["layer"] == "HCICommands"):
        mask = hci.HCI_SUPPORTED_COMMANDS_MASKS.get(command["code"])
        if mask is None or command["name"] in KNOWN_BITS:
            continue
        assert command["supported"] == list(divmod(mask.bit_length() - 1, 8)), command["name"]
        compared += 1
    assert compared >= 300


def test_no_bit_is_used_twice(declared):
    bits = [tuple(pdu["supported"]) for pdu in declared if pdu["supported"]] + [tuple(pdu["mask"]) for pdu in declared if pdu["mask"]]
    assert len(set(bits)) == len(bits)


def test_event_masks(declared):
    masks = {"page1": hci.HCI_Set_Event_Mask_Command, "page2": hci.HCI_Set_Event_Mask_Page_2_Command, "le": hci.HCI_LE_Set_Event_Mask_Command}
    events = [pdu for pdu in declared if pdu["layer"] == "HCIEvents"]
    compared = {name: 0 for name in masks}
    for event in (event for event in events if event["mask"]):
        page, bit = event["mask"]
        code = event["subevent"] if page == "le" else event["code"]
        known = hci.HCI_LE_Meta_Event.subevent_names if page == "le" else hci.HCI_Event.event_names
        if code in known:
            assert bit_number(masks[page].mask([code])) == bit, event["name"]
            compared[page] += 1
    assert compared["page1"] >= 40 and compared["le"] >= 40, compared


def test_what_cannot_be_masked(declared):
    unmasked = {pdu["name"] for pdu in declared if pdu["layer"] == "HCIEvents" and not pdu["mask"]}
    assert unmasked == {"Command_Complete", "Command_Status", "Number_Of_Completed_Packets", "Vendor_Specific"}
