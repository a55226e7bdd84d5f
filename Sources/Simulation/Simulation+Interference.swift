import Capture
import Packets

/// One transmission, as an observer of the whole world sees it.
public struct AirObservation: Sendable {
    public var sender: ControllerID
    /// When its first bit was sent.
    public var start: Microseconds
    public var frame: AirFrame
    /// The PDU before it was encrypted: two octets of header with the length without MIC, and the payload; nil where it was sent in clear.
    public var plain: [UInt8]?
}

/// One packet of BR/EDR with a header, as an observer of the whole world sees it.
public struct BasebandObservation: Sendable {
    public var sender: ControllerID
    /// When its first bit was sent.
    public var start: Microseconds
    public var type: BREDRPacketType
    public var rfChannel: UInt8
    public var ltAddr: UInt8
    public var flow: Bool
    public var arqn: Bool
    public var seqn: Bool
    /// Payload header and data, before E0 encrypted them; AES-CCM's data are as they are sent.
    public var payload: [UInt8]
    /// Whether E0 encrypted it.
    public var isEncrypted: Bool

    init(_ packet: BREDRPacket, _ type: BREDRPacketType, from sender: ControllerID, at start: Microseconds) {
        self.sender = sender
        self.start = start
        self.type = type
        rfChannel = packet.rfChannel
        ltAddr = packet.ltAddr
        (flow, arqn, seqn) = (packet.flow, packet.arqn, packet.seqn)
        payload = packet.clear ?? packet.payload
        isEncrypted = packet.clear != nil
    }

    /// LLID of the payload header; nil where there is none.
    public var logicalLink: UInt8? { type.payloadHeaderLength > 0 ? payload.first.map { $0 & 3 } : nil }
    /// The payload behind its header.
    public var data: ArraySlice<UInt8> { payload.dropFirst(type.payloadHeaderLength) }
    /// A message of the link manager; nil for other packets.
    public var message: [UInt8]? { logicalLink == LLID.control ? Array(data) : nil }
}

/// What a case may do to the simulated world, and see of it.
extension Simulation {
    /// Shows every transmission from now on, at its start; nil ends it.
    public func observeAir(_ observer: ((AirObservation) -> Void)?) { air.observer = observer }

    /// The same for packets of BR/EDR that have a header.
    public func observeBaseband(_ observer: ((BasebandObservation) -> Void)?) { air.basebandObserver = observer }

    /// Adds a rule for what a controller sends, after those it has.
    public func add(_ rewrite: PacketRewrite, to identifier: ControllerID) { controller(identifier)?.rewriter.add(rewrite) }

    /// Makes a controller send a link layer control PDU that no procedure of its own asks for.
    ///
    /// - Parameters:
    ///   - pdu: opcode and CtrData.
    ///   - handle: the link, as the controller's host knows it; by default its first.
    ///   - inClear: without encryption, whatever the link.
    /// - Returns: false when there is no such link.
    public func inject(_ pdu: [UInt8], from identifier: ControllerID, on handle: ConnectionHandle? = nil, inClear: Bool = false) -> Bool {
        guard let links = controller(identifier)?.links, let link = links.first(where: { handle == nil || $0.handle == handle }) else {
            return false
        }
        link.connection.send(control: pdu, inClear: inClear)
        return true
    }

    /// Makes a link manager send a message that no procedure of its own asks for.
    ///
    /// - Parameters:
    ///   - message: opcode and parameters; the transaction is the sender's own.
    ///   - handle: the link, as the controller's host knows it; by default its first.
    /// - Returns: false when there is no such link.
    public func inject(lmp message: [UInt8], from identifier: ControllerID, on handle: ConnectionHandle? = nil) -> Bool {
        guard let links = controller(identifier)?.bredr.links, let link = links.first(where: { handle == nil || $0.handle == handle }),
            var first = message.first
        else { return false }
        first = first & 0xFE | LMPTransaction(link.link.role).rawValue
        link.link.send(lmp: [first] + message.dropFirst())
        return true
    }

    /// Makes a controller send so many encrypted PDUs with a wrong MIC.
    ///
    /// - Parameter handle: the link, as the controller's host knows it; by default its first.
    public func spoilMIC(of identifier: ControllerID, on handle: ConnectionHandle? = nil, count: Int = 1) {
        let link = controller(identifier)?.links.first { handle == nil || $0.handle == handle }
        link?.connection.spoilMIC(count)
    }

    /// How packets fare from now on.
    ///
    /// - Parameters:
    ///   - corrupted: probability, 0...1, that a packet arrives with a wrong CRC.
    ///   - unnoticed: probability that a packet does not arrive at all.
    ///   - source: the sender; nil for all.
    ///   - destination: the receiver; nil for all.
    ///   - channel: the channel index; nil for all.
    public func setLoss(
        corrupted: Double, unnoticed: Double = 0, from source: ControllerID? = nil, to destination: ControllerID? = nil,
        channel: UInt8? = nil
    ) {
        let path = PropagationModel.Path(
            source: source?.rawValue, destination: destination?.rawValue, channel: channel.map { .le(ChannelIndex($0)) })
        air.propagation.setLoss(.init(corrupted: corrupted, unnoticed: unnoticed), on: path)
    }

    /// The path loss between two controllers, one way, in dB.
    public func setPathLoss(_ decibels: Int, from source: ControllerID? = nil, to destination: ControllerID? = nil) {
        air.propagation.setPathLoss(decibels, on: PropagationModel.Path(source: source?.rawValue, destination: destination?.rawValue))
    }
}
