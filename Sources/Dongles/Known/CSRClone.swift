/// Tells a genuine CSR dongle from what goes by its numbers, USB 0a12:0001 and company 10.
///
/// Genuine firmware stores its build number in HCI revision and LMP subversion alike, and no build is older than the version that it claims.
/// That nothing is found proves nothing.
public enum CSRClone {
    /// The last build of each version that there is; genuine parts end at 4.0.
    private static let lastBuilds: [(build: UInt16, version: UInt8)] = [
        (0x034E, 1), (0x0529, 2), (0x0C5C, 3), (0x1899, 4), (0x22BB, 6),
    ]
    /// bcdDevice of clones alone. 8891 is on clones and on genuine parts.
    private static let releases: Set<UInt16> = [0x0100, 0x0134, 0x1915, 0x2520, 0x7558]

    /// Why the dongle is no genuine one; nil where it may be, and for dongles that do not claim to be.
    public static func reason(_ numbers: DongleNumbers) -> String? {
        let hasNumbers = numbers.vendor == 0x0A12 && numbers.product == 0x0001
        guard hasNumbers || numbers.vendor == nil && numbers.company == DongleNumbers.csr else { return nil }
        if numbers.company != DongleNumbers.csr { return "its company is \(numbers.company), not 10" }
        if numbers.hciRevision != numbers.lmpSubversion {
            return "HCI revision \(hexadecimal(numbers.hciRevision)) and LMP subversion \(hexadecimal(numbers.lmpSubversion)) differ"
        }
        if let last = lastBuilds.first(where: { numbers.lmpSubversion <= $0.build }), numbers.hciVersion > last.version {
            let versions = (DongleIdentity.coreVersion(last.version), DongleIdentity.coreVersion(numbers.hciVersion))
            return "build \(hexadecimal(numbers.lmpSubversion)) is of Core \(versions.0) and claims \(versions.1)"
        }
        if numbers.hciVersion > 6 { return "genuine parts end at Core 4.0" }
        if hasNumbers, let release = numbers.release, releases.contains(release) {
            return "bcdDevice \(hexadecimal(release)) is that of clones"
        }
        return nil
    }
}
