import BBDongles
import Testing

@Suite struct ReferencePairTests {
    private func candidate(_ name: String, company: UInt16, _ findings: [String] = [], isUnfit: Bool = false) -> ReferencePair.Candidate {
        var report = CheckUpReport()
        report.numbers = DongleNumbers(company: company)
        for finding in findings { report.add(CheckUpFinding(finding, .fault, "seen")) }
        return ReferencePair.Candidate(name: name, report: report, isUnfit: isUnfit)
    }

    @Test func theFewestFaultsAndAnotherMake() throws {
        let pair = try #require(
            ReferencePair.choose([
                candidate("usb:1-1", company: 10, ["csr-clone"]), candidate("usb:1-2", company: 93), candidate("usb:1-3", company: 93),
                candidate("usb:1-4", company: 15, ["no-transmit-power"]), candidate("usb:1-5", company: 2, isUnfit: true),
            ]))
        #expect(pair.tester == "usb:1-2" && pair.second == "usb:1-4")
        for text in ["usb:1-2 has no fault", "usb:1-4 has another make", "not usb:1-1: csr-clone", "not usb:1-5: known as unfit"] {
            #expect(pair.line.contains(text), "\(pair.line)")
        }
    }

    @Test func saysWhereNoneIsFit() throws {
        #expect(ReferencePair.choose([]) == nil)
        let pair = try #require(
            ReferencePair.choose([candidate("usb:1-1", company: 93, ["deaf-rom"]), candidate("usb:1-2", company: 10, ["csr-clone"])]))
        #expect(pair.tester.isEmpty && pair.line.contains("no dongle here is fit"))
    }
}
