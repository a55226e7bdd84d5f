import BBCapture
import BBMisbehaviour
import BBPackets
import BBTraffic

/// One LE transmission, as seen by an observer of the whole world.
public struct AirObservation: Sendable {
    public var sender: ControllerID
    /// Time of the first bit.
    public var start: Microseconds
    public var frame: AirFrame
    /// The PDU before encryption: 2-octet header, with the length without MIC, and payload; nil if it was sent unencrypted.
    public var plain: [UInt8]?
}

/// One BR/EDR packet with a header, as seen by an observer of the whole world.
public struct BasebandObservation: Sendable {
    public var sender: ControllerID
    /// Time of the first bit.
    public var start: Microseconds
    public var type: BREDRPacketType
    public var rfChannel: UInt8
    public var ltAddr: UInt8
    public var flow: Bool
    public var arqn: Bool
    public var seqn: Bool
    /// Payload header and data, before E0 encryption. AES-CCM data are as sent.
    public var payload: [UInt8]
    /// True if the payload was encrypted with E0.
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

    /// LLID of the payload header; nil if the packet has none.
    public var logicalLink: UInt8? { type.payloadHeaderLength > 0 ? payload.first.map { $0 & 3 } : nil }
    /// The payload without its header.
    public var data: ArraySlice<UInt8> { payload.dropFirst(type.payloadHeaderLength) }
    /// The LMP message; nil for other packets.
    public var message: [UInt8]? { logicalLink == LLID.control ? Array(data) : nil }
}

/// Observation of the air and interference, for cases.
extension Simulation {
    /// Calls `observer` at the start of each LE transmission from now on; nil stops it.
    public func observeAir(_ observer: ((AirObservation) -> Void)?) { air.observer = observer }

    /// Calls `observer` for each BR/EDR packet that has a header; nil stops it.
    public func observeBaseband(_ observer: ((BasebandObservation) -> Void)?) { air.basebandObserver = observer }

    /// Adds a packet rule to a controller, after its existing rules.
    public func add(_ rewrite: PacketRewrite, to identifier: ControllerID) { controller(identifier)?.rewriter.add(rewrite) }

    /// Makes a controller send an LL control PDU outside any procedure.
    ///
    /// - Parameters:
    ///   - pdu: opcode and CtrData.
    ///   - handle: the link, by the connection handle on this controller; nil for its first link.
    ///   - inClear: send unencrypted even on an encrypted link.
    /// - Returns: false if there is no such link.
    public func inject(_ pdu: [UInt8], from identifier: ControllerID, on handle: ConnectionHandle? = nil, inClear: Bool = false) -> Bool {
        guard let links = controller(identifier)?.links, let link = links.first(where: { handle == nil || $0.handle == handle }) else {
            return false
        }
        link.connection.send(control: pdu, inClear: inClear)
        return true
    }

    /// Makes a link manager send an LMP message outside any procedure.
    ///
    /// - Parameters:
    ///   - message: opcode and parameters; the sender is the initiator of the transaction.
    ///   - handle: the link, by the connection handle on this controller; nil for its first link.
    /// - Returns: false if there is no such link.
    public func inject(
        lmp message: [UInt8], from identifier: ControllerID, on handle: ConnectionHandle? = nil, inAnswer: Bool = false
    ) -> Bool {
        guard let links = controller(identifier)?.bredr.links, let link = links.first(where: { handle == nil || $0.handle == handle }),
            var first = message.first
        else { return false }
        first = first & 0xFE | LMPTransaction(link.link.role).rawValue ^ (inAnswer ? 1 : 0)
        link.link.send(lmp: [first] + message.dropFirst())
        return true
    }

    /// Makes a controller send its next `count` encrypted PDUs with a wrong MIC; over BR/EDR with AES-CCM, each transmission of a PDU counts.
    ///
    /// - Parameter handle: the link, by the connection handle on this controller; nil for its first link.
    public func spoilMIC(of identifier: ControllerID, on handle: ConnectionHandle? = nil, count: Int = 1) {
        guard let controller = controller(identifier) else { return }
        controller.links.first { handle == nil || $0.handle == handle }?.connection.spoilMIC(count)
        controller.bredr.links.first { handle == nil || $0.handle == handle }?.link.state.spoiledMICs = count
    }

    /// Sets the packet loss of a path from now on.
    ///
    /// - Parameters:
    ///   - corrupted: probability, 0...1, that a packet arrives with a bad CRC.
    ///   - unnoticed: probability, 0...1, that a packet is not received at all.
    ///   - source: the sender; nil for all.
    ///   - destination: the receiver; nil for all.
    ///   - channel: channel index; nil for all.
    public func setLoss(
        corrupted: Double, unnoticed: Double = 0, from source: ControllerID? = nil, to destination: ControllerID? = nil,
        channel: UInt8? = nil
    ) {
        let path = PropagationModel.Path(
            source: source?.rawValue, destination: destination?.rawValue, channel: channel.map { .le(ChannelIndex($0)) })
        air.propagation.setLoss(.init(corrupted: corrupted, unnoticed: unnoticed), on: path)
    }

    /// Sets the path loss from one controller to another, one way, in dB.
    public func setPathLoss(_ decibels: Int, from source: ControllerID? = nil, to destination: ControllerID? = nil) {
        air.propagation.setPathLoss(decibels, on: PropagationModel.Path(source: source?.rawValue, destination: destination?.rawValue))
    }
}
