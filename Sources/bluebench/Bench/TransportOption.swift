import ArgumentParser
import BBSessions

extension SessionTransport: ExpressibleByArgument {}
