/// An entry point of the bench to what comes from outside.
struct FuzzTarget: Sendable {
    typealias Layer = @Sendable (Frames.Action) -> String?

    var name: String
    /// The layer of the PDU in a frame with this action; nil when the frame holds just octets. Without it the input is not framed.
    var layer: Layer?
    /// Inputs to start from.
    var seeds: @Sendable () -> [[UInt8]]
    /// - Throws: when what is tested breaks a promise; a trap is a finding, too.
    var run: @Sendable ([UInt8]) throws -> Void

    var isFramed: Bool { layer != nil }

    static let all = [
        codec, h4, commands, events, channels, classicChannels, retransmission, credits, data, attributes, pairing, linkLayer, linkManager,
        captures, usbip, cases, bonds, serviceDiscovery, serialPorts, streaming, remoteControl, handsFree,
    ]
}

/// What is tested did not keep a promise.
struct BrokenPromise: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

func promise(_ holds: Bool, _ text: @autoclosure () -> String) throws {
    if !holds { throw BrokenPromise(text()) }
}
