/// HCI commands. Core Vol 4, Part E, 7.1 to 7.8.
public enum HCICommands {}
/// HCI events, including LE subevents. Core Vol 4, Part E, 7.7.
public enum HCIEvents {}
/// HCI data packet headers. Core Vol 4, Part E, 5.4.2 to 5.4.5.
public enum HCIData {}
/// Link layer control PDUs. Core Vol 6, Part B, 2.4.2.
public enum LLControl {}
/// PDUs of the advertising physical channels with their header, and the header of data PDUs. Core Vol 6, Part B, 2.3 and 2.4.
public enum Advertising {}
/// L2CAP signalling commands. Core Vol 3, Part A, 4.
public enum L2CAPSignaling {}
/// Attribute protocol PDUs. Core Vol 3, Part F, 3.4.
public enum ATT {}
/// Security manager commands. Core Vol 3, Part H, 3.5 and 3.6.
public enum SMP {}
/// Link manager PDUs. Core Vol 2, Part C, 5.1.
public enum LMP {}
/// Service discovery PDUs. Core Vol 3, Part B, 4.
public enum SDP {}
/// Commands and responses of the RFCOMM multiplexer. TS 07.10, 5.4.6.3.
public enum RFCOMM {}
/// AVDTP signals. AVDTP 1.3, 8.
public enum AVDTP {}
/// AVCTP messages. AVCTP 1.4, 6.
public enum AVCTP {}
/// Commands of an AVRCP controller. AVRCP 1.6, 6.
public enum AVRCPCommands {}
/// Responses of an AVRCP target. AVRCP 1.6, 6.
public enum AVRCPResponses {}
/// Structures that occur inside PDUs.
public enum Structures {}
