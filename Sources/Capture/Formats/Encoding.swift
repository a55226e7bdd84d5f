import BBPackets

/// Encodes records in one format.
protocol RecordEncoder {
    /// Octets before the first record.
    var preamble: [UInt8] { get }
    /// Octets that declare an interface; empty in formats without interfaces.
    func announcement(of interface: CaptureInterface) -> [UInt8]
    /// Appends a record; false if the format does not support it.
    func append(_ record: CaptureRecord, to octets: inout [UInt8]) -> Bool
}

extension HCIPacket {
    /// Direction of this packet: as given, or implied by its type; data of unknown direction counts as sent.
    func way(_ told: CaptureDirection?) -> CaptureDirection {
        told ?? (kind == .event ? .controllerToHost : .hostToController)
    }

    /// Parses a packet preceded by its H4 indicator; nil if the indicator is invalid.
    init?(indicated octets: ArraySlice<UInt8>) {
        guard let indicator = octets.first, let kind = Kind(rawValue: indicator) else { return nil }
        self.init(kind, Array(octets.dropFirst()))
    }

    /// Direction implied by the packet type.
    var impliedDirection: CaptureDirection? {
        switch kind {
        case .command: .hostToController
        case .event: .controllerToHost
        case .acl, .sco, .iso: nil
        }
    }
}

/// Text in a file, up to a trailing zero or line end.
func text(of octets: ArraySlice<UInt8>) -> String {
    var end = octets.endIndex
    while end > octets.startIndex, octets[end - 1] == 0 || octets[end - 1] == 10 { end -= 1 }
    return String(decoding: octets[octets.startIndex..<end], as: UTF8.self)
}
