import BBPackets

/// Capabilities of this device's target role. AVRCP 1.6, 4.
public struct AVRCPTarget: Sendable, Hashable {
    /// Supported events with their current values.
    public var events: [AVRCPEvent: AVRCPNotification]
    /// True if Set Absolute Volume is accepted, as by a rendering device.
    public var takesVolume: Bool
    /// Accepted operations.
    public var keys: Set<AVRCPKey>
    /// Media attributes by ID: 1 title, 2 artist ...
    public var attributes: [UInt32: String] = [:]
    /// In milliseconds.
    public var songLength: UInt32 = 0xFFFF_FFFF
    /// Company ID in the UNIT INFO response.
    public var company: [UInt8] = AVRCPPDU.company

    public init(events: [AVRCPNotification] = [], takesVolume: Bool = false, keys: Set<AVRCPKey> = []) {
        self.events = Dictionary(events.map { ($0.event, $0) }) { _, last in last }
        (self.takesVolume, self.keys) = (takesVolume, keys)
    }

    /// A player with playback control and notifications.
    public static let player = AVRCPTarget(
        events: [.playbackStatus(0), .track(0)], keys: [.play, .stop, .pause, .forward, .backward, .volumeUp, .volumeDown])
    /// A loudspeaker with volume control.
    public static let loudspeaker = AVRCPTarget(events: [.volume(0x40)], takesVolume: true, keys: [.volumeUp, .volumeDown])
}

/// Requests of a controller.
public enum AVRCPRequest: Sendable, Hashable {
    case press(AVRCPKey, isReleased: Bool = false)
    case unitInfo
    case subunitInfo
    case supportedEvents
    case playStatus
    case elementAttributes([UInt32])
    case register(AVRCPEvent, interval: UInt32 = 0)
    case setAbsoluteVolume(UInt8)
}

/// Result of a request.
public enum AVRCPResult: Sendable, Hashable {
    case accepted
    case events([AVRCPEvent])
    /// Song length and position in milliseconds, and playback status.
    case playStatus(length: UInt32, position: UInt32, status: UInt8)
    case attributes([UInt32: String])
    case volume(UInt8)
    case interim(AVRCPNotification)
    case changed(AVRCPNotification)
    case information([UInt8])
    case rejected(AVRCPErrorCode?)
    case notImplemented
    /// The peer does not support AVRCP.
    case invalidProfile
    case malformed
    case timedOut
}

public enum AVRCPAction: Sendable, Hashable {
    /// Send a packet on the control channel.
    case send([UInt8])
    case answered(AVRCPRequest, AVRCPResult)
    /// A controller has pressed or released a key.
    case key(AVRCPKey, isPressed: Bool)
    /// A controller has set the volume.
    case volume(UInt8)
}

/// AVRCP over the AVCTP control channel, as controller and target at the same time. AVRCP 1.6, 4 and 6.
public struct AVRCPSession: Sendable {
    /// Timeout of a response. A target must respond within 100 ms, or within 1000 ms after an interim response; this timeout is longer.
    /// AVRCP 1.6, 7.
    public static let responseTimeOut = Microseconds.seconds(5)
    static let profile: UInt16 = 0x110E

    struct Transaction: Sendable {
        var request: AVRCPRequest
        /// Time limit of the response; nil while a registration waits for its event.
        var deadline: Microseconds?
        /// Received parts of a fragmented response.
        var partial: [UInt8] = []
    }

    public var target: AVRCPTarget
    public let mtu: Int
    /// Transactions by label.
    var transactions: [UInt8: Transaction] = [:]
    /// Transaction labels of registered events.
    var registered: [AVRCPEvent: UInt8] = [:]
    private var assembler = AVCTPAssembler()
    private var nextLabel: UInt8 = 0

    public init(target: AVRCPTarget = AVRCPTarget(), mtu: Int = 672) { (self.target, self.mtu) = (target, mtu) }

    /// Time at which to call `expire`.
    public var deadline: Microseconds? { transactions.values.compactMap(\.deadline).min() }

    // MARK: Requests of this device

