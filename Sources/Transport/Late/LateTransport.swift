import BBPackets
import BBTiming

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A host's end of a pipe that is read late, as a busy machine reads it.
public final class LateTransport: HCITransport, HCITransportSink {
    public var name: String { inner.name }
    public var product: String? { inner.product }
    public var startOfPipe: PipeStart? { inner.startOfPipe }
    public var learned: LearnedConductList { inner.learned }

    private let inner: any HCITransport
    private let loop: RunLoop
    private let reading: LateReading
    private var random: RandomSource
    private lazy var reader = LateReader(
        reading, on: loop, number: { [unowned self] in Int.random(in: $0, using: &random) },
        handOn: { [unowned self] in sink?.received($0, at: loop.now) })
    private var sink: (any HCITransportSink)?

    /// - Parameter seed: determines random times.
    public init(_ inner: any HCITransport, _ reading: LateReading, seed: UInt64, on loop: RunLoop) {
        (self.inner, self.reading, self.loop) = (inner, reading, loop)
        random = RandomSource(seed: seed, label: "late \(inner.name)")
    }

    public func open(_ sink: any HCITransportSink) throws(TransportError) {
        self.sink = sink
        try inner.open(self)
    }

    public func send(_ packet: HCIPacket) { inner.send(packet) }
    public func takeReordering() -> ReorderingStatistics { inner.takeReordering() }

    public func close() {
        reader.discard()
        sink = nil
        inner.close()
    }

    public func received(_ packet: HCIPacket, at time: Microseconds) { reader.add(packet) }

    public func closed(_ reason: TransportError) {
        reader.flush()
        let sink = sink
        self.sink = nil
        sink?.closed(reason)
    }
}

extension LateReading {
    /// The variable that lets the tests of hosts run over late pipes: `joins-packets=20`, `late-packets=0-100`, as the quirks of these
    /// names, and after a comma a seed.
    private static let variable = "BLUEBENCH_PIPE"

    /// The reading that the environment asks for, with its seed.
    private static let ofEnvironment: (reading: LateReading, seed: UInt64)? = {
        guard let value = getenv(variable) else { return nil }
        let parts = String(cString: value).split(separator: ",", maxSplits: 1).map(String.init)
        let words = (parts.first ?? "").split(separator: "=", maxSplits: 1).map(String.init)
        let limits = (words.last ?? "").split(separator: "-").compactMap { Int($0) }
        guard words.count == 2, ["joins-packets", "late-packets"].contains(words[0]), let first = limits.first, let last = limits.last,
            0 <= first, first <= last
        else { return nil }
        let seed = parts.count > 1 ? UInt64(parts[1]) ?? 1 : 1
        return (LateReading(first...last, isJoined: words[0] == "joins-packets"), seed)
    }()

    /// A host's end of a pipe, read late if the environment asks for it.
    public static func asAsked(_ pipe: any HCITransport, on loop: RunLoop) -> any HCITransport {
        ofEnvironment.map { LateTransport(pipe, $0.reading, seed: $0.seed, on: loop) } ?? pipe
    }
}
