/// How voice is coded between host and controller. Core Vol 4, Part E, 6.12.
struct VoiceSetting {
    let rawValue: UInt16

    /// Input Coding: linear PCM, rather than the logarithms that the air knows too.
    var isLinear: Bool { rawValue >> 8 & 3 == 0 }
    /// Input Sample Size: 16 bits rather than 8.
    var isWide: Bool { rawValue >> 5 & 1 == 1 }

    /// Input Data Format.
    enum Format: UInt16 {
        case onesComplement = 0
        case twosComplement = 1
        case signMagnitude = 2
        case unsigned = 3
    }
    var format: Format { Format(rawValue: rawValue >> 6 & 3) ?? .twosComplement }
}

/// What the controller makes of a host's voice: where the air takes CVSD and the host gives linear samples they are recoded, and else the octets go as they are.
struct VoiceCoder {
    private let setting: VoiceSetting
    private let isRecoding: Bool
    private var encoder = CVSD()
    private var decoder = CVSD()
    /// The first octet of a sample whose second has not come.
    private var pending: UInt8?

    /// - Parameter airMode: of LMP_SCO_link_req.
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
