import BBHCI
import BBPackets
import BBTiming

/// The inquiry of a host, and the names of devices around. Core Vol 3, Part C, 6.
final class Inquiring {
    private var inquiry: Inquiry?
    private unowned let host: Host

    init(_ host: Host) { self.host = host }

    var isIdle: Bool { inquiry == nil }

    func start(_ settings: InquirySettings, _ onResult: ((InquiryResult) -> Void)?) async throws -> Inquiry {
        try await host.classicSetup.prepare()
        guard inquiry == nil else { throw HostError.misuse(.busy(.inquiry)) }
        let started = Inquiry(self, on: host.loop, bufferLimit: settings.bufferLimit)
        started.onResult = onResult
        inquiry = started
        do {
            try await host.scanning.rest()
            try await setInquiryMode(settings.mode)
            try await host.send(
                HCICommands.Inquiry(lap: settings.lap, inquiryLength: settings.length, numResponses: settings.mostResponses))
        } catch {
            inquiry = nil
            started.finish(nil)
            host.scanning.wake()
            throw error
        }
        return started
    }

    /// Sets the inquiry mode. A controller without extended results may support results with RSSI, otherwise standard results. Core Vol 4,
    /// Part E, 7.3.50.
    private func setInquiryMode(_ wanted: InquirySettings.Mode?) async throws {
        guard host.controller.supports(HCICommands.WriteInquiryMode.self) else { return }
        for mode in wanted.map({ [$0] }) ?? [.extended, .rssi] {
            do {
                try await host.send(HCICommands.WriteInquiryMode(inquiryMode: mode.rawValue))
                return
            } catch HostError.peer(.rejected) where wanted == nil {
                continue
            }
        }
    }

    func stop(_ inquiry: Inquiry) async throws {
        guard inquiry.isRunning else { return }
        self.inquiry = nil
        inquiry.finish(nil)
        do {
            try await host.send(HCICommands.InquiryCancel())
        } catch HostError.peer(.rejected(_, .commandDisallowed)) {
            // It had ended by itself.
        }
        host.scanning.wake()
    }

    func name(of address: BDADDR, found: InquiryResult?) async throws -> String {
        try await host.classicSetup.prepare()
        // The most significant bit marks the offset as valid.
        let command = HCICommands.RemoteNameRequest(
            bdADDR: address, pageScanRepetitionMode: found?.pageScanRepetition ?? 1,
            clockOffset: found.map { $0.clockOffset | 0x8000 } ?? 0)
        let event = try await host.commands.procedure(command, ends: HCIEvents.RemoteNameRequestComplete.self, on: nil) {
            $0.bdADDR == address
        }
        guard event.status == .success else { throw HostError.peer(.rejected(HCICommands.RemoteNameRequest.name, event.status)) }
        return String(decoding: event.remoteName.prefix { $0 != 0 }, as: UTF8.self)
    }

    // MARK: Events

    func received(_ packet: HCIPacket) throws(PDUError) {
        guard let inquiry else { return }
        for result in try Self.results(packet) { inquiry.receive(result) }
    }

    private static func results(_ packet: HCIPacket) throws(PDUError) -> [InquiryResult] {
        switch packet.eventCode {
        case HCIEvents.InquiryResult.code:
            return try packet.event(as: HCIEvents.InquiryResult.self).responses.map {
                InquiryResult(
                    address: $0.bdADDR, classOfDevice: $0.classOfDevice, clockOffset: $0.clockOffset,
                    pageScanRepetition: $0.pageScanRepetitionMode)
            }
        case HCIEvents.InquiryResultWithRSSI.code:
            return try packet.event(as: HCIEvents.InquiryResultWithRSSI.self).responses.map {
                InquiryResult(
                    address: $0.bdADDR, classOfDevice: $0.classOfDevice, clockOffset: $0.clockOffset,
                    pageScanRepetition: $0.pageScanRepetitionMode, rssi: $0.rssi)
            }
        default:
            let event: HCIEvents.ExtendedInquiryResult = try packet.event()
            // All zeros if the device announced an extended response that was not received.
            let data = event.extendedInquiryResponse.contains { $0 != 0 } ? AdvertisingData(octets: event.extendedInquiryResponse) : nil
            return [
                InquiryResult(
                    address: event.bdADDR, classOfDevice: event.classOfDevice, clockOffset: event.clockOffset,
                    pageScanRepetition: event.pageScanRepetitionMode, rssi: event.rssi, data: data)
            ]
        }
    }

    /// The controller has ended the inquiry.
    func ended() {
        ended(nil)
        host.scanning.wake()
    }

    /// The controller was reset, or the pipe has ended.
    func ended(_ error: HostError?) {
        inquiry?.finish(error)
        inquiry = nil
    }
}

extension Host {
    /// Starts an inquiry; a controller runs one at a time.
    ///
    /// - Parameter onResult: called synchronously with each result. Without it, results are read from `Inquiry.results`, or all together
    ///   from `Inquiry.ended()`.
    public func inquire(_ settings: InquirySettings = InquirySettings(), onResult: ((InquiryResult) -> Void)? = nil) async throws -> Inquiry
    {
        try await inquiring.start(settings, onResult)
    }

    /// Reads the name of a device, connected or not. Core Vol 3, Part C, 6.3.
    ///
    /// - Throws: `HostError.peer(.rejected)` with the reason, such as Page Timeout.
    public func name(of address: BDADDR, found: InquiryResult? = nil) async throws -> String {
        try await inquiring.name(of: address, found: found)
    }
}
