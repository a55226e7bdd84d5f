import Packets

/// What a device is paged for.
enum PagePurpose {
    /// Create_Connection.
    ///
    /// - Parameters:
    ///   - packetTypes: what the host lets be sent.
    ///   - allowsRoleSwitch: Allow_Role_Switch.
    case connection(packetTypes: Set<BREDRPacketType>, allowsRoleSwitch: Bool)
    /// Remote_Name_Request.
    case name
}

/// A page that the host has asked for.
struct Paging {
    let pager: Pager
    /// The LT_ADDR that the device will have.
    let ltAddr: UInt8
    var purpose: PagePurpose
    /// The link that is tried.
    var end: ACLLinkEnd?
}

extension BREDRController {
    /// How many devices a piconet has beside its central. Core Vol 2, Part B, 1.
    static let mostPeripherals = 7

    /// - Parameter clockOffset: bits 16-2 of the difference of the clocks; the uppermost bit says that they are known.
    func startPage(
        _ device: BDADDR, repetitionMode: UInt8, clockOffset: UInt16, for purpose: PagePurpose
    ) throws(CommandFailure) {
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

    /// Starts, changes or ends page scan, as the settings are now.
    func updatePageScan() {
        guard settings.isPageScanning else { return pageScanning.stopAll() }
        let scan = PageScanner.Settings(
            interval: NativeClock.slot * Int(settings.pageScan.interval), window: NativeClock.slot * Int(settings.pageScan.window),
            isInterlaced: settings.pageScan.isInterlaced)
        if let scanner = pageScanning.first { return scanner.change(scan) }
        let scanner = PageScanner(scan, address: configuration.address.bdADDR, clock: clock, radio: radio, delegate: self)
        pageScanning.add(scanner)
        shareWindows()
        scanner.start()
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
    /// There is one ACL logical transport between two devices: who pages again, as the answer to its FHS packet was lost or its link has ended, begins it anew. Core
    /// Vol 2, Part B, 4.2 and 8.3.3.
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

    /// The device that is paged has come by a page of its own: there is one link between two devices, so the page ends. The host's command ends with Connection Already
    /// Exists, a request for a name goes on over the link. Core Vol 2, Part B, 4.2; Vol 4, Part E, 7.1.5.
    private func yieldPage(to end: ACLLinkEnd) {
        guard let paging, paging.pager.settings.address == end.peer else { return }
        if let own = paging.end { linkEnds.stop(own) }
        stopPage()
        if case .connection = paging.purpose { tellConnected(.connectionAlreadyExists, 0, end.peer) }
        if namesWanted.contains(end.peer) { end.connection.requestName() }
    }

    /// The pager goes on for the rest of its time, the page scan as before.
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
        // Nobody takes the data: the link cannot be held back, so it ends.
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
