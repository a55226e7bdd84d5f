/// One USB request as a host's driver submits it, whatever carries it (USB/IP, a usbfs).
public struct USBRequest: Sendable {
    /// The submitter's name for it; answered and cancelled by it.
    public var id: UInt32
    /// The endpoint number, 0...15.
    public var endpoint: UInt8
    public var isIn: Bool
    /// The eight octets of a control transfer's SETUP stage, else empty.
    public var setup: [UInt8]
    /// What an OUT request carries.
    public var data: [UInt8]
    /// How many octets an IN request can take.
    public var length: Int
    /// The lengths of an isochronous request's packets; empty for the other kinds.
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

/// How a USB request ended; the raw values are Linux's errno numbers, negated on the wire of USB/IP and usbfs.
public enum USBStatus: Int32, Sendable {
    case success = 0
    /// No such endpoint in the present alternate setting.
    case noEndpoint = 2
    /// More requests are pending than the device holds.
    case noMemory = 12
    /// The endpoint answered with a stall.
    case stall = 32
    case cancelled = 104
    /// What was sent did not come through.
    case protocolError = 71
    /// The device is gone.
    case shutdown = 108
}

/// The answer to one request.
public struct USBCompletion: Sendable, Equatable {
    public var id: UInt32
    public var status: USBStatus
    /// What an IN request brought.
    public var data: [UInt8]
    /// Octets moved in either direction.
    public var actualLength: Int
    /// The octets moved in each packet of an isochronous request.
    public var packetLengths: [Int]
    /// Those of them that were lost on the bus, by their places.
    public var lostPackets: Set<Int> = []

    public init(id: UInt32, status: USBStatus, data: [UInt8] = [], actualLength: Int? = nil, packetLengths: [Int] = []) {
        self.id = id
        self.status = status
        self.data = data
        self.actualLength = actualLength ?? data.count
        self.packetLengths = packetLengths
    }

    /// The status of an isochronous packet, as the kernel counts them.
    func packetStatus(_ index: Int) -> UInt32 {
        UInt32(bitPattern: lostPackets.contains(index) ? -USBStatus.protocolError.rawValue : USBStatus.success.rawValue)
    }
}

/// How many packets of data and voice a dongle has carried, to the controller (out) and from it (in).
public struct USBTraffic: Sendable, Equatable {
    public var dataOut = 0
    public var dataIn = 0
    public var voiceOut = 0
    public var voiceIn = 0
    /// The alternate settings in which voice came from the controller.
    public var voiceAlternates: Set<UInt8> = []
    /// The opcode of the last command; nil before the first.
    public var lastCommand: UInt16?

    public init() {}
}
