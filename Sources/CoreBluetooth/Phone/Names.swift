import Host
import Timing

// Foundation has types of the same names.

/// The host of this package.
typealias PhoneHost = Host
/// The loop of this package.
typealias PhoneLoop = RunLoop
