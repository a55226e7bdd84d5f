"""Where Bumble 0.0.236 reads or writes something else than the Core Specification, with the section that decides.

`skip` leaves the PDU out and says why; `padded` compares with zeros in the part of the data that their length leaves out.
"""

KNOWN = {
    "command/LE_Set_Advertising_Data": {"padded": "Vol 4, Part E, 7.8.7: 31 octets, of which Bumble keeps those that the length says"},
    "command/LE_Set_Scan_Response_Data": {"padded": "Vol 4, Part E, 7.8.8: 31 octets, of which Bumble keeps those that the length says"},
    "returns/Remote_OOB_Extended_Data_Request_Reply": {"skip": "Vol 4, Part E, 7.1.53: Status and BD_ADDR; Bumble has Status alone"},
    "returns/Write_Authenticated_Payload_Timeout": {"skip": "Vol 4, Part E, 7.3.94: Status and Connection_Handle; Bumble has Status alone"},
    "returns/Read_Local_OOB_Extended_Data": {"skip": "Vol 4, Part E, 7.3.95: Status and four values of 16 octets; Bumble has one octet more before them"},
    "returns/LE_Read_ISO_TX_Sync": {"skip": "Vol 4, Part E, 7.8.96: Time_Offset has three octets; Bumble reads four"},
    "event/QoS_Setup_Complete": {"skip": "Vol 4, Part E, 7.7.13: four parameters of the flow follow Service_Type; Bumble ends there"},
    "event/LE_CS_Test_End_Complete": {"skip": "Vol 4, Part E, 7.7.65.46: Status alone; Bumble has Connection_Handle before it"},
    "sdp/SDP_ERROR_RSP": {"skip": "Vol 3, Part B, 4.1: the most significant octet first; Bumble writes the error code the other way round"},
}
