import BBDongles
import BBHost
import BBPackets
import BBTiming
import BBTransport
import BBTransportUSB

/// The reason why a dongle is unusable, as a stable word for programs.
enum ImpedimentKind: String, Encodable, CaseIterable {
    /// The user has no permission to open it.
    case permission
    /// It is in use by another program or by a kernel driver that cannot be detached.
    case busy
    /// It was present and was lost.
    case lost
    /// It is not a dongle that the bench can use.
    case unfit
    /// Its firmware is missing or cannot be loaded.
    case firmware
    /// It does not answer, or its answers are invalid.
    case silent
    /// The system has reported another error.
    case other

    init?(_ dongle: USBDongleDescription) {
        switch dongle.impediment {
        case nil: return nil
        case .permission: self = .permission
        case .busy: self = .busy
        case .other: self = dongle.unfit == nil ? .other : .unfit
        }
    }

    init(_ error: any Error) {
        switch error {
        case is FirmwareError: self = .firmware
        case let error as TransportError: self = Self.kind(of: error)
        case is HostError: self = .silent
        default: self = .other
        }
    }

    private static func kind(of error: TransportError) -> ImpedimentKind {
        switch error {
        case .notPermitted: .permission
        case .busy: .busy
        case .lost: .lost
        case .unprepared: .firmware
        case .desynchronised, .crashed, .overrun: .silent
        case .unreachable: .other
        }
    }
}

extension DeviceRows {
    /// Waits until enough dongles are usable, and returns the last rows in any case. Dongles are probed only if there
    /// appear to be enough, because each probe resets them.
    func wait(for names: [String], atLeast needed: Int, seconds: Int) throws -> [DeviceRow] {
        let loop = BBTiming.RunLoop(mode: .wall)
        let deadline = MonotonicClock.now() + .seconds(seconds)
        while true {
            let isLast = MonotonicClock.now() >= deadline
            if try isLast || listed(names) >= needed {
                let found = try all(names)
                if isLast || found.count(where: { $0.impediment == nil }) >= needed { return found }
            }
            do { try stopping.run(on: loop) { try await loop.sleep(for: .milliseconds(250)) } } catch { return [] }
        }
    }

    /// Returns the number of dongles without a known impediment.
    private func listed(_ names: [String]) throws -> Int {
        let selectors: [USBSelector]
        do {
            selectors = try names.compactMap { if case .usb(let selector) = try DeviceSelector($0) { selector } else { nil } }
        } catch { throw CommandFailure(error) }
        guard selectors.count == names.count else { throw CommandFailure(.usage, "--wait-for-device needs a dongle on USB") }
        let dongles: [USBDongleDescription]
        do { dongles = try USBEnumeration.dongles() } catch { throw CommandFailure(.bench, "\(error)") }
        return dongles.count { dongle in dongle.impediment == nil && (names.isEmpty || selectors.contains { dongle.matches($0) }) }
    }
}