    /// Sends a request; does nothing if all labels are in use.
    public mutating func send(_ request: AVRCPRequest, at now: Microseconds) -> [AVRCPAction] {
        guard let label = (0..<16).map({ (nextLabel + $0) & 15 }).first(where: { transactions[$0] == nil }) else { return [] }
        nextLabel = (label + 1) & 15
        transactions[label] = Transaction(request: request, deadline: now + Self.responseTimeOut)
        return packets(label, request.frame)
    }

    /// Notifies a registered controller of a changed value, once. AVRCP 1.6, 6.7.2.
    public mutating func changed(_ value: AVRCPNotification) -> [AVRCPAction] {
        guard target.events[value.event] != nil else { return [] }
        target.events[value.event] = value
        guard let label = registered.removeValue(forKey: value.event) else { return [] }
        return packets(label, .vendor(.changed, AVRCPPDU(value.pdu)))
    }

    public mutating func expire(at now: Microseconds) -> [AVRCPAction] {
        let due = transactions.filter { $0.value.deadline.map { $0 <= now } ?? false }.sorted { $0.key < $1.key }
        return due.map { label, transaction in
            transactions[label] = nil
            return .answered(transaction.request, .timedOut)
        }
    }

    // MARK: Packets from the peer

    public mutating func receive(_ packet: [UInt8], at now: Microseconds) -> [AVRCPAction] {
        guard let message = assembler.receive(packet) else { return [] }
        if message.isResponse { return answered(message, at: now) }
        guard message.profile == Self.profile else {
            let answer = AVCTPMessage(label: message.label, isResponse: true, isInvalidProfile: true, profile: message.profile)
            return answer.packets(mtu: mtu).map { .send($0) }
        }
        guard let frame = try? AVCFrame(message.payload), !frame.code.isResponse else { return [] }
        var actions: [AVRCPAction] = []
        let response = respond(to: frame, label: message.label, &actions)
        return packets(message.label, response, isResponse: true) + actions
    }

    func packets(_ label: UInt8, _ frame: AVCFrame, isResponse: Bool? = nil) -> [AVRCPAction] {
        AVCTPMessage(label: label, isResponse: isResponse ?? frame.code.isResponse, profile: Self.profile, frame.octets)
            .packets(mtu: mtu).map { .send($0) }
    }
}

extension AVCFrame {
    static func vendor(_ code: Code, _ pdu: AVRCPPDU) -> AVCFrame { AVCFrame(code, opcode: Opcode.vendorDependent, pdu.operands) }
}

extension AVRCPRequest {
    /// The AV/C frame of a request. AVRCP 1.6, 4.5 to 4.7 and 6.4 to 6.8.
    var frame: AVCFrame {
        switch self {
        case .press(let key, let isReleased):
            return AVCFrame(.control, opcode: AVCFrame.Opcode.passThrough, [key.rawValue & 0x7F | (isReleased ? 0x80 : 0), 0])
        case .unitInfo:
            return AVCFrame(.status, subunit: AVCFrame.unit, opcode: AVCFrame.Opcode.unitInfo, [UInt8](repeating: 0xFF, count: 5))
        case .subunitInfo:
            let operands: [UInt8] = [0x07, 0xFF, 0xFF, 0xFF, 0xFF]
            return AVCFrame(.status, subunit: AVCFrame.unit, opcode: AVCFrame.Opcode.subunitInfo, operands)
        case .supportedEvents: return .vendor(.status, AVRCPPDU(AVRCPCommands.GetCapabilitiesCmd(capabilityID: AVRCPPDU.eventsSupported)))
        case .playStatus: return .vendor(.status, AVRCPPDU(AVRCPCommands.GetPlayStatusCmd()))
        case .elementAttributes(let ids):
            return .vendor(.status, AVRCPPDU(AVRCPCommands.GetElementAttributesCmd(attributeIDs: Array(ids.prefix(255)))))
        case .register(let event, let interval):
            return .vendor(
                .notify, AVRCPPDU(AVRCPCommands.RegisterNotificationCmd(eventID: event.rawValue, playbackInterval: interval)))
        case .setAbsoluteVolume(let volume):
            return .vendor(.control, AVRCPPDU(AVRCPCommands.SetAbsoluteVolumeCmd(absoluteVolume: volume & 0x7F)))
        }
    }
}
