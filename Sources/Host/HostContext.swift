import HCI
import Packets
import Timing

/// What the connections of one host have in common.
final class HostContext {
    let loop: RunLoop
    let scheduler: ACLScheduler
    let server: GATTServer
    var counters = HostCounters()
    var quirks = HostQuirks()
    var keys = KeyStore()

    init(loop: RunLoop, scheduler: ACLScheduler, server: GATTServer) {
        self.loop = loop
        self.scheduler = scheduler
        self.server = server
    }

    /// What the first rule that fits sends in place of a PDU; nil if none does.
    func rewrites(of payload: [UInt8], cid: UInt16) -> [[UInt8]]? {
        for index in quirks.rewrites.indices {
            let rule = quirks.rewrites[index]
            guard rule.cid == cid, payload.first == rule.opcode, rule.count != 0 else { continue }
            if rule.skip > 0 {
                quirks.rewrites[index].skip -= 1
                return nil
            }
            if let count = rule.count { quirks.rewrites[index].count = count - 1 }
            return rule.replace(payload)
        }
        return nil
    }
}
