import BBPackets

/// Voice coding between host and controller, and on the air. Core Vol 4, Part E, 6.12 and 7.1.45.
struct VoiceSetting: Equatable {
    /// The host sends linear PCM samples rather than the air coding.
    var isLinear: Bool
    /// Samples have 16 bits rather than 8.
    var isWide: Bool
    var format: Format
    /// Air mode as in LMP: 0 u-law, 1 A-law, 2 CVSD, 3 transparent data.
    var airMode: UInt8

    /// Input data format.
    enum Format: UInt8 {
        case onesComplement = 0
        case twosComplement = 1
        case signMagnitude = 2
        case unsigned = 3
    }

    /// Air_Coding_Format: CVSD, u-law, A-law, transparent data.
    private static let airModes: [UInt8] = [2, 0, 1, 3]

    /// - Parameter setting: Voice_Setting.
    init(rawValue setting: UInt16) {
        isLinear = setting >> 8 & 3 == 0
        isWide = setting >> 5 & 1 == 1
        format = Format(rawValue: UInt8(setting >> 6 & 3)) ?? .twosComplement
        airMode = Self.airModes[Int(setting & 3)]
    }

    /// Returns nil for coding that this controller does not support. Supported are u-law, A-law, CVSD and transparent data passed through
    /// unchanged, and CVSD from linear samples.
    ///
    /// - Parameters:
    ///   - air: Transmit_Coding_Format and Receive_Coding_Format.
    ///   - host: Input_Coding_Format and Output_Coding_Format.
    ///   - sizes: Input_Coded_Data_Size and Output_Coded_Data_Size.
    ///   - formats: Input_PCM_Data_Format and Output_PCM_Data_Format.
    init?(air: [Structures.CodecID], host: [Structures.CodecID], sizes: [UInt16], formats: [UInt8]) {
        guard let coding = air.first?.codingFormat, coding <= Self.transparent, let input = host.first?.codingFormat,
            air.allSatisfy({ $0.codingFormat == coding }), host.allSatisfy({ $0.codingFormat == input })
        else { return nil }
        airMode = coding
        isLinear = input == Self.linear
        isWide = sizes.first == 16
        format = formats.first.flatMap { $0 > 0 ? Format(rawValue: $0 - 1) : nil } ?? .twosComplement
        if isLinear {
            let isKnown = sizes.allSatisfy { $0 == sizes[0] && ($0 == 8 || $0 == 16) } && formats.allSatisfy { $0 == formats[0] && $0 > 0 }
            guard coding == Self.cvsd, isKnown else { return nil }
        } else {
            guard input == coding else { return nil }
        }
    }

    // Coding formats. Assigned Numbers, 2.11.
    private static let cvsd: UInt8 = 2
    private static let transparent: UInt8 = 3
    private static let linear: UInt8 = 4
}

/// Converts voice between host and air: linear samples to and from CVSD; other combinations pass unchanged.
struct VoiceCoder {
    private let setting: VoiceSetting
    private let isRecoding: Bool
    private var encoder = CVSD()
    private var decoder = CVSD()
    /// First octet of a sample whose second octet has not arrived.
    private var pending: UInt8?

    /// - Parameter airMode: air mode of LMP_SCO_link_req.
    init(_ setting: VoiceSetting, airMode: UInt8) {
        self.setting = setting
        isRecoding = airMode == 2 && setting.isLinear
    }

    mutating func toAir(_ octets: ArraySlice<UInt8>) -> [UInt8] {
        guard isRecoding else { return Array(octets) }
        var bits: [UInt8] = []
        for octet in octets {
            guard setting.isWide else {
                bits.append(encoder.encode(sample(UInt16(octet) << 8)))
                continue
            }
            if let low = pending.take() { bits.append(encoder.encode(sample(UInt16(low) | UInt16(octet) << 8))) } else { pending = octet }
        }
        return bits
    }

    mutating func fromAir(_ octets: ArraySlice<UInt8>) -> [UInt8] {
        guard isRecoding else { return Array(octets) }
        return octets.flatMap { octet in
            let word = word(decoder.decode(octet))
            return setting.isWide ? [UInt8(truncatingIfNeeded: word), UInt8(word >> 8)] : [UInt8(word >> 8)]
        }
    }

    private func sample(_ word: UInt16) -> Int16 {
        switch setting.format {
        case .twosComplement: Int16(bitPattern: word)
        case .onesComplement: word >> 15 == 1 ? -Int16(bitPattern: ~word) : Int16(bitPattern: word)
        case .signMagnitude: word >> 15 == 1 ? -Int16(bitPattern: word & 0x7FFF) : Int16(bitPattern: word)
        case .unsigned: Int16(bitPattern: word ^ 0x8000)
        }
    }

    private func word(_ sample: Int16) -> UInt16 {
        let magnitude = UInt16(min(sample.magnitude, 0x7FFF))
        switch setting.format {
        case .twosComplement: return UInt16(bitPattern: sample)
        case .onesComplement: return sample < 0 ? ~magnitude : magnitude
        case .signMagnitude: return sample < 0 ? magnitude | 0x8000 : magnitude
        case .unsigned: return UInt16(bitPattern: sample) ^ 0x8000
        }
    }
}
