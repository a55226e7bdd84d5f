import BBTransport
import Foundation

/// The reason for an error of Foundation in the system's words, as for errors of system calls.
package func systemReason(_ error: any Error) -> String {
    var next: (any Error)? = error
    while let found = next {
        if let found = found as? POSIXError { return systemText(found.code.rawValue) }
        let bridged = found as NSError
        if bridged.domain == NSPOSIXErrorDomain { return systemText(Int32(truncatingIfNeeded: bridged.code)) }
        next = bridged.userInfo[NSUnderlyingErrorKey] as? any Error
    }
    return switch (error as? CocoaError)?.code {
    case .fileNoSuchFile, .fileReadNoSuchFile: systemText(ENOENT)
    case .fileReadNoPermission, .fileWriteNoPermission: systemText(EACCES)
    case .fileWriteOutOfSpace: systemText(ENOSPC)
    case .fileWriteVolumeReadOnly: systemText(EROFS)
    case .fileWriteFileExists: systemText(EEXIST)
    default: error.localizedDescription
    }
}
