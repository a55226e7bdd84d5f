import BBBench
import BBCases
import BBDongles
import BBHCI
import BBPackets
import BBTiming
import BBTransport
import BBTransportUSB

/// The devices of a run, which remain open between cases. A lost device may be awaited and reopened.
public final class HeldDevices {
    let loop: RunLoop
    /// The time to wait for a missing device; nil if a loss is permanent.
    public let timeOut: Microseconds?
    private let selectors: [(side: Side, selector: DeviceSelector)]
    private let setup: BenchSetup
    private(set) var devices: [Side: HeldTransport] = [:]
    private var identities: [Side: USBDeviceIdentity] = [:]
    /// The locks, which reserve the dongles even while they are off the bus.
    private var locks: [DongleLock] = []
    private var books: [Side: DeviceReport] = [:]
    private var publicAddresses: [Side: BDADDR] = [:]
    private var noted: [Side: LearnedConductList] = [:]
    /// Captures the commands that are sent to a device when it is opened.
    var recorder: Recorder?

    /// - Parameter timeOut: the time to wait for a device that is lost or not present yet.
    public init(_ setup: BenchSetup, timeOut: Microseconds? = nil) {
        self.timeOut = timeOut
        loop = RunLoop(mode: setup.tester.isInVirtualTime ? .virtual : .wall, watchesDescriptors: true)
        self.setup = setup
        selectors = [(Side.tester, setup.isAlone ? nil : setup.tester), (.subject, setup.subject)].compactMap { side, selector in
            selector.map { (side, $0) }
        }
    }

    /// Descriptions of the devices and of events such as losses so far.
    public var reports: [DeviceReport] {
        for side in Side.allCases { account(for: side) }
        return Side.allCases.compactMap { books[$0] }
    }

    public func close() {
        for side in Side.allCases { put(away: side) }
        locks = []
    }

    // MARK: Opening

    /// Opens all devices that are not open, at the start of a run or after a loss. With a time-out it waits for missing devices.
    ///
    /// - Returns: nil if every device is open, otherwise the reason why the run cannot continue.
    func bringBack(stopping: StopFlag, observer: (any RunObserver)?) throws -> String? {
        try stopping.run(on: loop) { [self] in
            for (side, selector) in selectors where devices[side]?.failure != nil || devices[side] == nil {
                if let reason = await bringBack(side, selector, stopping, observer) { return reason }
            }
            return nil
        }
    }

    private func bringBack(_ side: Side, _ selector: DeviceSelector, _ stopping: StopFlag, _ observer: (any RunObserver)?) async -> String?
    {
        let began = devices[side]?.failedAt ?? loop.now
        let name = "the \(side.rawValue) \(devices[side]?.name ?? selector.description)"
        let lost = devices[side]?.failure.map { "the \(side.rawValue) was lost: \($0)" }
        put(away: side)
        let deadline = loop.now + (timeOut ?? .zero)
        var told = Microseconds.zero - .seconds(1)
        while true {
            guard let impediment = await attempt(side, selector) else {
                if lost != nil || told >= .zero { observer?.isBack(name, after: loop.now - began) }
                noteReturn(of: side, after: loop.now - began)
                return nil
            }
            guard let timeOut, impediment.mayPass else { return lost ?? impediment.text }
            guard loop.now < deadline else {
                return lost.map { "\($0); \(impediment.text) within \(timeOut.text)" }
                    ?? "no device within \(timeOut.text): \(impediment.text)"
            }
            if loop.now - told >= .seconds(1) {
                told = loop.now
                observer?.waits(for: name, because: impediment.text, left: deadline - loop.now)
            }
            do { try await loop.sleep(for: .milliseconds(50)) } catch {
                return (lost ?? impediment.text) + "; the run was stopped while it waited"
            }
        }
    }

    /// The reason why a device cannot be opened.
    private struct Impediment {
        var text: String
        /// True if waiting may help.
        var mayPass = true
    }

