import HCI
import Packets
import Timing
import Transport

/// What the connections of one host have in common.
final class HostContext {
    let loop: RunLoop
    let scheduler: ACLScheduler
    let server: GATTServer
    var counters = HostCounters()
    var quirks = HostQuirks()
    var workarounds = ControllerWorkarounds()
    var knowledge: ControllerKnowledge?
    var learned = LearnedConductList()
    var classicChoices = ClassicChoices()
    var keys = KeyStore()
    /// By SPSM.
    var services: [UInt16: ChannelService] = [:]
    /// By PSM.
    var classicServices: [UInt16: ClassicService] = [:]
    /// Service records for peers on BR/EDR.
    var discovery = SDPServer()
    /// By RFCOMM's server channel.
    var serialServices: [UInt8: SerialService] = [:]
    /// A phone that offers nothing, unless told otherwise.
    var profileOffer = ProfileOffer(role: .phone)
    /// The records of the services in the database, where they are offered over BR/EDR.
    var attributeRecords: [UInt32] = []

    init(loop: RunLoop, scheduler: ACLScheduler, server: GATTServer) {
        self.loop = loop
        self.scheduler = scheduler
        self.server = server
    }

    /// What the first rule that fits sends in place of a PDU; nil if none does.
    func rewrites(of payload: [UInt8], cid: UInt16) -> [[UInt8]]? { Self.replacements(of: payload, cid, &quirks.rewrites) }

    /// What the first rule that fits lets arrive in place of a PDU; nil if none does.
    func rewrites(ofReceived payload: [UInt8], cid: UInt16) -> [[UInt8]]? {
        Self.replacements(of: payload, cid, &quirks.receivedRewrites)
    }

    private static func replacements(of payload: [UInt8], _ cid: UInt16, _ rules: inout [PDURewrite]) -> [[UInt8]]? {
        for index in rules.indices {
            let rule = rules[index]
            guard rule.cid == cid, payload.first == rule.opcode, rule.count != 0 else { continue }
            if rule.skip > 0 {
                rules[index].skip -= 1
                return nil
            }
            rules[index].met += 1
            guard rules[index].met.isMultiple(of: rule.every) else { return nil }
            if let count = rule.count { rules[index].count = count - 1 }
            return rule.replace(payload)
        }
        return nil
    }
}
