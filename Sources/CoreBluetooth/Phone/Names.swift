import class BBHost.Host
import class BBTiming.RunLoop

// Foundation has types of the same names.

/// The host of this package.
package typealias PhoneHost = Host
/// The loop of this package.
typealias PhoneLoop = RunLoop
