import BBTransport
import Testing

@Suite struct DeviceSelectorTests {
    @Test(arguments: [
        ("virtual", DeviceSelector.virtual),
        ("tcp:127.0.0.1:7001", .socket(.tcp(host: "127.0.0.1", port: 7001))),
        ("tcp:127.0.0.1:7001,token", .guarded(.tcp(host: "127.0.0.1", port: 7001))),
        ("tcp:127.0.0.1:7001,virtual-time", .virtualTime(.tcp(host: "127.0.0.1", port: 7001), clients: 1)),
        ("tcp:127.0.0.1:7001,virtual-time=2", .virtualTime(.tcp(host: "127.0.0.1", port: 7001), clients: 2)),
        ("unix:/run/a,b,virtual-time", .virtualTime(.unix(path: "/run/a,b"), clients: 1)),
        ("unix:/run/a,virtual-time=3", .virtualTime(.unix(path: "/run/a"), clients: 3)),
        ("tcp:[::1]:7001", .socket(.tcp(host: "::1", port: 7001))),
        ("unix:/run/a:b", .socket(.unix(path: "/run/a:b"))),
        ("serial:/dev/ttyACM0", .serial(path: "/dev/ttyACM0", speed: 115_200)),
        ("serial:/dev/ttyACM0,230400", .serial(path: "/dev/ttyACM0", speed: 230_400)),
        ("usb", .usb(.only)),
        ("usb:1-2.3", .usb(.location(bus: 1, ports: [2, 3]))),
        ("usb:0bda:8771", .usb(.identity(vendor: 0x0BDA, product: 0x8771, serial: nil))),
        ("usb:0bda:8771/00E04C-23:9", .usb(.identity(vendor: 0x0BDA, product: 0x8771, serial: "00E04C-23:9"))),
    ])
    func goodSelectorsAreReadAndPrintedTheSame(text: String, selector: DeviceSelector) throws {
        #expect(try DeviceSelector(text) == selector)
        #expect(selector.description == text)
    }

    @Test(arguments: [
        "", "hci0", "virtual:1", "tcp:", "tcp:host", "tcp:host:0", "tcp:host:70000", "tcp::1", "tcp:h:1,virtual-time=0",
        "tcp:h:1,virtual-times", "tcp:,virtual-time", ",virtual-time", "unix:", "unix:,virtual-time", "unix:/a,virtual-time=65", "serial:",
        "serial:/dev/x,1",
        "usb:1-", "usb:0-1",
        "usb:1-2.x", "usb:12345:1", "usb:zz:1", "usb:0bda",
    ])
    func badSelectorsSayWhatToWrite(text: String) {
        #expect(throws: SelectorError.self) { try DeviceSelector(text) }
    }
}
