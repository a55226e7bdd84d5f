import Packets

/// Rules about several fields, which declarations do not have. Each field by itself has been checked when a command is carried out.
enum Check {
    static func that(_ condition: Bool, else failure: CommandFailure = .invalidParameters) throws(CommandFailure) {
        guard condition else { throw failure }
    }

    /// The peer of a connection to be made: a device or an identity.
    static func peer(_ type: AddressType, _ address: BDADDR) throws(CommandFailure) -> DeviceAddress {
        switch type {
        case .publicDevice, .publicIdentity: return DeviceAddress(address, kind: .public)
        case .randomDevice, .randomIdentity: return DeviceAddress(address, kind: .random)
        default: throw .invalidParameters
        }
    }

    static func windows(_ phy: PHY, interval: Microseconds, window: Microseconds) throws(CommandFailure) -> ScanWindows {
        try that(window <= interval)
        return ScanWindows(phy: phy, interval: interval, window: window)
    }

    /// The parameters of a connection, asked for as a range.
    ///
    /// - Parameters:
    ///   - longest: the longest interval.
    ///   - supervision: the supervision time-out; it must be longer than twice the longest time without an event that latency allows.
    static func link(
        _ parameters: RequestedParameters, longest: Microseconds, supervision: Microseconds,
        eventLengths: (minimum: UInt16, maximum: UInt16)
    ) throws(CommandFailure) -> RequestedParameters {
        try that(parameters.intervalMin <= parameters.intervalMax && eventLengths.minimum <= eventLengths.maximum)
        try that(supervision > longest * (1 + Int(parameters.latency)) * 2)
        return parameters
    }
}

extension DeviceAddress {
    /// An address whose type is Public_Device or Random_Device.
    init(_ type: AddressType, _ address: BDADDR) { self.init(address, kind: type == .publicDevice ? .public : .random) }
}
