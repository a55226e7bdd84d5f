import BBPackets
import BBTraffic

/// The units in which the windows of a case's steps are counted: intervals that a controller uses.
struct LatestIntervals {
    /// Interval of the LE connection that was established or updated last.
    private(set) var connection: Microseconds?
    /// Maximum advertising interval of the last advertising parameters, plus advDelay.
    private(set) var advertising: Microseconds?

    /// Maximum advDelay. Core Vol 6, Part B, 4.4.2.2.1.
    private static let longestAdvertisingDelay = Microseconds.milliseconds(10)

    mutating func sent(_ command: HCIPacket) {
        let intervalMax: Microseconds? =
            switch command.commandOpcode {
            case HCICommands.LESetAdvertisingParameters.opcode:
                (try? command.command(as: HCICommands.LESetAdvertisingParameters.self))?.advertisingIntervalMaxMicroseconds
            case HCICommands.LESetExtendedAdvertisingParameters.opcode:
                (try? command.command(as: HCICommands.LESetExtendedAdvertisingParameters.self))?
                    .primaryAdvertisingIntervalMaxMicroseconds
            case HCICommands.LESetExtendedAdvertisingParametersV2.opcode:
                (try? command.command(as: HCICommands.LESetExtendedAdvertisingParametersV2.self))?
                    .primaryAdvertisingIntervalMaxMicroseconds
            default: nil
            }
        if let intervalMax { advertising = intervalMax + Self.longestAdvertisingDelay }
    }

    mutating func changed(_ change: ConnectionChange) {
        switch change {
        case .opened(let state): connection = state.parameters?.intervalTime ?? connection
        case .parametersChanged(_, let parameters): connection = parameters.intervalTime
        default: break
        }
    }
}
