/// A set of services or commands: bit n of the little-endian octets is number n. Missing octets are zero.
public struct BTPBitmap: Sendable, Hashable {
    public private(set) var octets: [UInt8]

    public init(octets: [UInt8]) { self.octets = octets }

    public init(_ numbers: some Sequence<UInt8>) {
        octets = []
        for number in numbers {
            let index = Int(number) / 8
            while octets.count <= index { octets.append(0) }
            octets[index] |= 1 << (number % 8)
        }
    }

    public func contains(_ number: UInt8) -> Bool {
        Int(number) / 8 < octets.count && octets[Int(number) / 8] >> (number % 8) & 1 == 1
    }
}
