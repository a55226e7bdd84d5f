import BBPackets

/// An entry point for untrusted input.
struct FuzzTarget: Sendable {
    typealias LayerOfAction = @Sendable (Frames.Action) -> Layer?

    var name: String
    /// Layer of the PDU in a frame with this action; nil if the frame contains arbitrary octets. Without this closure, the input has no
    /// frames.
    var layer: LayerOfAction?
    /// True for a format of words, brackets and lines; only without frames.
    var isText = false
    /// Initial inputs.
    var seeds: @Sendable () -> [[UInt8]]
    /// - Throws: if the code under test breaks a promise; a trap is a finding, too.
    var run: @Sendable ([UInt8]) throws -> Void

    var isFramed: Bool { layer != nil }

    static let all = [
        codec, h4, commands, events, channels, classicChannels, retransmission, credits, enhancedBearers, data, attributes, pairing,
        linkLayer, linkManager,
        captures, rules, requests, usbip, usbfs, cases, bonds, serviceDiscovery, serialPorts, streaming, remoteControl, handsFree,
        results, journals, figures, notes, virtualTimeServers, virtualTimeClients, introductions, upperTesters, upperTesterCommands,
        modelContext, livePages, devices, profiles, knownDongles, mutants, variants, realtekFirmware, intelFirmware, conditions,
        expressions, productLogs, archives, logs, bugReports, anonymousCaptures, serialised, descriptors,
    ]
}

/// The code under test has broken a promise.
struct BrokenPromise: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

func promise(_ holds: Bool, _ text: @autoclosure () -> String) throws {
    if !holds { throw BrokenPromise(text()) }
}
