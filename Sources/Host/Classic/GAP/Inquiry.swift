import BBPackets
import BBTiming

/// Inquiry parameters. Core Vol 4, Part E, 7.1.1 and 7.3.50.
public struct InquirySettings: Sendable, Hashable {
    /// Inquiry mode: kind of result events.
    public enum Mode: UInt8, Sendable, Hashable, CaseIterable {
        case standard
        case rssi
        case extended
    }

    /// Limited instead of general inquiry. Core Vol 3, Part C, 6.1 and 6.2.
    public var isLimited = false
    /// N x 1.28 s, 1...48; half of the default finds most devices. Core Vol 3, Part C, Appendix A.
    public var length: UInt8 = 8
    /// Number of devices after which the inquiry ends; 0 for no limit.
    public var mostResponses: UInt8 = 0
    /// Inquiry mode; nil for the best one that the controller supports.
    public var mode: Mode?
    /// Maximum number of buffered results in `Inquiry.results`.
    public var bufferLimit = 256

    public init() {}

    /// LAP of GIAC or LIAC. Assigned numbers, 2.2.
    var lap: UInt32 { isLimited ? Self.limitedLAP : Self.generalLAP }
    static let limitedLAP: UInt32 = 0x9E8B00
    static let generalLAP: UInt32 = 0x9E8B33
}

/// A device found by an inquiry. Core Vol 4, Part E, 7.7.2, 7.7.33 and 7.7.38.
public struct InquiryResult: Sendable, Hashable {
    public var address: BDADDR
    public var classOfDevice: UInt32
    /// Bits 16-2 of the clock difference.
    public var clockOffset: UInt16
    /// Page scan repetition mode: R0, R1 or R2.
    public var pageScanRepetition: UInt8
    /// RSSI in dBm; nil if the controller does not report it.
    public var rssi: Int8?
    /// The extended inquiry response, if there was one.
    public var data: AdvertisingData?

    /// The name in the extended inquiry response.
    public var name: String? { data?.localName }
}

/// A running or completed inquiry.
public final class Inquiry {
    /// Each device once, and again if more is known about it. Results that find the buffer full are dropped and counted.
    public let results: AsyncThrowingStream<InquiryResult, any Error>
    /// Called with each result on the loop, instead of `results`.
    public var onResult: ((InquiryResult) -> Void)?
    /// All devices so far, in the order in which they were found.
    public private(set) var found: [InquiryResult] = []
    public private(set) var dropped = 0
    public private(set) var isRunning = true
    private let continuation: AsyncThrowingStream<InquiryResult, any Error>.Continuation
    private let end: Promise<Void>
    private unowned let owner: Inquiring

    /// Limit against peers that make up addresses; more devices than are ever in range.
    private static let mostDevices = 1_024

    init(_ owner: Inquiring, on loop: RunLoop, bufferLimit: Int) {
        self.owner = owner
        end = Promise(on: loop)
        (results, continuation) = AsyncThrowingStream.makeStream(bufferingPolicy: .bufferingOldest(max(1, bufferLimit)))
    }

    /// Waits until the inquiry has ended by itself, and returns the devices found.
    @discardableResult
    public func ended() async throws -> [InquiryResult] {
        try await end.value()
        return found
    }

    /// Stops the inquiry; `results` ends after the buffered results.
    public func stop() async throws { try await owner.stop(self) }

    func receive(_ result: InquiryResult) {
        if let index = found.firstIndex(where: { $0.address == result.address }) {
            guard found[index].data == nil, result.data != nil else { return }
            found[index] = result
        } else {
            guard found.count < Self.mostDevices else {
                dropped += 1
                return
            }
            found.append(result)
        }
        if let onResult { return onResult(result) }
        if case .dropped = continuation.yield(result) { dropped += 1 }
    }

    func finish(_ error: HostError?) {
        guard isRunning else { return }
        isRunning = false
        continuation.finish(throwing: error)
        if let error { end.fail(error) } else { end.fulfil(()) }
    }
}
