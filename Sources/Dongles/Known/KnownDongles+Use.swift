import BBHCI
import BBPackets
import BBTransport
import BBTransportUSB

extension KnownDongles {
    /// Knowledge from the table for a host on a pipe.
    public func knowledge(of transport: any HCITransport) -> ControllerKnowledge {
        knowledge(of: transport.dongle?.description)
    }

    /// Returns what the table knows of a dongle.
    ///
    /// - Parameter usb: USB description of the dongle; nil for a controller on another transport.
    public func knowledge(of usb: USBDongleDescription?) -> ControllerKnowledge {
        ControllerKnowledge(
            workarounds: { version in DongleWorkarounds(find(DongleNumbers(version, usb: usb))).controller },
            originOfSharedAddress: { origin(ofShared: DeviceAddress($0, kind: .public)) },
            adviceOnFirmware: { version in
                FirmwareNeed(of: version)?.advice
                    ?? find(DongleNumbers(version, usb: usb)).first { DongleWorkarounds([$0]).controller.mayLackFirmware }?.advice
            })
    }

    /// Reason why the bench cannot use a dongle; nil if none is known.
    func refusal(of usb: USBDongleDescription) -> String? {
        let rows = find(vendor: usb.vendor, product: usb.product, release: usb.release)
        return rows.first { DongleWorkarounds([$0]).isUnusable }.map { "\($0.name). \($0.conduct) \($0.advice)" }
    }
}

extension USBOptions {
    /// The options with workarounds and refusals from a table of known dongles.
    public func knowing(_ table: KnownDongles) -> USBOptions {
        var options = self
        options.workarounds = { DongleWorkarounds(table.find(vendor: $0.vendor, product: $0.product, release: $0.release)).usb }
        options.refusal = { table.refusal(of: $0) }
        return options
    }
}

extension DongleNumbers {
    init(_ version: HCICommands.ReadLocalVersionInformation.Return, usb: USBDongleDescription?) {
        self.init(
            vendor: usb?.vendor, product: usb?.product, release: usb?.release, hciVersion: version.hciVersion,
            hciRevision: version.hciSubversion, lmpVersion: version.lmpVersion, lmpSubversion: version.lmpSubversion,
            company: version.companyIdentifier)
    }
}
