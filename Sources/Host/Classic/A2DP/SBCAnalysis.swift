/// The analysis filter bank, which converts the samples of one channel into subband samples. A2DP 1.3, 12.7.
struct SBCAnalysis: Sendable {
    private let subbands: Int
    private let prototype: [Double]
    /// cos((k + 1/2)(i - M/2) pi/M), by k.
    private let matrix: [[Double]]
    /// The last samples, newest first.
    private var history: [Double]

    init(subbands: Int) {
        self.subbands = subbands
        prototype = subbands == 4 ? Self.prototype4 : Self.prototype8
        history = [Double](repeating: 0, count: 10 * subbands)
        // In units of pi/16 for eight subbands; four subbands use every second value.
        let step = 8 / subbands
        matrix = (0..<subbands).map { k in
            (0..<2 * subbands).map { i in Self.cosine(sixteenths: step * (2 * k + 1) * (i - subbands / 2)) }
        }
    }

    mutating func next(_ samples: some Collection<Double>) -> [Double] {
        history.removeLast(subbands)
        history.insert(contentsOf: samples.reversed(), at: 0)
        let folded = (0..<2 * subbands).map { i in
            (0..<5).reduce(0) { sum, j in sum + prototype[i + 2 * subbands * j] * history[i + 2 * subbands * j] }
        }
        return matrix.map { row in row.indices.reduce(0) { $0 + row[$1] * folded[$1] } }
    }

    /// cos(n pi/16), computed with square roots only, so that the result is the same on all machines.
    private static func cosine(sixteenths n: Int) -> Double { cosines[((n % 32) + 32) % 32] }

    private static let cosines: [Double] = {
        let quarter = 0.5.squareRoot()
        let eighth = ((1 + quarter) / 2).squareRoot()
        let sixteenth = ((1 + eighth) / 2).squareRoot()
        var values = [1, sixteenth]
        while values.count < 32 { values.append(2 * sixteenth * values[values.count - 1] - values[values.count - 2]) }
        return values
    }()

    // A2DP 1.3, tables 12.22 and 12.23. Both are symmetric except for the sign of every second part.
    private static let half4: [Double] = [
        0, 5.36548976e-04, 1.49188357e-03, 2.73370904e-03, 3.83720193e-03, 3.89205149e-03, 1.86581691e-03, -3.06012286e-03,
        1.09137620e-02, 2.04385087e-02, 2.88757392e-02, 3.21939290e-02, 2.58767811e-02, 6.13245186e-03, -2.88217274e-02, -7.76463494e-02,
        1.35593274e-01, 1.94987841e-01, 2.46636662e-01, 2.81828203e-01, 2.94315332e-01,
    ]

    private static let half8: [Double] = [
        0, 1.56575398e-04, 3.43256425e-04, 5.54620202e-04, 8.23919506e-04, 1.13992507e-03, 1.47640169e-03, 1.78371725e-03,
        2.01182542e-03, 2.10371989e-03, 1.99454554e-03, 1.61656283e-03, 9.02154502e-04, -1.78805361e-04, -1.64973098e-03, -3.49717454e-03,
        5.65949473e-03, 8.02941163e-03, 1.04584443e-02, 1.27472335e-02, 1.46525263e-02, 1.59045603e-02, 1.62208471e-02, 1.53184106e-02,
        1.29371806e-02, 8.85757540e-03, 2.92408442e-03, -4.91578024e-03, -1.46404076e-02, -2.61098752e-02, -3.90751381e-02, -5.31873032e-02,
        6.79989431e-02, 8.29847578e-02, 9.75753918e-02, 1.11196689e-01, 1.23264548e-01, 1.33264415e-01, 1.40753505e-01, 1.45389847e-01,
        1.46955068e-01,
    ]

    private static let prototype4 = whole(half4, partLength: 8)
    private static let prototype8 = whole(half8, partLength: 16)

    /// Mirrors the first half; the sign changes at the start of each part.
    private static func whole(_ half: [Double], partLength: Int) -> [Double] {
        half + (1..<half.count - 1).reversed().map { $0.isMultiple(of: partLength) ? -half[$0] : half[$0] }
    }
}
