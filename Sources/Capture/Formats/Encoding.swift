import Packets

/// What turns records into the octets of one format.
protocol RecordEncoder {
    /// The octets before the first record.
    var preamble: [UInt8] { get }
    /// The octets that announce an interface; empty in formats without interfaces.
    func announcement(of interface: CaptureInterface) -> [UInt8]
    /// Appends a record; false when the format has no place for it.
    func append(_ record: CaptureRecord, to octets: inout [UInt8]) -> Bool
}

extension HCIPacket {
    /// The way this packet goes: as told, or as its kind says; data of unknown way counts as sent.
    func way(_ told: CaptureDirection?) -> CaptureDirection {
        told ?? (kind == .event ? .controllerToHost : .hostToController)
    }

    /// Reads a packet with its H4 indicator before it; nil for an indicator that does not exist.
    init?(indicated octets: ArraySlice<UInt8>) {
        guard let indicator = octets.first, let kind = Kind(rawValue: indicator) else { return nil }
        self.init(kind, Array(octets.dropFirst()))
    }

    /// The way that the packet's kind alone tells.
    var impliedDirection: CaptureDirection? {
        switch kind {
        case .command: .hostToController
        case .event: .controllerToHost
        case .acl, .sco, .iso: nil
        }
    }
}

/// Text in a file: its octets up to a final zero or line end.
func text(of octets: ArraySlice<UInt8>) -> String {
    var end = octets.endIndex
    while end > octets.startIndex, octets[end - 1] == 0 || octets[end - 1] == 10 { end -= 1 }
    return String(decoding: octets[octets.startIndex..<end], as: UTF8.self)
}
