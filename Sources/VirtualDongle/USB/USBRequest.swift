/// A USB request as submitted by a host driver, over USB/IP or usbfs.
public struct USBRequest: Sendable {
    /// Identifier chosen by the submitter.
    public var id: UInt32
    /// Endpoint number, 0...15.
    public var endpoint: UInt8
    public var isIn: Bool
    /// The eight octets of the SETUP stage of a control transfer; otherwise empty.
    public var setup: [UInt8]
    /// Data of an OUT request.
    public var data: [UInt8]
    /// Maximum octets of an IN request.
    public var length: Int
    /// Packet lengths of an isochronous request; otherwise empty.
    public var packetLengths: [Int]

    public init(
        id: UInt32, endpoint: UInt8, isIn: Bool, setup: [UInt8] = [], data: [UInt8] = [], length: Int = 0, packetLengths: [Int] = []
    ) {
        self.id = id
        self.endpoint = endpoint
        self.isIn = isIn
        self.setup = setup
        self.data = data
        self.length = length
        self.packetLengths = packetLengths
    }
}

/// Result of a USB request. Raw values are Linux errno values, negated in USB/IP and usbfs.
public enum USBStatus: Int32, Sendable {
    case success = 0
    /// The endpoint does not exist in the current alternate setting.
    case noEndpoint = 2
    /// Too many requests are pending.
    case noMemory = 12
    /// The endpoint stalled.
    case stall = 32
    case cancelled = 104
    /// The data was not transmitted.
    case protocolError = 71
    /// The device is gone.
    case shutdown = 108
}

/// The completion of a request.
public struct USBCompletion: Sendable, Equatable {
    public var id: UInt32
    public var status: USBStatus
    /// Data of an IN request.
    public var data: [UInt8]
    /// Octets transferred in either direction.
    public var actualLength: Int
    /// Octets transferred in each packet of an isochronous request.
    public var packetLengths: [Int]
    /// Indices of isochronous packets lost on the bus.
    public var lostPackets: Set<Int> = []

    public init(id: UInt32, status: USBStatus, data: [UInt8] = [], actualLength: Int? = nil, packetLengths: [Int] = []) {
        self.id = id
        self.status = status
        self.data = data
        self.actualLength = actualLength ?? data.count
        self.packetLengths = packetLengths
    }

    /// Status of an isochronous packet as the kernel reports it.
    func packetStatus(_ index: Int) -> UInt32 {
        UInt32(bitPattern: lostPackets.contains(index) ? -USBStatus.protocolError.rawValue : USBStatus.success.rawValue)
    }
}

/// Numbers of data and voice packets carried to the controller (out) and from it (in).
public struct USBTraffic: Sendable, Equatable {
    public var dataOut = 0
    public var dataIn = 0
    public var voiceOut = 0
    public var voiceIn = 0
    /// Alternate settings in which voice packets were received.
    public var voiceAlternates: Set<UInt8> = []
    /// Opcode of the last command; nil before the first.
    public var lastCommand: UInt16?

    public init() {}
}
