import BBDongles
import Testing

@Suite struct CSRCloneTests {
    struct Row: Sendable {
        var release: UInt16
        var version: UInt8
        var revision: UInt16
        var subversion: UInt16
        var company: UInt16
        var isClone: Bool
    }

    static let rows = [
        // Genuine builds of each version.
        Row(release: 0x1958, version: 1, revision: 0x020D, subversion: 0x020D, company: 10, isClone: false),
        Row(release: 0x1958, version: 2, revision: 0x0529, subversion: 0x0529, company: 10, isClone: false),
        Row(release: 0x1958, version: 3, revision: 0x07A6, subversion: 0x07A6, company: 10, isClone: false),
        Row(release: 0x3164, version: 4, revision: 0x149C, subversion: 0x149C, company: 10, isClone: false),
        Row(release: 0x8891, version: 6, revision: 0x1D86, subversion: 0x1D86, company: 10, isClone: false),
        Row(release: 0x8891, version: 6, revision: 0x22BB, subversion: 0x22BB, company: 10, isClone: false),
        // Seen in the field.
        Row(release: 0x2520, version: 9, revision: 0x3120, subversion: 0x22BB, company: 10, isClone: true),
        Row(release: 0x8891, version: 9, revision: 0x0810, subversion: 0x2312, company: 10, isClone: true),
        Row(release: 0x8891, version: 6, revision: 0x3120, subversion: 0x22BB, company: 10, isClone: true),
        Row(release: 0x8891, version: 9, revision: 0x0001, subversion: 0x0001, company: 2279, isClone: true),
        Row(release: 0x8891, version: 9, revision: 0x22BB, subversion: 0x22BB, company: 10, isClone: true),
        Row(release: 0x0134, version: 3, revision: 0x0C5C, subversion: 0x0C5C, company: 10, isClone: true),
        Row(release: 0x7558, version: 6, revision: 0x22BB, subversion: 0x22BB, company: 10, isClone: true),
    ]

    @Test(arguments: rows) func tellsClonesFromGenuineParts(_ row: Row) {
        let numbers = DongleNumbers(
            vendor: 0x0A12, product: 1, release: row.release, hciVersion: row.version, hciRevision: row.revision, lmpVersion: row.version,
            lmpSubversion: row.subversion, company: row.company)
        #expect((CSRClone.reason(numbers) != nil) == row.isClone)
    }

    @Test func leavesOtherDonglesAlone() {
        #expect(CSRClone.reason(DongleNumbers(vendor: 0x0BDA, product: 0x8771, hciVersion: 10, hciRevision: 1, company: 93)) == nil)
    }
}
