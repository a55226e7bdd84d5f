import BBPackets

/// Reason why a dongle did not get its firmware. It is a fault of the environment, never a verdict about a peer. The text says what to do
/// next.
public enum FirmwareError: Error, Sendable, Equatable {
    /// The file is in none of the folders.
    case missing(FirmwareNeed, lookedIn: [String])
    /// The chip is in its boot loader, and firmware loading is turned off.
    case withheld(FirmwareNeed)
    /// The file exists, but is compressed.
    case compressed(path: String, name: String)
    case unreadable(path: String, reason: String)
    /// The file is not an image for this dongle.
    case unusable(path: String, FirmwareImageError)
    /// The dongle answered with an error status.
    case refused(FirmwareStep, ErrorCode)
    /// The dongle did not answer in time.
    case silent(FirmwareStep)
    /// The dongle accepted the whole image, but does not run it.
    case notRunning(chip: String)
    /// The chip or its loading procedure is not supported.
    case unsupported(String)
}

/// The step at which loading failed.
public enum FirmwareStep: Sendable, Equatable {
    case version
    case romVersion
    case bootParameters
    /// One fragment of the image.
    case download(fragment: Int, of: Int)
    /// Verification of the complete image by the dongle.
    case verification
    case boot
    case configuration
    case reset
}

/// Defect of a firmware image.
public enum FirmwareImageError: Error, Sendable, Equatable {
    case empty
    case tooShort(needs: Int, has: Int)
    /// The file signature at the start is wrong.
    case signature
    /// The end marker is missing: the file is truncated or of another kind.
    case ending
    /// The image does not name its chip.
    case noProject
    /// The image is for another chip; the values are project numbers.
    case otherChip(project: Int, wanted: Int)
    /// The image has no patch for this ROM version.
    case noPatch(romVersion: Int)
    /// The section at this offset is corrupt.
    case corrupt(offset: Int)
    /// The configuration file of the image is invalid.
    case configuration
}

extension FirmwareError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missing(let need, let folders):
            "needs firmware: \(need.file), which is not in \(folders.joined(separator: ", ")); \(need.maker.advice)"
        case .withheld(let need):
            "\(need.chip) runs only its boot loader and needs the firmware \(need.file), but --firmware none loads nothing: leave it out; \(need.maker.advice)"
        case .compressed(let path, let name):
            "needs firmware: \(path) is compressed; run `\(Self.command(for: path, name))` and give --firmware firmware"
        case .unreadable(let path, let reason): "cannot read the firmware \(path): \(reason)"
        case .unusable(let path, let reason): "cannot use the firmware \(path): \(reason)"
        case .refused(let step, let code): "refused \(step): \(code)"
        case .silent(let step): "did not answer \(step); unplug it and plug it in again"
        case .notRunning(let chip): "took the firmware but does not run it: it is still a \(chip) with its ROM's own"
        case .unsupported(let text): text
        }
    }

    private static func command(for path: String, _ name: String) -> String {
        let folder = "firmware/" + name.split(separator: "/").dropLast().joined(separator: "/")
        let tool = path.hasSuffix(".zst") ? "zstd -dc" : "xz -dc"
        return "mkdir -p \(folder) && \(tool) \(path) > firmware/\(name)"
    }
}

extension FirmwareStep: CustomStringConvertible {
    public var description: String {
        switch self {
        case .version: "the question for its version"
        case .romVersion: "the question for the version of its ROM"
        case .bootParameters: "the question for its boot parameters"
        case .download(let fragment, let count): "fragment \(fragment) of \(count) of the firmware"
        case .verification: "the end of the firmware (the image may be cut short or damaged)"
        case .boot: "the start of the firmware"
        case .configuration: "a setting of the firmware's configuration"
        case .reset: "the reset after its firmware was loaded"
        }
    }
}

extension FirmwareImageError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .empty: "it is empty"
        case .tooShort(let needs, let has): "it has \(has) octets and needs at least \(needs)"
        case .signature: "it does not begin like one"
        case .ending: "it does not end like one; it may have been cut short"
        case .noProject: "it does not say which chip it is for"
        case .otherChip(let project, let wanted):
            "it is for \(RealtekChip.name(ofProject: project)), and this is \(RealtekChip.name(ofProject: wanted))"
        case .noPatch(let version): "it has no patch for version \(version) of the chip's ROM"
        case .corrupt(let offset): "it is damaged at octet \(offset), or was cut short"
        case .configuration: "it does not hold settings for this chip, or was cut short"
        }
    }
}
