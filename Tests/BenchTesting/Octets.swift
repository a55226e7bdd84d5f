import BBPackets

/// Octets of hexadecimal text; spaces and colons are ignored. Invalid text gives no octets, which no test expects.
public func octets(_ hex: String) -> [UInt8] { Hex.parse(hex) ?? [] }
