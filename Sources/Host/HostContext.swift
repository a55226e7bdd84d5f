import HCI
import Packets
import Timing
import Transport

/// State shared by all connections of a host.
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
    /// Services by SPSM.
    var services: [UInt16: ChannelService] = [:]
    /// Services by PSM.
    var classicServices: [UInt16: ClassicService] = [:]
    /// Service records for peers on BR/EDR.
    var discovery = SDPServer()
    /// Serial ports by RFCOMM server channel.
    var serialServices: [UInt8: SerialService] = [:]
    /// By default a phone without profiles.
    var profileOffer = ProfileOffer(role: .phone)
    /// Handles of the service records for GATT services on BR/EDR.
    var attributeRecords: [UInt32] = []

    init(loop: RunLoop, scheduler: ACLScheduler, server: GATTServer) {
        self.loop = loop
        self.scheduler = scheduler
        self.server = server
    }

    /// Replacement PDUs of the first matching rule for an outgoing PDU; nil if there is none.
    func rewrites(of payload: [UInt8], cid: UInt16) -> [[UInt8]]? { Self.replacements(of: payload, cid, &quirks.rewrites) }

    /// Replacement PDUs of the first matching rule for an incoming PDU; nil if there is none.
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
