import BBPackets

/// Purpose of a page.
enum PagePurpose {
    /// Create_Connection.
    ///
    /// - Parameters:
    ///   - packetTypes: packet types allowed by the host.
    ///   - allowsRoleSwitch: Allow_Role_Switch.
    case connection(packetTypes: Set<BREDRPacketType>, allowsRoleSwitch: Bool)
    /// Remote_Name_Request.
    case name
}

/// The current page.
struct Paging {
    let pager: Pager
    /// LT_ADDR to be assigned to the device.
    let ltAddr: UInt8
    var purpose: PagePurpose
    /// The link being established.
    var end: ACLLinkEnd?
}

extension BREDRController {
    /// Maximum number of peripherals in a piconet. Core Vol 2, Part B, 1.
    static let mostPeripherals = 7

    /// - Parameter clockOffset: bits 16-2 of the clock difference; the most significant bit marks it as valid.
    func startPage(
        _ device: BDADDR, repetitionMode: UInt8, clockOffset: UInt16, for purpose: PagePurpose
    ) throws(CommandRefusal) {
        guard let ltAddr = freeLTAddr else { throw .connectionLimitExceeded }
        let offset = clockOffset & 0x8000 == 0 ? 0 : Int(clockOffset & 0x7FFF) << 2
        let page = Pager.Settings(
            address: device, clockOffset: offset, repetitionMode: repetitionMode, timeout: NativeClock.slot * Int(settings.pageTimeout))
        let pager = Pager(page, clock: clock, radio: radio, delegate: self)
        paging = Paging(pager: pager, ltAddr: ltAddr, purpose: purpose)
        pagers.add(pager)
        pager.start()
    }

    private var freeLTAddr: UInt8? {
        let own = links.map(\.link).filter { $0.role == .central }
        var taken = Set(own.map(\.state.ltAddr) + own.flatMap(\.synchronous).filter(\.parameters.isExtended).map(\.parameters.ltAddr))
        if let paging { taken.insert(paging.ltAddr) }
        return (1...UInt8(Self.mostPeripherals)).first { !taken.contains($0) }
    }

    func stopPage() {
        pagers.stopAll()
        paging = nil
    }

    /// Starts, changes or stops page scan according to the settings.
    func updatePageScan() {
        guard settings.isPageScanning else { return pageScanning.stopAll() }
        let scan = PageScanner.Settings(
            interval: NativeClock.slot * Int(settings.pageScan.interval), window: NativeClock.slot * Int(settings.pageScan.window),
            isInterlaced: settings.pageScan.isInterlaced)
        if let scanner = pageScanning.first { return scanner.change(scan) }
        let scanner = PageScanner(scan, address: configuration.address.bdADDR, clock: clock, radio: radio, delegate: self)
        pageScanning.add(scanner)
        scanner.start()
        shareWindows()
    }
}

extension BREDRController: PagerDelegate {
    func handover(of pager: Pager, at start: Microseconds) -> FHSPayload {
        FHSPayload(
            address: configuration.address.bdADDR, classOfDevice: settings.classOfDevice, pageScanRepetition: settings.pageScanRepetition,
            clock: NativeClock.value(of: clock.tick(at: start)) >> 2, announcesExtended: false, ltAddr: paging?.ltAddr ?? 1)
    }

    func pager(_ pager: Pager, reachedAt start: Microseconds) {
        guard let paging else { return }
        let parameters = BasebandLinkParameters(
            role: .central, central: configuration.address.bdADDR, clock: clock, ltAddr: paging.ltAddr, start: start,
            own: configuration.address.bdADDR, native: clock)
        let end = makeLink(parameters, peer: pager.settings.address, classOfDevice: 0, isIncoming: false)
        end.use(for: paging.purpose)
        self.paging?.end = end
    }

    func pagerTimedOut(_ pager: Pager) {
        let device = pager.settings.address
        pagers.remove(pager)
        if case .connection = paging?.purpose { tellConnected(.pageTimeout, 0, device) }
        paging = nil
        failName(of: device, .pageTimeout)
    }
}

extension BREDRController: PageScannerDelegate {
    /// Two devices share at most one ACL logical transport. A device that pages again, because the response to its FHS packet was lost or
    /// its link has ended, therefore replaces the old link. Core Vol 2, Part B, 4.2 and 8.3.3.
    func pageScanner(_ scanner: PageScanner, joins central: FHSPayload, sentAt sent: Microseconds, firstPacketAt start: Microseconds) {
        if let old = links.first(where: { $0.peer == central.address }) {
            guard old.link.role == .peripheral else { return }
            if old.link.state.isEstablished { old.link.giveWay() } else { linkEnds.stop(old) }
        }
        let parameters = BasebandLinkParameters(
            role: .peripheral, central: central.address, clock: NativeClock(showing: Int(central.clock) << 2, at: sent),
            ltAddr: central.ltAddr,
            start: start, own: configuration.address.bdADDR, native: clock)
        _ = makeLink(parameters, peer: central.address, classOfDevice: central.classOfDevice, isIncoming: true)
    }
}

extension BREDRController: BasebandLinkDelegate {
    func linkEstablished(_ link: BasebandLink) {
        guard let end = end(of: link) else { return }
        guard !end.isIncoming else { return yieldPage(to: end) }
        stopPage()
        guard !end.isForName else { return end.connection.requestNameAlone() }
        end.connection.establish()
        if namesWanted.contains(end.peer) { end.connection.requestName() }
    }

    /// Ends the page to a device that has paged this one meanwhile, since two devices share one link. The host's command fails with
    /// Connection Already Exists; a remote name request continues on the new link. Core Vol 2, Part B, 4.2; Vol 4, Part E, 7.1.5.
    private func yieldPage(to end: ACLLinkEnd) {
        guard let paging, paging.pager.settings.address == end.peer else { return }
        if let own = paging.end { linkEnds.stop(own) }
        stopPage()
        if case .connection = paging.purpose { tellConnected(.connectionAlreadyExists, 0, end.peer) }
        if namesWanted.contains(end.peer) { end.connection.requestName() }
    }

    /// Resumes paging for the remaining time, or page scan.
    func linkFailed(_ link: BasebandLink) {
        guard let end = end(of: link) else { return }
        linkEnds.stop(end)
        guard paging?.end === end else { return }
        paging?.end = nil
        paging?.pager.resume()
    }

    func link(_ link: BasebandLink, received data: ArraySlice<UInt8>, isStart: Bool) {
        guard let end = end(of: link), end.isKnownToHost else { return }
        controller.deliver(data, isStart: isStart, on: end.handle)
        // The host does not take the data, and the peer cannot be stopped, so the link ends.
        if controller.hostFlow.isOverrun { _ = end.disconnect(.remoteDeviceTerminatedConnectionDueToLowResources) }
    }

    func freeLTAddr(for link: BasebandLink) -> UInt8? { freeLTAddr }

    func synchronousLinks(beside link: BasebandLink) -> [SynchronousLink] {
        links.map(\.link).filter { $0.role == link.role }.flatMap(\.synchronous)
    }

    func link(_ link: BasebandLink, completed count: Int) {
        if let end = end(of: link) { controller.complete(count, end) }
    }

    private func end(of link: BasebandLink) -> ACLLinkEnd? { links.first { $0.link === link } }
}
