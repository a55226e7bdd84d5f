import BBPackets

/// LMP_max_slot: maximum slots of the peer's packets. Core Vol 2, Part C, 4.1.10.
struct LocalMaxSlot: LMPProcedure {
    let slots: UInt8
    let kind = LinkManagement.Kind.maxSlot

    init(_ slots: UInt8) { self.slots = slots }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .start = event else { return nil }
        return [.send(LMP.MaxSlot(maxSlots: slots), link.ownTransaction), .finish]
    }
}

struct RemoteMaxSlot: LMPProcedure {
    let kind = LinkManagement.Kind.maxSlot

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event else { return nil }
        switch message.pdu {
        case .maxSlot(let pdu):
            guard [1, 3, 5].contains(pdu.maxSlots) else { return [.finish] }
            return [.baseband(.maximumSlots(pdu.maxSlots)), .report(.maxSlots(pdu.maxSlots)), .finish]
        case .maxSlotReq(let pdu):
            guard [1, 3, 5].contains(pdu.maxSlots) else {
                return [.reject(LMP.MaxSlotReq.self, .invalidLMPParameters, message.transaction), .finish]
            }
            guard pdu.maxSlots <= link.longestPacket else {
                return [.reject(LMP.MaxSlotReq.self, .unsupportedLMPParameterValue, message.transaction), .finish]
            }
            return [.accept(LMP.MaxSlotReq.self, message.transaction), .finish]
        default: return nil
        }
    }
}

/// LMP_packet_type_table_req: changes the packet type table. Core Vol 2, Part C, 4.1.11.
struct LocalPacketTypeTable: LMPProcedure {
    let table: PacketTypeTable
    let kind = LinkManagement.Kind.packetTypeTable
    let isAwaitingPeer = true
    /// Data is held back, since sender and receiver would use different tables.
    let holdsData = true

    init(_ table: PacketTypeTable) { self.table = table }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start:
            guard link.packetTypeTable != table, link.bothSupportEnhancedRates else { return [.finish] }
            return [.send(LMP.PacketTypeTableReq(packetTypeTable: table.rawValue), link.ownTransaction)]
        case .message(let message) where message.accepts(LMP.PacketTypeTableReq.self):
            return [.baseband(.packetTypeTable(table)), .finish]
        case .refused(let refusal) where refusal.concerns(LMP.PacketTypeTableReq.self): return [.finish]
        default: return nil
        }
    }
}

struct RemotePacketTypeTable: LMPProcedure {
    let kind = LinkManagement.Kind.packetTypeTable

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event, case .packetTypeTableReq(let pdu) = message.pdu else { return nil }
        guard let table = PacketTypeTable(rawValue: pdu.packetTypeTable) else {
            return [.reject(LMP.PacketTypeTableReq.self, .invalidLMPParameters, message.transaction), .finish]
        }
        return [.baseband(.packetTypeTable(table)), .accept(LMP.PacketTypeTableReq.self, message.transaction), .finish]
    }
}
