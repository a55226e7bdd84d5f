import BBPackets

/// Parameters of the current inquiry, and its results.
struct InquiryState {
    let inquirer: Inquirer
    /// Maximum number of responses; 0 for no limit.
    let mostResponses: Int
    /// Devices already reported to the host during this inquiry.
    var found: Set<BDADDR> = []
    /// Devices reported without the extended inquiry response that they announced.
    var incomplete: Set<BDADDR> = []
}

extension BREDRController {
    func startInquiry(lap: UInt32, duration: Microseconds, mostResponses: Int) {
        let inquirer = Inquirer(
            Inquirer.Settings(lap: lap, duration: duration, power: settings.inquiryPower, hearsExtended: settings.inquiryMode == .extended),
            clock: clock, radio: radio, delegate: self)
        inquiring.add(inquirer)
        inquiry = InquiryState(inquirer: inquirer, mostResponses: mostResponses)
        inquirer.start()
    }

    func stopInquiry() {
        inquiring.stopAll()
        inquiry = nil
    }

    /// Starts, changes or stops inquiry scan according to the settings.
    func updateInquiryScan() {
        guard settings.isInquiryScanning else {
            return inquiryScanning.stopAll()
        }
        let scan = InquiryScanner.Settings(
            interval: NativeClock.slot * Int(settings.inquiryScan.interval), window: NativeClock.slot * Int(settings.inquiryScan.window),
            isInterlaced: settings.inquiryScan.isInterlaced, laps: settings.laps)
        if let inquiryScanner { return inquiryScanner.change(scan) }
        let scanner = InquiryScanner(
            scan, clock: clock, radio: radio, random: makeRandomSource(), delegate: self)
        inquiryScanning.add(scanner)
        scanner.start()
        shareWindows()
    }
}

extension BREDRController: InquiryScannerDelegate {
    func response(of scanner: InquiryScanner, at start: Microseconds) -> (response: FHSPayload, extended: ExtendedResponse?) {
        let extended = ExtendedResponse(settings.extendedResponse, isForwardErrorCorrected: settings.isResponseForwardErrorCorrected)
        let response = FHSPayload(
            address: configuration.address.bdADDR, classOfDevice: settings.classOfDevice, pageScanRepetition: settings.pageScanRepetition,
            clock: NativeClock.value(of: clock.tick(at: start)) >> 2, announcesExtended: extended != nil)
        return (response, extended)
    }
}

extension BREDRController: InquirerDelegate {
    func inquirerFinished(_ inquirer: Inquirer) {
        inquiring.remove(inquirer)
        inquiry = nil
        emit(HCIEvents.InquiryComplete(status: .success))
    }

    /// Reports a device once, and again if its extended inquiry response is received later. Core Vol 4, Part E, 7.7.38.
    func inquirer(
        _ inquirer: Inquirer, heard response: FHSPayload, extended: ExtendedResponse?, at start: Microseconds, rssi: Int8
    ) {
        guard let inquiry, settings.filters.passesInquiry(response.address, response.classOfDevice) else { return }
        let isComplete = extended != nil || !response.announcesExtended
        if inquiry.found.contains(response.address) {
            guard extended != nil, inquiry.incomplete.contains(response.address) else { return }
        }
        self.inquiry?.found.insert(response.address)
        if isComplete || !inquirer.settings.hearsExtended {
            self.inquiry?.incomplete.remove(response.address)
        } else {
            self.inquiry?.incomplete.insert(response.address)
        }
        let own = NativeClock.value(of: clock.tick(at: start)) >> 2
        tell(response, extended, clockOffset: UInt16((response.clock &- own) & 0x7FFF), rssi: rssi)
        guard inquiry.mostResponses > 0, self.inquiry?.found.count == inquiry.mostResponses else { return }
        inquirer.stop()
        inquirerFinished(inquirer)
    }

    private func tell(_ response: FHSPayload, _ extended: ExtendedResponse?, clockOffset: UInt16, rssi: Int8) {
        switch settings.inquiryMode {
        case .extended where response.announcesExtended:
            emit(
                HCIEvents.ExtendedInquiryResult(
                    numResponses: 1, bdADDR: response.address, pageScanRepetitionMode: response.pageScanRepetition,
                    classOfDevice: response.classOfDevice, clockOffset: clockOffset, rssi: rssi,
                    extendedInquiryResponse: extended?.data ?? [UInt8](repeating: 0, count: ExtendedResponse.length)))
        case .rssi, .extended:
            emit(
                HCIEvents.InquiryResultWithRSSI(responses: [
                    .init(
                        bdADDR: response.address, pageScanRepetitionMode: response.pageScanRepetition,
                        classOfDevice: response.classOfDevice, clockOffset: clockOffset, rssi: rssi)
                ]))
        case .standard:
            emit(
                HCIEvents.InquiryResult(responses: [
                    .init(
                        bdADDR: response.address, pageScanRepetitionMode: response.pageScanRepetition,
                        classOfDevice: response.classOfDevice, clockOffset: clockOffset)
                ]))
        }
    }
}
