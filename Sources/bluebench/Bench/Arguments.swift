import Packets

/// Values of command lines that more than one command takes.
enum Arguments {
    /// `C0:B1:BE:00:00:01`, with `/public` or `/random`; without either, random.
    static func address(_ text: String) throws -> DeviceAddress {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let octets = parts[0].split(separator: ":", omittingEmptySubsequences: false).map { $0.count == 2 ? UInt8($0, radix: 16) : nil }
        let kinds: [Substring: DeviceAddress.Kind] = ["public": .public, "random": .random]
        guard parts.count <= 2, octets.count == 6, let kind = parts.count == 2 ? kinds[parts[1]] : .random else {
            throw CommandFailure(.usage, "'\(text)' is no device address: write C0:B1:BE:00:00:01/random or 00:1B:DC:00:00:01/public")
        }
        var value: UInt64 = 0
        for octet in octets {
            guard let octet else { throw CommandFailure(.usage, "'\(text)' is no device address: two hexadecimal digits in each place") }
            value = value << 8 | UInt64(octet)
        }
        return DeviceAddress(value: value, kind: kind)
    }

    /// `1m,2m,coded` as a mask.
    static func phys(_ text: String) throws -> PHYs {
        let names: [Substring: PHYs] = ["1m": .le1M, "2m": .le2M, "coded": .leCoded]
        return try text.lowercased().split(separator: ",").reduce(into: PHYs(rawValue: 0)) { mask, name in
            guard let phy = names[name] else { throw CommandFailure(.usage, "'\(name)' is no PHY: 1m, 2m or coded") }
            mask.formUnion(phy)
        }
    }
}

extension PHY {
    /// As people call it.
    var shortName: String {
        switch self {
        case .le1M: "1M"
        case .le2M: "2M"
        case .leCoded: "Coded"
        }
    }
}
