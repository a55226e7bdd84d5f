import BBCases
import BBPackets
import BBTraffic

/// The buffers of a host, where it controls the flow of data from its controller. Core Vol 4, Part E, 4.2.
struct HostBuffers {
    private var isOn = false
    private var total = 0
    /// Packets that the host has not returned, by handle.
    private var held: [UInt16: Int] = [:]
    private var last = Moment(packet: 0, time: 0)
    private var isReported = false

    /// A host returns its buffers within milliseconds.
    private static let limit: Int64 = 5_000_000
    private static let acl: UInt8 = 1

    mutating func sent(_ command: HCIPacket) {
        let parameters = command.parameters
        func number(at offset: Int) -> Int {
            let start = parameters.startIndex + offset
            return parameters.count >= offset + 2 ? Int(parameters[start]) | Int(parameters[start + 1]) << 8 : 0
        }
        switch command.commandOpcode {
        case HCICommands.Reset.opcode: self = HostBuffers()
        case HCICommands.SetControllerToHostFlowControl.opcode: isOn = (parameters.first ?? 0) & Self.acl != 0
        case HCICommands.HostBufferSize.opcode: total = number(at: 3)
        case HCICommands.HostNumberOfCompletedPackets.opcode:
            for index in 0..<Int(parameters.first ?? 0) where parameters.count >= 5 + 4 * index {
                let handle = UInt16(truncatingIfNeeded: number(at: 1 + 4 * index) & 0x0FFF)
                held[handle] = max(0, (held[handle] ?? 0) - number(at: 3 + 4 * index))
            }
        default: break
        }
    }

    /// Counts a packet of data from the controller.
    mutating func received(_ handle: UInt16, at now: Moment) {
        guard isOn, total > 0 else { return }
        held[handle, default: 0] += 1
        last = now
        // A capture without the commands that return the buffers.
        if held.values.reduce(0, +) > total { isOn = false }
    }

    /// A controller takes the buffers of a connection back at its end.
    mutating func ended(_ handle: UInt16) { held[handle] = nil }

    /// All buffers have been in use for too long. It is returned once.
    mutating func overdue(at now: Moment) -> Observation? {
        guard isOn, total > 0, !isReported, now.time - last.time > Self.limit, held.values.reduce(0, +) == total else { return nil }
        isReported = true
        return Observation(
            .hostBuffersKept, [("Buffers", .number(total)), ("Waited", .milliseconds(now.time - last.time))], packet: last.packet)
    }
}
