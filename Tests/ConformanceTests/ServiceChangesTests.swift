import BBPackets
import Testing

@testable import BBConformance

/// The ranges of Service Changed, compared with two databases.
struct ServiceChangesTests {
    @Test(
        arguments: [
            ([[1, 0, 0xFF, 0xFF]], [4, 9], nil), ([[4, 0, 4, 0], [9, 0, 9, 0]], [4, 9], nil), ([[4, 0, 8, 0]], [4, 9], "handle 9"),
            ([], [4], "got nothing"), ([[4, 0]], [4], "the first and the last handle"), ([[9, 0, 4, 0]], [4], "the first and the last"),
            ([[0, 0, 9, 0]], [4], "the first and the last"),
        ] as [([[UInt8]], [UInt16], String?)])
    func serviceChangedHoldsEachChangedHandle(_ ranges: [[UInt8]], _ handles: [UInt16], _ text: String?) {
        let fault = ShownAttribute.fault(inRanges: ranges, for: handles)
        #expect(text.map { fault?.contains($0) == true } ?? (fault == nil), "\(fault ?? "")")
    }

    @Test func databasesDifferWhereAnAttributeWasAddedRemovedOrAltered() {
        let old = [ShownAttribute(handle: 1, type: 0x2800, value: [0, 24]), ShownAttribute(handle: 2, type: 0x2803, value: [2, 3, 0])]
        var new = old
        #expect(ShownAttribute.differences(old, new).isEmpty && ShownAttribute.hash(of: old) == ShownAttribute.hash(of: new))
        new[1].value[0] = 10
        new.append(ShownAttribute(handle: 7, type: 0x2A00))
        #expect(ShownAttribute.differences(old, new) == [2, 7] && ShownAttribute.hash(of: old) != ShownAttribute.hash(of: new))
    }
}
