import BBPackets

/// Four hexadecimal digits without a prefix.
func hexadecimal(_ number: UInt16) -> String { String(Hex.number(number).dropFirst(2)) }
