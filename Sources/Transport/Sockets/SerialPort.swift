import BBTiming

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension ByteStream {
    /// Supported line speeds.
    public static let serialSpeeds: [Int: speed_t] = {
        var speeds: [Int: speed_t] = [9600: speed_t(B9600), 115_200: speed_t(B115200), 230_400: speed_t(B230400)]
        #if canImport(Glibc)
            speeds[460_800] = speed_t(B460800)
            speeds[921_600] = speed_t(B921600)
            speeds[1_000_000] = speed_t(B1000000)
            speeds[2_000_000] = speed_t(B2000000)
            speeds[3_000_000] = speed_t(B3000000)
        #endif
        return speeds
    }()

    /// Opens a serial line for H4: 8 data bits, no parity, 1 stop bit, hardware flow control. Core Vol 4, Part A, 3.
    ///
    /// - Throws: `unreachable`, `notPermitted`, `busy`.
    public static func serial(_ path: String, speed: Int = 115_200, on loop: RunLoop) throws(TransportError) -> ByteStream {
        guard let code = serialSpeeds[speed] else {
            throw .unreachable("serial:\(path): \(speed) baud; the speeds are \(serialSpeeds.keys.sorted())")
        }
        let descriptor = systemOpen(path)
        guard descriptor >= 0 else {
            switch errno {
            case EACCES, EPERM: throw .notPermitted("serial:\(path): add yourself to the group that owns it")
            case EBUSY: throw .busy("serial:\(path)")
            default: throw .unreachable("serial:\(path): \(systemText(errno))")
            }
        }
        var settings = termios()
        guard tcgetattr(descriptor, &settings) == 0 else {
            systemClose(descriptor)
            throw .unreachable("serial:\(path) is not a serial line")
        }
        cfmakeraw(&settings)
        settings.c_cflag |= tcflag_t(CLOCAL) | tcflag_t(CREAD)
        settings.c_cflag &= ~tcflag_t(CSTOPB)
        #if canImport(Glibc)
            settings.c_cflag |= tcflag_t(CRTSCTS)
        #endif
        cfsetspeed(&settings, code)
        tcsetattr(descriptor, TCSANOW, &settings)
        tcflush(descriptor, TCIOFLUSH)
        return ByteStream(name: "serial:\(path)", descriptor: descriptor, on: loop)
    }
}

private func systemOpen(_ path: String) -> Int32 { open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) }
