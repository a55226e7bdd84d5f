#if os(Linux)
    import Foundation
    import Testing
    import BBTiming
    import BBVirtualDongle

    /// A dongle removed under an interactive tool: one clear line and exit code 3, soon.
    @Suite(.serialized, .onFakeUSB)
    struct LostInToolsTests {
        @Test(arguments: [
            ["devices", "--probe"],
            ["scan", "usb:1-1", "--seconds", "60"],
            ["gatt", "usb:1-1", "--peer", "C0:B1:BE:00:00:01/random"],
            ["throughput", "--tester", "usb:1-1", "--subject", "usb:1-2", "--phy", "1m", "--interval", "15", "--seconds", "60"],
        ])
        func aLostDongleIsOneLineAndTheEnd(arguments: [String]) throws {
            let bus = try FakeUsbfsBus()
            let server = bus.server
            var requests = 0
            var claims = 0
            server.onActivity = { index, activity in
                guard index == 0 else { return }
                if activity == .claim { claims += 1 }
                if claims >= 2, case .submit = activity { requests += 1 }
                if requests == 36 { server.unplug(0) }
            }
            let result = try #require(try bus.run(arguments), "\(arguments[0]) hangs")
            #expect(result.code == 3, "\(result.output)")
            let complaints = result.output.split(separator: "\n").filter { $0.hasPrefix("bluebench: ") }
            #expect(complaints.count == 1 && complaints.first?.contains("usb:1-1") ?? false, "\(result.output)")
            #expect(complaints.first?.contains("went away") ?? false, "\(result.output)")
            #expect(server.leftBehind.pending + server.leftBehind.claims == 0)
        }
    }
#endif
