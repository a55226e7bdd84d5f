import BBPackets

/// Checks that involve several parameters. Each parameter by itself has already been checked by its declaration.
enum Check {
    static func that(_ condition: Bool, else failure: CommandRefusal = .invalidParameters) throws(CommandRefusal) {
        guard condition else { throw failure }
    }

    /// Peer address of a connection to be created: a device or identity address.
    static func peer(_ type: AddressType, _ address: BDADDR) throws(CommandRefusal) -> DeviceAddress {
        switch type {
        case .publicDevice, .publicIdentity: return DeviceAddress(address, kind: .public)
        case .randomDevice, .randomIdentity: return DeviceAddress(address, kind: .random)
        default: throw .invalidParameters
        }
    }

    static func windows(_ phy: PHY, interval: Microseconds, window: Microseconds) throws(CommandRefusal) -> ScanWindows {
        try that(window <= interval)
        return ScanWindows(phy: phy, interval: interval, window: window)
    }

    /// Checks connection parameters given as a range.
    ///
    /// - Parameters:
    ///   - longest: maximum connection interval.
    ///   - supervision: supervision timeout; must be longer than twice the longest interval between events that latency allows.
    static func link(
        _ parameters: RequestedParameters, longest: Microseconds, supervision: Microseconds,
        eventLengths: (minimum: UInt16, maximum: UInt16)
    ) throws(CommandRefusal) -> RequestedParameters {
        try that(parameters.intervalMin <= parameters.intervalMax && eventLengths.minimum <= eventLengths.maximum)
        try that(supervision > longest * (1 + Int(parameters.latency)) * 2)
        return parameters
    }
}

extension DeviceAddress {
    /// An address of type Public_Device or Random_Device.
    init(_ type: AddressType, _ address: BDADDR) { self.init(address, kind: type == .publicDevice ? .public : .random) }
}
