import BBPackets

/// The two directions of a link.
public enum LinkDirection: Sendable, Hashable {
    /// Sent by this end: by the host, or by the central.
    case forth
    /// Received by this end: from the controller, or from the peripheral.
    case back
    /// Sent by an unknown end, in a sniffer's capture.
    case unknown

    public var other: LinkDirection {
        switch self {
        case .forth: .back
        case .back: .forth
        case .unknown: .unknown
        }
    }
}

/// The dynamic channels of one link, of LE or of BR/EDR, as signalling opens, configures and closes them. Core Vol 3, Part A, 4 and 7.1.
public struct ChannelTracker: Sendable {
    /// The mode, check sequence and control field of one direction: proposed by a request, agreed by its response.
    fileprivate struct Terms {
        var mode = ChannelMode.basic.rawValue
        var hasCheck = true
        var isExtended = false

        /// These terms with the options of a configuration request; an option that it omits keeps its value. Core Vol 3, Part A, 7.1.
        func changed(by octets: [UInt8]) -> Terms {
            guard let options = try? ConfigurationOptions(octets) else { return self }
            return Terms(
                mode: options.retransmission?.mode ?? mode, hasCheck: options.frameCheckSequence.map { $0 != 0 } ?? hasCheck,
                isExtended: isExtended || options.extendedWindowSize != nil)
        }
    }

    public struct Channel: Sendable {
        public let psm: UInt16
        /// Its PDUs are K-frames. Core Vol 3, Part A, 3.4.3.
        public let isCreditBased: Bool
        fileprivate var keys: [Key] = []
        fileprivate var agreed: [LinkDirection: Terms] = [:]

        /// Both directions are in enhanced retransmission or streaming mode.
        public var isRetransmitting: Bool {
            agreed.count == 2 && agreed.values.allSatisfy { $0.mode >= ChannelMode.enhancedRetransmission.rawValue }
        }
        /// I-frames and S-frames end in a check sequence.
        public var hasCheck: Bool { agreed.isEmpty || agreed.values.contains { $0.hasCheck } }
        /// I-frames and S-frames have the extended control field: one side has the extended window. Core Vol 3, Part A, 5.7.
        public var isExtended: Bool { agreed.values.contains { $0.isExtended } }
    }

    /// A channel identifier, and the direction of the PDUs that carry it.
    fileprivate struct Key: Hashable {
        var direction: LinkDirection
        var channel: UInt16
    }

    private struct Request: Hashable {
        var direction: LinkDirection
        var identifier: UInt8
    }

    private var channels: [Int: Channel] = [:]
    private var numbers: [Key: Int] = [:]
    private var nextNumber = 0
    /// The channels that a request asks for, until the answer.
    private var opening: [Request: [Int]] = [:]
    private var proposed: [Request: (number: Int, terms: Terms)] = [:]

    private static let most = 256

    public init() {}

    /// The dynamic channel of a PDU; nil if none is known.
    ///
    /// - Parameters:
    ///   - channel: the identifier in a PDU's basic header.
    ///   - direction: of that PDU.
    public func channel(_ channel: UInt16, _ direction: LinkDirection) -> Channel? {
        numbers[Key(direction: direction, channel: channel)].flatMap { channels[$0] }
    }

