import Dongles
import Host
import Packets
import Timing
import Transport
import TransportUSB

/// What prevents a dongle's use, in a word that programs can rely on; the sentence beside it is for people.
enum ImpedimentKind: String, Encodable, CaseIterable {
    /// The user may not open it.
    case permission
    /// Another program, or a kernel driver that does not let go, holds it.
    case busy
    /// It was there and went away.
    case lost
    /// It is no dongle that the bench could use.
    case unfit
    /// Its firmware is missing, or does not load.
    case firmware
    /// It does not answer, or answers what no controller may.
    case silent
    /// The system says no.
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
    /// Looks again and again until enough can be used. What it finds last is the answer, whether that is enough or not. A dongle is asked only when
    /// there seem to be enough: each question resets it.
    func wait(for names: [String], atLeast needed: Int, seconds: Int) throws -> [DeviceRow] {
        let loop = Timing.RunLoop(mode: .wall)
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

    /// How many dongles there are that nothing is known against.
    private func listed(_ names: [String]) throws -> Int {
        let selectors: [USBSelector]
        do {
            selectors = try names.compactMap { if case .usb(let selector) = try DeviceSelector($0) { selector } else { nil } }
        } catch { throw CommandFailure(error) }
        guard selectors.count == names.count else { throw CommandFailure(.usage, "--wait-for-device is for dongles on USB") }
        let dongles: [USBDongleDescription]
        do { dongles = try USBEnumeration.dongles() } catch { throw CommandFailure(.bench, "\(error)") }
        return dongles.count { dongle in dongle.impediment == nil && (names.isEmpty || selectors.contains { dongle.matches($0) }) }
    }
}
