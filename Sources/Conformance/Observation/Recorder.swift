import BBCapture
import BBCases
import BBPackets
import BBTiming
import BBTraffic
import BBTransport
import Foundation

/// Numbers the packets of a run and writes them to its capture, if it has one. The cases follow one another in time.
public final class Recorder {
    private let log: CaptureLog?
    private let air: CaptureLog?
    private var airInterface = 0
    /// The capture interface of the air, besides tester and subject.
    private var ownAirInterface: Int?
    private var interfaces: [Side: Int] = [:]
    private var offset: Microseconds = .zero
    private var uncaptured = 0
    /// Removes the keys from the captures; nil to capture them, too.
    public var secrets: Secrets?
    /// Called with the keys of encrypted links on the simulated air, in the order of their sessions: access address and long term key.
    public var onKey: ((UInt32, UInt128) -> Void)?
    private let isContinued: Bool
    /// The size limit of a run's captures, which protects the disk from a subject that sends too much.
    private let mostOctets: Int
    private var octets = 0
    private var left = 0

    /// - Parameters:
    ///   - path: the path of the capture; without one the packets are only numbered.
    ///   - airPath: the path of the air log, in pcapng.
    ///   - hasAir: true to capture the simulated air as a third interface in pcapng, without empty packets.
    ///   - isContinued: true to keep an existing file and write to another one.
    ///   - devices: real devices, whose packets have real timestamps.
    ///   - mostOctets: the limit of the captured octets; later packets are only numbered.
    public init(
        path: String?, airPath: String? = nil, hasAir: Bool = false, isContinued: Bool = false,
        devices: HeldDevices? = nil, mostOctets: Int = 2 << 30
    ) throws(CaptureError) {
        self.isContinued = isContinued
        self.mostOctets = mostOctets
        if let airPath {
            let log = try CaptureLog(path: isContinued ? Self.freePath(beside: airPath) : airPath, format: .pcapng)
            airInterface = try log.addAir()
            air = log
        } else {
            air = nil
        }
        guard let path else {
            log = nil
            return
        }
        let epoch = devices.map { CaptureTime.epoch(of: $0.loop) } ?? .virtualEpoch
        let log = try CaptureLog(path: isContinued ? Self.freePath(beside: path) : path, epoch: epoch)
        for side in Side.allCases { interfaces[side] = try log.addController(side.rawValue) }
        if hasAir, log.isCommented { ownAirInterface = try log.addAir() }
        self.log = log
    }

    /// Returns the path, with a number before its extension if the file exists.
    private static func freePath(beside path: String) -> String {
        guard FileManager.default.fileExists(atPath: path) else { return path }
        let url = URL(fileURLWithPath: path)
        let stem = url.deletingPathExtension().path
        let number = (2...9_999).first { !FileManager.default.fileExists(atPath: "\(stem)-\($0).\(url.pathExtension)") } ?? 10_000
        return "\(stem)-\(number).\(url.pathExtension)"
    }

    /// The number of the last packet.
    public var count: Int { (log?.count ?? 0) + uncaptured }
    /// A description of the packets missing because of the size limit; nil if there are none.
    public var shortfall: String? {
        left == 0 ? nil : "the captures are full at \(mostOctets >> 20) MiB: \(left) later packets are not in them"
    }
    /// The name of the capture file.
    var captureName: String? { log.map { URL(fileURLWithPath: $0.path).lastPathComponent } }
    /// The first write failure.
    public var failure: CaptureError? { log?.failure ?? air?.failure }

    func record(_ packet: HCIPacket, _ direction: CaptureDirection, _ side: Side, at time: Microseconds) -> Int {
        let packet = secrets?.hide(packet) ?? packet
        guard let log, let interface = interfaces[side], hasRoom(for: packet.bytes.count) else {
            uncaptured += 1
            return count
        }
        return log.record(packet, direction, interface: interface, at: offset + time)
    }

    /// Returns a transport whose packets are captured, for commands outside cases.
    func capturing(_ transport: any HCITransport, _ side: Side, on loop: BBTiming.RunLoop) -> any HCITransport {
        guard let log, let interface = interfaces[side] else { return transport }
        return CaptureTransport(transport, into: log, interface: interface, on: loop)
    }

    /// Marks the next packet as the first of a case.
    func beginCase(_ id: String) { for log in logs { log.comment(CaseMark.begins(id).text) } }

    /// Adds a remark about a device to its next packet.
    func note(_ text: String) { log?.comment(text) }

    /// Marks the packet at which a case failed or was aborted.
    func mark(_ text: String) {
        let text = secrets?.hide(text) ?? text
        for log in logs { log.commentLast(text) }
    }

    /// Ends a case whose clock stopped at `time`; the next case starts one second later.
    ///
    /// - Parameter isShared: true if the next case continues with the same clock.
    func endCase(_ id: String, _ verdict: Verdict, at time: Microseconds, isShared: Bool) {
        for log in logs { log.commentLast(CaseMark.ends(id, verdict: verdict.rawValue).text) }
        if !isShared { offset += time + .seconds(1) }
        log?.flush()
        air?.flush()
    }

    /// Logs the packets on the air of a case's world, if the run is set to do so.
    func logAir(of world: SimulatedWorld) {
        if let onKey { world.simulation.logKeys(to: onKey) }
        guard air != nil || ownAirInterface != nil else { return }
        world.simulation.logAir { [self] frame, time in
            let own = frame.isIdle ? nil : ownAirInterface
            guard air != nil || own != nil, hasRoom(for: frame.octets) else { return }
            air?.record(frame, interface: airInterface, at: offset + time)
            if let own { log?.record(frame, interface: own, at: offset + time) }
        }
    }

    private var logs: [CaptureLog] { [log, air].compactMap(\.self) }

    private func hasRoom(for octets: Int) -> Bool {
        guard self.octets < mostOctets else {
            left += 1
            return false
        }
        self.octets += octets + Self.octetsOfHeader
        return true
    }

    /// The approximate number of octets that a format adds to each packet.
    private static let octetsOfHeader = 32

    /// Closes the files. A continued run without remaining cases leaves no file.
    ///
    /// - Throws: the first failure, after both files are closed.
    public func finish() throws(CaptureError) {
        var failure: CaptureError?
        for log in logs {
            do { try log.finish() } catch { failure = failure ?? error }
            if isContinued, log.count == 0 { unlink(log.path) }
        }
        if let failure { throw failure }
    }
}

extension AnyAirFrame {
    fileprivate var octets: Int {
        switch self {
        case .le(let frame): frame.bytes.count
        case .bredr(let frame): frame.payload.count
        }
    }

    /// True for an empty packet of an LE link and for ID, POLL and NULL of BR/EDR, which are about 90% of the packets on the air.
    fileprivate var isIdle: Bool {
        switch self {
        case .le(let frame): frame.pdu.map { $0.kind == .data && $0.length == 0 } ?? false
        case .bredr(let frame): frame.payload.isEmpty
        }
    }
}
