import BBPackets

/// Reassembles L2CAP PDUs of all connections from the ACL packets of one direction.
public struct ACLReassembly: Sendable {
    public struct PDU: Sendable, Equatable {
        public var handle: ConnectionHandle
        public var cid: UInt16
        public var payload: [UInt8]
    }

    private var connections: [ConnectionHandle: L2CAPReassembler] = [:]

    public init() {}

    /// Handles an ACL packet.
    ///
    /// - Returns: the completed PDU; nil if none is complete or the packet is invalid.
    public mutating func receive(_ packet: HCIPacket) -> PDU? {
        guard let header = packet.aclHeader else { return nil }
        let fragment = packet.bytes.span.bytes.extracting(ACLHeader.octets...)
        switch connections[header.handle, default: L2CAPReassembler()].receive(boundary: header.boundary, fragment) {
        case .wait, .drop: return nil
        case .deliverFragment(let cid):
            return PDU(handle: header.handle, cid: cid, payload: fragment.extracting(L2CAPHeader.octets...).octets)
        case .deliverAssembled(let cid):
            let payload = connections[header.handle]?.assembled.dropFirst(L2CAPHeader.octets)
            return PDU(handle: header.handle, cid: cid, payload: [UInt8](payload ?? []))
        }
    }

    /// Drops the incomplete PDU of a connection that has ended.
    public mutating func forget(_ handle: ConnectionHandle) { connections[handle] = nil }

    public mutating func forgetAll() { connections.removeAll() }
}
