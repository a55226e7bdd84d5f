import BBPackets

/// A manufacturer whose dongles get their firmware from the host.
public enum FirmwareMaker: Sendable, Equatable {
    case realtek
    case intel

    /// The package that a user must install.
    var advice: String {
        switch self {
        case .realtek: "install it (Debian: apt install firmware-realtek; elsewhere the package linux-firmware) or give --firmware FOLDER"
        case .intel: "install it (Debian: apt install firmware-iwlwifi; elsewhere the package linux-firmware) or give --firmware FOLDER"
        }
    }
}

/// Firmware files that a dongle needs.
public struct FirmwareNeed: Sendable, Equatable {
    public var maker: FirmwareMaker
    /// Common name of the chip.
    public var chip: String
    /// Path below a firmware folder: `rtl_bt/rtl8761bu_fw.bin`.
    public var file: String
    /// Configuration file of the image, if the chip has one.
    public var companion: String?
    /// True if the chip does not work without the configuration file.
    public var isCompanionRequired = false

    /// Files for a chip with this ROM version, for manufacturers whose version information identifies the chip.
    public init?(of version: HCICommands.ReadLocalVersionInformation.Return) {
        guard version.companyIdentifier == FirmwareLoader.realtek, let chip = RealtekChip.find(version) else { return nil }
        self = chip.need
    }

    init(maker: FirmwareMaker, chip: String, file: String, companion: String? = nil, isCompanionRequired: Bool = false) {
        (self.maker, self.chip, self.file) = (maker, chip, file)
        (self.companion, self.isCompanionRequired) = (companion, isCompanionRequired)
    }

    /// Advice for the user.
    public var advice: String { "the \(chip) needs \(file): \(maker.advice)" }
}

/// Firmware state of a dongle after opening.
public enum FirmwareOutcome: Sendable, Equatable {
    /// The chip needs no firmware from the host, or is unknown.
    case notNeeded
    /// The firmware was already running from an earlier start.
    case running(chip: String, version: String)
    case loaded(chip: String, file: String, companion: String?, version: String)
    /// Loading was not requested; the chip runs its ROM or boot loader.
    case needed(FirmwareNeed)
    /// The chip works with its ROM; the text names the missing patch.
    case unpatched(chip: String, note: String)
}

extension FirmwareOutcome: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notNeeded: "no firmware needed"
        case .running(let chip, let version): "\(chip) runs firmware \(version) already"
        case .loaded(let chip, let file, let companion, let version):
            "\(chip) was given \(file)\(companion.map { " with \($0)" } ?? ""); it runs firmware \(version)"
        case .needed(let need): "needs firmware: \(need.file)"
        case .unpatched(let chip, let note): "\(chip): \(note)"
        }
    }
}
