/// Distinguishes genuine CSR dongles from clones with the same identifiers, USB 0a12:0001 and company 10.
///
/// Genuine firmware reports its build number as both HCI revision and LMP subversion, and no build is older than the version it reports.
/// The absence of contradictions does not prove that a dongle is genuine.
public enum CSRClone {
    /// Last build of each version; genuine chips end at 4.0.
    private static let lastBuilds: [(build: UInt16, version: UInt8)] = [
        (0x034E, 1), (0x0529, 2), (0x0C5C, 3), (0x1899, 4), (0x22BB, 6),
    ]
    /// bcdDevice values used only by clones. 8891 occurs on clones and on genuine dongles.
    private static let releases: Set<UInt16> = [0x0100, 0x0134, 0x1915, 0x2520, 0x7558]

    /// Reason why the dongle is a clone; nil if it may be genuine or does not use CSR's identifiers.
    public static func reason(_ numbers: DongleNumbers) -> String? {
        let hasNumbers = numbers.vendor == 0x0A12 && numbers.product == 0x0001
        guard hasNumbers || numbers.vendor == nil && numbers.company == DongleNumbers.csr else { return nil }
        if numbers.company != DongleNumbers.csr { return "its company is \(numbers.company), not 10" }
        if numbers.hciRevision != numbers.lmpSubversion {
            return "HCI revision \(hexadecimal(numbers.hciRevision)) and LMP subversion \(hexadecimal(numbers.lmpSubversion)) differ"
        }
        if let last = lastBuilds.first(where: { numbers.lmpSubversion <= $0.build }), numbers.hciVersion > last.version {
            let versions = (DongleIdentity.coreVersion(last.version), DongleIdentity.coreVersion(numbers.hciVersion))
            return "build \(hexadecimal(numbers.lmpSubversion)) belongs to Core \(versions.0), but claims \(versions.1)"
        }
        if numbers.hciVersion > 6 { return "genuine parts end at Core 4.0" }
        if hasNumbers, let release = numbers.release, releases.contains(release) {
            return "bcdDevice \(hexadecimal(release)) is that of clones"
        }
        return nil
    }
}
