import BBPackets
import BBVirtualDongle

@testable import BBTransportUSB

extension FuzzTarget {
    /// Octets as a firmware file of Realtek for each kind of chip: what is sent is part of the file, and no longer than it.
    static let realtekFirmware = FuzzTarget(
        name: "firmware-realtek", layer: nil,
        seeds: {
            [RealtekImageMaker.rtl8761b, .rtl8852b, .rtl8761a].flatMap { maker in
                var maker = maker
                maker.patchLength = 60
                return [maker.patches(), maker.sections()]
            } + [[0x55, 0xAB, 0x23, 0x87, 2, 0, 1, 2]]
        },
        run: { input in
            for chip in [RealtekChip.all[0]] + RealtekChip.all.filter({ [3, 14, 20].contains($0.project) }) {
                guard let image = try? RealtekImage(input, for: chip) else { continue }
                for version in [0, 1, 2, 254, 255] as [UInt8] {
                    for key in [0, 5, 255] as [UInt8] {
                        guard let payload = try? image.payload(romVersion: version, key: key) else { continue }
                        try promise(payload.count <= input.count, "\(payload.count) octets of a file of \(input.count)")
                    }
                }
            }
            try? RealtekImage.checkConfiguration(input)
        })

    /// Octets as a firmware file, a configuration or a version report of Intel: the fragments are parts of the file and cover the commands.
    static let intelFirmware = FuzzTarget(
        name: "firmware-intel", layer: nil,
        seeds: {
            [false, true].map { hasSecondHeader in
                var maker = IntelImageMaker(hasSecondHeader: hasSecondHeader)
                maker.writes = 4
                return maker.image()
            } + [
                [0x37, 0x0C, 0x10, 0x06, 0, 17, 46, 26, 0], [3, 2, 1, 0],
                [0x12, 4, 0, 0x37, 0x17, 0, 0x1C, 1, 1, 0x10, 4, 0, 1, 0x41, 0, 0x2F, 1, 1, 0x1D, 2, 46, 26, 0x1F, 4, 1, 0, 0, 0],
            ]
        },
        run: { input in
            for layout in [IntelImage.Layout.single, .firstOfTwo, .secondOfTwo] {
                guard let image = try? IntelImage(input, layout) else { continue }
                let isInside = image.fragments.allSatisfy { fragment in
                    !fragment.range.isEmpty && fragment.range.upperBound <= input.count && fragment.range.count <= IntelImage.fragmentLength
                }
                try promise(isInside, "a fragment is not in the file")
                let data = image.fragments.filter { $0.kind == IntelImage.Kind.data }.map(\.range)
                try promise(data.map(\.count).reduce(0, +) == input.count - layout.commands, "commands are left out")
            }
            let entries = (try? IntelImage.configuration(input)) ?? []
            try promise(entries.map(\.count).reduce(0, +) <= input.count, "more entries than octets")
            guard let report = try? IntelVersionReport(input) else { return }
            for revision in [0, 1, 0xFFFF] as [UInt16] { _ = report.need(deviceRevision: revision).file }
            _ = (report.chip, report.build)
        })
}
