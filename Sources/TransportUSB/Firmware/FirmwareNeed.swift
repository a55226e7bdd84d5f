import Packets

/// A maker whose dongles get their firmware from the host.
public enum FirmwareMaker: Sendable, Equatable {
    case realtek
    case intel

    /// What a user installs.
    var advice: String {
        switch self {
        case .realtek: "install it (Debian: apt install firmware-realtek; elsewhere the package linux-firmware) or give --firmware FOLDER"
        case .intel: "install it (Debian: apt install firmware-iwlwifi; elsewhere the package linux-firmware) or give --firmware FOLDER"
        }
    }
}

/// The files that a dongle wants before it is of use.
public struct FirmwareNeed: Sendable, Equatable {
    public var maker: FirmwareMaker
    /// As people call the chip.
    public var chip: String
    /// Below a firmware folder: `rtl_bt/rtl8761bu_fw.bin`.
    public var file: String
    /// Settings that go with it, if the chip has such a file.
    public var companion: String?
    /// Most chips do without the settings.
    public var isCompanionRequired = false

    /// What a chip wants that says this of its ROM, for makers whose ROM says enough.
    public init?(of version: HCICommands.ReadLocalVersionInformation.Return) {
        guard version.companyIdentifier == FirmwareLoader.realtek, let chip = RealtekChip.find(version) else { return nil }
        self = chip.need
    }

    init(maker: FirmwareMaker, chip: String, file: String, companion: String? = nil, isCompanionRequired: Bool = false) {
        (self.maker, self.chip, self.file) = (maker, chip, file)
        (self.companion, self.isCompanionRequired) = (companion, isCompanionRequired)
    }

    /// For the user.
    public var advice: String { "the \(chip) needs \(file): \(maker.advice)" }
}

/// How a dongle came by the firmware that it runs.
public enum FirmwareOutcome: Sendable, Equatable {
    /// The chip needs none from the host, or is not known to.
    case notNeeded
    /// It ran already, from an earlier start.
    case running(chip: String, version: String)
    case loaded(chip: String, file: String, companion: String?, version: String)
    /// It was only asked, and runs its ROM or its boot loader.
    case needed(FirmwareNeed)
    /// It works with what is in its ROM; the text says what it did not get.
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
