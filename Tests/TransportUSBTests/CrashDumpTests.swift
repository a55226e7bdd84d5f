#if os(Linux)
    import Foundation
    import Testing
    import BBVirtualDongle

    /// The firmware of a chip crashes and sends a dump: Qualcomm's as data of an unused handle, Realtek's as a vendor event.
    @Suite(.serialized, .onFakeUSB)
    struct CrashDumpTests {
        static let dumps = [["acl-dump=15"], ["coredump=50", "usb-id=0bda:8771", "company=93"]]

        @Test(arguments: dumps, [true, false]) func theRunSaysWhoseFirmwareCrashed(switches: [String], isTester: Bool) throws {
            let (crashing, plain) = (try DongleConduct(switches), DongleConduct())
            let bus = try FakeUsbfsBus(conduct: isTester ? crashing : plain, subject: isTester ? plain : crashing)
            let result = try #require(
                try bus.run(
                    ["run", "gap-conn/data-both-ways", "--tester", "usb:1-1", "--subject", "usb:1-2", "--slack", "500"]))
            let (side, port) = isTester ? ("tester", "usb:1-1") : ("subject", "usb:1-2")
            #expect(result.code == 3, "\(result.output)")
            #expect(
                result.output.contains("the \(side) was lost: \(port): the controller's firmware has crashed and sent a dump"),
                "\(result.output)")
            #expect(bus.server.leftBehind.pending + bus.server.leftBehind.claims == 0)
        }
    }
#endif
