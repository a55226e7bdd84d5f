import BBHCI
import BBPackets
import BBTiming

/// Parameters of a synchronous connection. Core Vol 4, Part E, 7.1.26.
public struct SynchronousSettings: Sendable, Hashable {
    /// Octets per second in each direction, on the air.
    public var bandwidth: UInt32 = 8_000
    /// In milliseconds.
    public var maxLatency: UInt16
    /// Voice setting. Core Vol 4, Part E, 6.12.
    public var voiceSetting: UInt16
    public var retransmissionEffort: UInt8
    /// Bits that allow basic rate packet types and bits that disallow EDR types.
    public var packetTypes: UInt16

    public init(maxLatency: UInt16, voiceSetting: UInt16, retransmissionEffort: UInt8, packetTypes: UInt16) {
        (self.maxLatency, self.voiceSetting) = (maxLatency, voiceSetting)
        (self.retransmissionEffort, self.packetTypes) = (retransmissionEffort, packetTypes)
    }

    /// True if an eSCO packet type is allowed: EV3, EV4, EV5, or an EDR type, which bits 6...9 disallow. Core Vol 4, Part E, 7.1.26.
    var allowsESCO: Bool { packetTypes & 0x0038 != 0 || packetTypes & 0x03C0 != 0x03C0 }
}

/// An SCO or eSCO connection, which carries voice in synchronous data packets without flow control. Core Vol 4, Part E, 5.4.3.
public final class SynchronousConnection {
    public let handle: ConnectionHandle
    public let peer: BDADDR
    public let isExtended: Bool
    /// Number of HCI packets in each direction.
    public private(set) var sent = 0
    public private(set) var received = 0
    /// Number of packets with Packet_Status_Flag "possibly invalid", or with data missing according to the controller.
    public private(set) var doubtful = 0
    /// Reason for the disconnection; nil while connected.
    public private(set) var disconnectReason: ErrorCode?
    /// Called with the voice data of each packet.
    var onReceive: ([UInt8]) -> Void = { _ in }
    var onEnd: () -> Void = {}
    private unowned let host: Host
    private let end: Promise<ErrorCode>

    init(_ event: HCIEvents.SynchronousConnectionComplete, host: Host) {
        (handle, peer, isExtended) = (event.connectionHandle, event.bdADDR, event.linkType == .eSCO)
        self.host = host
        end = Promise(on: host.loop)
    }

    /// Sends voice, split to the length of the controller's buffers; the caller determines the rate.
    func send(_ voice: [UInt8]) {
        let most = host.controller.voiceDataLength
        guard disconnectReason == nil, most > 0 else { return }
        for start in stride(from: 0, to: voice.count, by: most) {
            let part = Array(voice[start..<min(voice.count, start + most)])
            host.path.send(HCIPacket(.sco, HCIData.SynchronousData(connectionHandle: handle, data: part).parameters))
            sent += 1
        }
    }

    /// Disconnects and waits until it has ended; the ACL link stays connected.
    func disconnect() async throws {
        guard disconnectReason == nil else { return }
        try await host.send(HCICommands.Disconnect(connectionHandle: handle, reason: .remoteUserTerminatedConnection))
        _ = try await end.value()
    }

    // MARK: Events

    func receive(_ packet: HCIData.SynchronousData) {
        received += 1
        if packet.packetStatusFlag != 0 { doubtful += 1 }
        onReceive(packet.data)
    }

    func ended(_ reason: ErrorCode) {
        guard disconnectReason == nil else { return }
        disconnectReason = reason
        end.fulfil(reason)
        onEnd()
    }
}

/// Synchronous connections. Core Vol 4, Part E, 7.1.26 to 7.1.28.
extension ClassicConnection {
    /// Requests a synchronous connection with each setting in turn until the peer accepts one.
    ///
    /// - Throws: `HostError.peer(.rejected)` with the reason of the last rejection. If the peer's host does not reply, there is no second
    ///   attempt.
    func openSynchronous(_ settings: [SynchronousSettings]) async throws {
        var refusal = ErrorCode.unsupportedFeatureOrParameterValue
        for setting in settings {
            do {
                let command = HCICommands.SetupSynchronousConnection(
                    connectionHandle: handle, transmitBandwidth: setting.bandwidth, receiveBandwidth: setting.bandwidth,
                    maxLatency: setting.maxLatency, voiceSetting: setting.voiceSetting,
                    retransmissionEffort: setting.retransmissionEffort, packetType: setting.packetTypes)
                let address = address
                let event = try await host.commands.procedure(command, ends: HCIEvents.SynchronousConnectionComplete.self, on: handle) {
                    $0.bdADDR == address
                }
                if event.status == .success { return }
                refusal = event.status
                if refusal == .connectionAcceptTimeoutExceeded { break }
            } catch HostError.peer(.rejected(_, let status)) {
                refusal = status
            }
        }
        throw HostError.peer(.rejected(HCICommands.SetupSynchronousConnection.name, refusal))
    }
}
