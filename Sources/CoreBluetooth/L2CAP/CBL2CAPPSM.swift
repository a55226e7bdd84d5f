/// A protocol/service multiplexer of an L2CAP channel, 0x0080...0x00FF if a phone has chosen it. Core Vol 3, Part A, 4.22.
public typealias CBL2CAPPSM = UInt16
