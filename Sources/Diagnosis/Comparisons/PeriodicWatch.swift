import BBCases
import BBPackets
import BBTraffic

/// Compares the timeout of a synchronization with the interval of the train that it follows. Core Vol 4, Part E, 7.8.67 and 7.8.92.
struct PeriodicWatch {
    private struct Sync {
        /// Microseconds.
        var timeout: Int64
        var interval: Int64
        var asked: Moment
    }

    private var asked: (timeout: Int64, at: Moment)?
    private var transfer: (timeout: Int64, at: Moment)?
    private var syncs: [Int: Sync] = [:]

    private static let most = 256

    mutating func note(_ pdu: DecodedLayer, at now: Moment) -> [Observation] {
        guard let id = pdu.id else { return [] }
        if pdu.layer == .hciCommands {
            if id == HCICommands.Reset.id { self = PeriodicWatch() }
            guard let timeout = pdu.fields.named("Sync_Timeout")?.int else { return [] }
            // The parameters for transfers name no advertising set.
            if pdu.fields.named("Advertising_SID") != nil {
                asked = (Int64(timeout) * 10_000, now)
            } else {
                transfer = (Int64(timeout) * 10_000, now)
            }
            return []
        }
        guard let handle = pdu.fields.named("Sync_Handle")?.int else { return [] }
        if let interval = pdu.fields.named("Periodic_Advertising_Interval")?.int {
            let isTransfer = pdu.fields.named("Connection_Handle") != nil
            guard pdu.fields.named("Status")?.int == 0, let (timeout, at) = isTransfer ? transfer : asked, syncs.count < Self.most
            else { return [] }
            syncs[handle] = Sync(timeout: timeout, interval: Int64(interval) * 1_250, asked: at)
        } else if case .closes(.sync)? = id.effect, let sync = syncs.removeValue(forKey: handle), sync.timeout < sync.interval {
            return [
                Observation(
                    .syncTimeoutTooShort, [("Timeout", .milliseconds(sync.timeout)), ("Interval", .milliseconds(sync.interval))],
                    packet: sync.asked.packet)
            ]
        }
        return []
    }
}
