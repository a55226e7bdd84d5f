import BBMisbehaviour
import Testing

struct OccurrencesTests {
    /// Indices of the matches, among ten, on which a rule acts.
    @Test(arguments: [
        (Occurrences(), Array(0..<10)),
        (Occurrences(skip: 7), [7, 8, 9]),
        (Occurrences(every: 4), [3, 7]),
        (Occurrences(count: 2), [0, 1]),
        (Occurrences(count: 0), []),
        (Occurrences(skip: 1, every: 3, count: 2), [3, 6]),
    ])
    func matchesAreCounted(_ occurrences: Occurrences, _ expected: [Int]) {
        var occurrences = occurrences
        #expect((0..<10).filter { _ in occurrences.isDue() } == expected)
        #expect(occurrences.isExhausted == occurrences.count.map { $0 <= expected.count } ?? false)
    }
}