    private func attempt(_ side: Side, _ selector: DeviceSelector) async -> Impediment? {
        var selector = selector
        if let identity = identities[side] {
            switch identity.look() {
            case .absent: return Impediment(text: "it did not come back")
            case .stranger(let other): return Impediment(text: "only another dongle came, \(other.serial ?? "without a serial number"),")
            case .here(let name): selector = .usb(name)
            }
        }
        do {
            let held = HeldTransport(try setup.opener.device(selector, on: loop), on: loop)
            devices[side] = held
            try held.start()
            try await held.isReady.value()
            try await note(held, of: side)
            return nil
        } catch is CancellationError {
            put(away: side)
            return Impediment(text: "the run was stopped before its devices were there", mayPass: false)
        } catch {
            put(away: side)
            return Impediment(text: "\(error)", mayPass: identities[side] != nil || Self.mayAppear(selector, error))
        }
    }

    /// Returns true if a device that cannot be opened at the start of a run may appear later.
    private static func mayAppear(_ selector: DeviceSelector, _ error: any Error) -> Bool {
        switch (selector, error as? TransportError) {
        case (.usb(let selector), .unreachable), (.usb(let selector), .lost): USBEnumeration.count(of: selector) <= 1
        case (_, .unreachable), (_, .lost): true
        default: false
        }
    }

    // MARK: Reports

    /// Records the identity of a device, or its return.
    private func note(_ held: HeldTransport, of side: Side) async throws {
        if let last = books[side]?.losses.indices.last {
            books[side]?.losses[last].device = held.name
            books[side]?.losses[last].startup = held.startOfPipe?.step
            return
        }
        var report = DeviceReport(side: side.rawValue, device: held.name)
        report.product = held.product
        report.startup = held.startOfPipe?.step
        report.discarded = held.startOfPipe?.discarded ?? 0
        report.usbMode = held.startOfPipe?.mode
        if let mode = report.usbMode { recorder?.note("the \(side.rawValue) \(held.name): \(mode)") }
        let probe = try DongleProbe(recorder?.capturing(held, side, on: loop) ?? held, on: loop)
        defer { probe.close() }
        let identity = try await probe.identity()
        let address = identity.address.map { ", \($0)" } ?? ""
        let numbers = DongleNumbers(identity, usb: held.usb?.description)
        let rows = setup.opener.known.find(numbers)
        report.numbers = numbers
        report.known = rows.map { "\($0.id): \($0.conduct)" }
        report.workarounds = DongleWorkarounds(rows).namesInUse
        note(identity.address, of: side)
        report.controller = "Core \(identity.coreVersion), \(identity.chip)\(address)"
        books[side] = report
        identities[side] = held.usb?.identity
        if let dongle = held.usb { locks.append(try DongleLock(dongle.description.location)) }
    }

    /// Notes a public address that is not unique; cases use a static one instead.
    private func note(_ address: DeviceAddress?, of side: Side) {
        guard let address = address?.bdADDR else { return }
        let origin = setup.opener.known.origin(ofShared: DeviceAddress(address, kind: .public))
        if let doubt = PublicAddressDoubt(address, others: Set(publicAddresses.filter { $0.key != side }.values), origin: origin) {
            noted[side, default: LearnedConductList()].note(doubt.kind, "\(doubt.text(address)): it goes by a static random address")
        }
        publicAddresses[side] = address
    }

    private func noteReturn(of side: Side, after away: Microseconds) {
        guard let last = books[side]?.losses.indices.last else { return }
        books[side]?.losses[last].awayMilliseconds = away.milliseconds
    }

    /// Adds the statistics since the last call.
    private func account(for side: Side) {
        guard let held = devices[side], var report = books[side] else { return }
        _ = held.takeReordering()
        let reordering = held.takeAllReordering()
        report.held += reordering.held
        report.dropped += reordering.dropped
        report.worstWaitMilliseconds = max(report.worstWaitMilliseconds, reordering.worstWait.milliseconds)
        report.clearedHalts += held.takeClearedHalts()
        report.usbMode = held.startOfPipe?.mode ?? report.usbMode
        var learned = held.learned
        if let noted = noted[side] { learned.add(noted) }
        report.learned = learned.all.map(DeviceReport.Learned.init)
        books[side] = report
    }

    /// Closes a device and keeps its statistics.
    private func put(away side: Side) {
        guard let held = devices[side] else { return }
        held.release()
        account(for: side)
        devices[side] = nil
        guard held.wasReady, books[side] != nil, let failure = held.failure, let time = held.failedAt else { return }
        books[side]?.losses.append(DeviceReport.Loss(atMilliseconds: time.milliseconds, reason: "\(failure)"))
    }
}