    /// Follows a signalling command.
    ///
    /// - Parameter direction: of the command.
    public mutating func note(_ command: SignalingCommand, _ direction: LinkDirection) {
        let request = Request(direction: direction, identifier: command.identifier)
        let answered = Request(direction: direction.other, identifier: command.identifier)
        switch command.code {
        case L2CAPSignaling.ConnectionReq.opcode:
            guard let pdu = command.read(prefixOf: L2CAPSignaling.ConnectionReq.self) else { return }
            open(request, pdu.psm, isCreditBased: false, [pdu.sourceCID])
        case L2CAPSignaling.LECreditBasedConnectionReq.opcode:
            guard let pdu = command.read(prefixOf: L2CAPSignaling.LECreditBasedConnectionReq.self) else { return }
            open(request, pdu.spsm, isCreditBased: true, [pdu.sourceCID])
        case L2CAPSignaling.CreditBasedConnectionReq.opcode:
            guard let pdu = command.read(prefixOf: L2CAPSignaling.CreditBasedConnectionReq.self) else { return }
            open(request, pdu.spsm, isCreditBased: true, pdu.sourceCID)
        case L2CAPSignaling.ConnectionRsp.opcode:
            guard let pdu = command.read(prefixOf: L2CAPSignaling.ConnectionRsp.self) else { return }
            answer(answered, [pdu.destinationCID], isFinal: pdu.result != .pending)
        case L2CAPSignaling.LECreditBasedConnectionRsp.opcode:
            guard let pdu = command.read(prefixOf: L2CAPSignaling.LECreditBasedConnectionRsp.self) else { return }
            answer(answered, [pdu.destinationCID], isFinal: true)
        case L2CAPSignaling.CreditBasedConnectionRsp.opcode:
            guard let pdu = command.read(prefixOf: L2CAPSignaling.CreditBasedConnectionRsp.self) else { return }
            let isPending = [.pendingNoFurtherInformation, .pendingAuthentication, .pendingAuthorization].contains(pdu.result)
            answer(answered, pdu.destinationCID, isFinal: !isPending)
        case L2CAPSignaling.ConfigurationReq.opcode:
            guard let pdu = command.read(prefixOf: L2CAPSignaling.ConfigurationReq.self) else { return }
            propose(request, pdu.destinationCID, pdu.configurationOptions)
        case L2CAPSignaling.ConfigurationRsp.opcode:
            guard let pdu = command.read(prefixOf: L2CAPSignaling.ConfigurationRsp.self) else { return }
            guard let (number, terms) = proposed.removeValue(forKey: answered), pdu.result == .success else { return }
            channels[number]?.agreed[answered.direction] = terms
        case L2CAPSignaling.DisconnectionRsp.opcode:
            guard let pdu = command.read(prefixOf: L2CAPSignaling.DisconnectionRsp.self) else { return }
            close(pdu.destinationCID, direction.other)
            close(pdu.sourceCID, direction)
        case L2CAPSignaling.CommandRejectRsp.opcode: answer(answered, [], isFinal: true)
        default: break
        }
    }

    // MARK: Opening and closing

    private mutating func open(_ request: Request, _ psm: UInt16, isCreditBased: Bool, _ sources: [UInt16]) {
        if channels.count + sources.count > Self.most || opening.count >= Self.most { self = ChannelTracker() }
        opening[request] = sources.map { source in
            let number = nextNumber
            nextNumber += 1
            channels[number] = Channel(psm: psm, isCreditBased: isCreditBased)
            name(number, source, request.direction.other)
            return number
        }
    }

    /// A channel whose identifier the answer does not give is refused. Core Vol 3, Part A, 4.3 and 4.26.
    private mutating func answer(_ request: Request, _ destinations: [UInt16], isFinal: Bool) {
        guard let numbers = opening[request] else { return }
        if isFinal { opening[request] = nil }
        for (index, number) in numbers.enumerated() {
            if index < destinations.count, CID.dynamic.contains(destinations[index]) {
                name(number, destinations[index], request.direction)
            } else if isFinal {
                remove(number)
            }
        }
    }

    private mutating func name(_ number: Int, _ channel: UInt16, _ direction: LinkDirection) {
        guard CID.dynamic.contains(channel) else { return }
        let key = Key(direction: direction, channel: channel)
        if let before = numbers[key], before != number { remove(before) }
        numbers[key] = number
        channels[number]?.keys.append(key)
    }

    private mutating func close(_ channel: UInt16, _ direction: LinkDirection) {
        if let number = numbers[Key(direction: direction, channel: channel)] { remove(number) }
    }

    private mutating func remove(_ number: Int) {
        guard let channel = channels.removeValue(forKey: number) else { return }
        for key in channel.keys where numbers[key] == number { numbers[key] = nil }
    }

    // MARK: Configuration

    private mutating func propose(_ request: Request, _ destination: UInt16, _ options: [UInt8]) {
        guard let number = numbers[Key(direction: request.direction, channel: destination)], let channel = channels[number] else { return }
        if proposed.count >= Self.most { proposed.removeAll() }
        proposed[request] = (number, (channel.agreed[request.direction] ?? Terms()).changed(by: options))
    }
}
