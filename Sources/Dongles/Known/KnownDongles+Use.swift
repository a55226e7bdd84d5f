import HCI
import Packets
import Transport
import TransportUSB

extension KnownDongles {
    /// What the table has for a host above a pipe.
    public func knowledge(of transport: any HCITransport) -> ControllerKnowledge {
        knowledge(of: ((transport as? FirmwareTransport)?.dongle ?? transport as? USBTransport)?.description)
    }

    /// - Parameter usb: what USB says of the dongle; nil for a controller behind another pipe.
    public func knowledge(of usb: USBDongleDescription?) -> ControllerKnowledge {
        ControllerKnowledge(
            workarounds: { version in DongleWorkarounds(find(DongleNumbers(version, usb: usb))).controller },
            originOfSharedAddress: { origin(ofShared: DeviceAddress($0, kind: .public)) },
            adviceOnFirmware: { version in
                FirmwareNeed(of: version)?.advice
                    ?? find(DongleNumbers(version, usb: usb)).first { DongleWorkarounds([$0]).controller.mayLackFirmware }?.advice
            })
    }

    /// Why a dongle is of no use to the bench; nil where nothing is known against it.
    func refusal(of usb: USBDongleDescription) -> String? {
        let rows = find(vendor: usb.vendor, product: usb.product, release: usb.release)
        return rows.first { DongleWorkarounds([$0]).isUnusable }.map { "\($0.name). \($0.conduct) \($0.advice)" }
    }
}

extension USBOptions {
    /// The same, with what a table knows of dongles: what they need, and which are of no use.
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
