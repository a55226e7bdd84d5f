import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// BR/EDR settings: written values are read back, invalid values are rejected, Reset restores the defaults. Core Vol 4, Part E, 7.3.
@Suite struct BREDRSettingsTests {
    struct Setting: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var write: UInt16
        var read: UInt16
        var initial: [UInt8]
        var good: [[UInt8]]
        var bad: [[UInt8]] = []
    }

    static let settings: [Setting] = [
        Setting(
            testDescription: "Local_Name", write: 0x0C13, read: 0x0C14, initial: [UInt8](repeating: 0, count: 248),
            good: [Array("a bench".utf8) + [UInt8](repeating: 0, count: 241), [UInt8](repeating: 0x41, count: 248)]),
        Setting(
            testDescription: "Connection_Accept_Timeout", write: 0x0C16, read: 0x0C15, initial: [0x40, 0x1F],
            good: [[1, 0], [0x40, 0xB5]],
            bad: [[0, 0], [0x41, 0xB5]]),
        Setting(
            testDescription: "Page_Timeout", write: 0x0C18, read: 0x0C17, initial: [0, 0x20], good: [[1, 0], [0xFF, 0xFF]], bad: [[0, 0]]),
        Setting(testDescription: "Scan_Enable", write: 0x0C1A, read: 0x0C19, initial: [0], good: [[1], [2], [3], [0]], bad: [[4], [255]]),
        Setting(
            testDescription: "Page_Scan_Activity", write: 0x0C1C, read: 0x0C1B, initial: [0, 8, 0x12, 0],
            good: [[0x12, 0, 0x11, 0], [0, 0x10, 0, 0x10]],
            bad: [[0x10, 0, 0x10, 0], [0x13, 0, 0x12, 0], [2, 0x10, 0x12, 0], [0x12, 0, 0x13, 0], [0x12, 0, 0x10, 0]]),
        Setting(
            testDescription: "Inquiry_Scan_Activity", write: 0x0C1E, read: 0x0C1D, initial: [0, 0x10, 0x12, 0],
            good: [[0x12, 0, 0x11, 0], [0, 0x10, 0, 0x10]],
            bad: [[0x10, 0, 0x10, 0], [0x13, 0, 0x12, 0], [2, 0x10, 0x12, 0], [0x12, 0, 0x13, 0], [0x12, 0, 0x10, 0]]),
        Setting(
            testDescription: "Class_Of_Device", write: 0x0C24, read: 0x0C23, initial: [0, 0, 0], good: [[4, 4, 0x24], [255, 255, 255]]),
        Setting(
            testDescription: "Voice_Setting", write: 0x0C26, read: 0x0C25, initial: [0x60, 0], good: [[0xFF, 3], [0, 0]],
            bad: [[0, 4], [0, 0x80]]
        ),
        Setting(
            testDescription: "Current_IAC_LAP", write: 0x0C3A, read: 0x0C39, initial: [1, 0x33, 0x8B, 0x9E],
            good: [[1, 0, 0x8B, 0x9E], [2, 0x33, 0x8B, 0x9E, 0, 0x8B, 0x9E]], bad: [[0], [1, 0x40, 0x8B, 0x9E], [1, 0x33, 0x8A, 0x9E]]),
        Setting(
            testDescription: "Default_Link_Policy_Settings", write: 0x080F, read: 0x080E, initial: [0, 0], good: [[5, 0], [0, 0]]),
        Setting(
            testDescription: "AFH_Channel_Assessment_Mode", write: 0x0C49, read: 0x0C48, initial: [1], good: [[0], [1]], bad: [[2]]),
        Setting(testDescription: "Inquiry_Scan_Type", write: 0x0C43, read: 0x0C42, initial: [0], good: [[1], [0]], bad: [[2]]),
        Setting(testDescription: "Inquiry_Mode", write: 0x0C45, read: 0x0C44, initial: [0], good: [[1], [2], [0]], bad: [[3]]),
        Setting(
            testDescription: "Extended_Inquiry_Response", write: 0x0C52, read: 0x0C51, initial: [UInt8](repeating: 0, count: 241),
            good: [[1] + [UInt8](repeating: 7, count: 240)], bad: [[2] + [UInt8](repeating: 7, count: 240)]),
        Setting(
            testDescription: "LE_Host_Support", write: 0x0C6D, read: 0x0C6C, initial: [0, 0], good: [[1, 0], [0, 0]], bad: [[2, 0]]),
    ]

    @Test(arguments: settings) func whatIsWrittenIsRead(_ setting: Setting) throws {
        try InquiryTests.run(hosts: 1) { world in
            let host = world.hosts[0]
            #expect(try await host.raw(setting.read, []).returns == [0] + setting.initial)
            for value in setting.good {
                #expect(try await host.raw(setting.write, value).returns == [0])
                #expect(try await host.raw(setting.read, []).returns == [0] + value)
                for bad in setting.bad {
                    #expect(try await host.raw(setting.write, bad).returns == [ErrorCode.invalidHCICommandParameters.rawValue], "\(bad)")
                    #expect(try await host.raw(setting.read, []).returns == [0] + value)
                }
            }
            try await host.succeed(HCICommands.Reset())
            #expect(try await host.raw(setting.read, []).returns == [0] + setting.initial)
        }
    }

    @Test(
        arguments: [
            [0, 0], [1], [1, 3], [1, 0, 0], [1, 1, 0, 0, 0, 0, 0], [1, 2, 1, 2, 3, 4, 5], [2, 0], [2, 0, 0], [2, 0, 4], [3],
        ] as [[UInt8]])
    func aFilterThatIsNoneIsRefused(_ parameters: [UInt8]) throws {
        try InquiryTests.run(hosts: 1) { world in
            let host = world.hosts[0]
            #expect(try await host.raw(HCICommands.SetEventFilter.opcode, parameters).status == .invalidHCICommandParameters)
            for _ in 0..<8 {
                try await host.succeed(
                    HCICommands.SetEventFilter(filterType: 1, filterCondition: [0]),
                    HCICommands.SetEventFilter(filterType: 2, filterCondition: [0, 1]))
            }
            #expect(try await host.run(HCICommands.SetEventFilter(filterType: 1, filterCondition: [0])) == .memoryCapacityExceeded)
            try await host.succeed(HCICommands.SetEventFilter(), HCICommands.SetEventFilter(filterType: 1, filterCondition: [0]))
        }
    }

    /// Page 0 contains the implemented features, page 1 the features enabled by the host. Core Vol 2, Part C, 3.3.
    @Test func featuresAreThoseThatAreThere() throws {
        try InquiryTests.run(hosts: 1) { world in
            let host = world.hosts[0]
            let page = try await host.returns(HCICommands.ReadLocalExtendedFeatures(pageNumber: 0))
            #expect(page.maxPageNumber == 2)
            let bits = (0..<64).filter { page.extendedLMPFeatures >> UInt64($0) & 1 == 1 }
            #expect(
                bits == [
                    0, 1, 2, 3, 4, 5, 7, 11, 12, 13, 14, 15, 16, 19, 25, 26, 27, 28, 29, 30, 31, 32, 33, 35, 38, 39, 40, 42, 43, 45, 46, 47,
                    48, 49, 51, 52, 57, 63,
                ])
            #expect(try await host.returns(HCICommands.ReadLocalSupportedFeatures()).lmpFeatures == page.extendedLMPFeatures)
            #expect(try await host.returns(HCICommands.ReadLocalExtendedFeatures(pageNumber: 1)).extendedLMPFeatures == 0)
            try await host.succeed(HCICommands.WriteLEHostSupport(leSupportedHost: 1))
            #expect(try await host.returns(HCICommands.ReadLocalExtendedFeatures(pageNumber: 1)).extendedLMPFeatures == 2)
            try await host.succeed(
                HCICommands.WriteSimplePairingMode(simplePairingMode: 1),
                HCICommands.WriteSecureConnectionsHostSupport(secureConnectionsHostSupport: 1))
            #expect(try await host.returns(HCICommands.ReadLocalExtendedFeatures(pageNumber: 1)).extendedLMPFeatures == 0b1011)
            #expect(try await host.returns(HCICommands.ReadLocalExtendedFeatures(pageNumber: 2)).extendedLMPFeatures == 0x300)
            #expect(try await host.run(HCICommands.ReadLocalExtendedFeatures(pageNumber: 3)) == .invalidHCICommandParameters)
        }
        try World.run(hosts: 1) { world in
            let page = try await world.hosts[0].returns(HCICommands.ReadLocalExtendedFeatures(pageNumber: 0))
            #expect(page.extendedLMPFeatures == 1 << 37 | 1 << 38 && page.maxPageNumber == 0)
            let answer = try await world.hosts[0].run(HCICommands.ReadLocalExtendedFeatures(pageNumber: 1))
            #expect(answer == .invalidHCICommandParameters)
        }
    }
}
