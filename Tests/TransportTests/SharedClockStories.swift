import BBPackets
import BBTransport
import Testing

/// A story: lines of `event` or `event -> answer`.
struct Story: CustomTestStringConvertible, Sendable {
    let title: String
    var ports = 2
    var limits = VirtualTimeLimits()
    var outlivesClients = false
    let lines: String
    var testDescription: String { title }

    init(
        _ title: String, ports: Int = 2, outlivesClients: Bool = false, _ lines: String,
        change: (inout VirtualTimeLimits) -> Void = { _ in }
    ) {
        (self.title, self.ports, self.outlivesClients, self.lines) = (title, ports, outlivesClients, lines)
        change(&limits)
    }
}

let sharedClockStories = [
    Story(
        "time stands still until a client comes, and while it is awake",
        """
        settle 1 -> wait
        0 hello - 1 -> 0 welcome 0.0
        settle 1 -> wait 10.0
        0 idle 2.5
        settle 1 -> attach 0, again
        settle 1 -> move to 2.5
        at 2.5
        settle none -> 0 time 2.5, again
        settle none -> wait 10.0
        """),
    Story(
        "packets go to the controllers when all clients are idle, by port",
        """
        1 hello b 2 -> 1 welcome 0.0
        1 says
        1 idle ever
        settle 1 -> wait 10.0
        0 hello a 2 -> 0 welcome 0.0
        0 says
        settle 1 -> wait 10.0
        0 says
        0 idle ever
        settle 1 -> attach 0, inject 0, inject 0, attach 1, inject 1, again
        settle 1 -> move
        """),
    Story(
        "only the client that something has come for is woken, behind its packets, on all of its connections", ports: 3,
        """
        0 hello a 2 -> 0 welcome 0.0
        1 hello b 2 -> 1 welcome 0.0
        2 hello a 2 -> 2 welcome 0.0
        0 idle ever
        1 idle 3
        settle 1 -> wait 10.0
        2 idle 7
        settle 1 -> attach 0, attach 1, attach 2, again
        controller 0
        controller 0
        settle 1 -> 0 event, 0 event, 0 time 0.0, 2 time 0.0, again
        settle 1 -> wait 10.0
        0 idle 5
        2 idle ever
        settle 4 -> move to 3.0
        """),
    Story(
        "several are woken together when their times have come",
        """
        0 hello a 2 -> 0 welcome 0.0
        1 hello b 2 -> 1 welcome 0.0
        0 idle 3
        1 idle 3
        settle 1 -> attach 0, attach 1, again
        settle 4 -> move to 3.0
        at 3
        settle 4 -> 0 time 3.0, 1 time 3.0, again
        0 idle 3
        1 idle ever
        settle 4 -> 0 time 3.0, again
        """),
    Story(
        "an idle client may ask to be woken",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 wake
        0 idle ever
        settle 1 -> attach 0, again
        0 wake
        settle 1 -> 0 time 0.0, again
        0 idle ever
        settle 1 -> move
        """),
    Story(
        "a client that leaves frees its port, and the next has a fresh controller",
        """
        0 hello a 1 -> 0 welcome 0.0
        1 hello a 1 -> 1 welcome 0.0
        0 idle ever
        1 idle ever
        settle 1 -> attach 0, attach 1, again
        controller 0
        settle 1 -> 0 event, 0 time 0.0, 1 time 0.0, again
        1 bye -> hang up 1
        1 hello a 1 -> 1 welcome 0.0
        1 says
        1 idle 2
        0 idle ever
        settle 1 -> detach 1, attach 1, inject 1, again
        settle 1 -> move to 2.0
        """),
    Story(
        "when the last client has left time stands still, and the next world counts anew",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 bye -> hang up 0
        settle 1 -> attach 0, detach 0, again
        settle 1 -> wait
        0 hello a 2 -> 0 welcome 0.0
        0 idle ever
        settle 1 -> wait 10.0
        1 hello b 2 -> 1 welcome 0.0
        1 idle ever
        settle 1 -> attach 0, attach 1, again
        """),
    Story(
        "a run that outlives its clients goes on without them", outlivesClients: true,
        """
        settle 1 -> wait
        0 hello a 1 -> 0 welcome 0.0
        0 idle ever
        settle 1 -> attach 0, again
        0 bye -> hang up 0
        settle 1 -> detach 0, again
        settle 1 -> move
        """),
    Story(
        "time stands still until a client has come that another expects",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 idle ever
        settle 1 -> attach 0, again
        controller 0
        settle 1 -> 0 event, 0 time 0.0, again
        0 expects 2
        0 says
        0 idle 3
        settle 1 -> inject 0, again
        settle 1 -> wait 10.0
        controller 0
        settle 1 -> 0 event, 0 time 0.0, again
        0 idle 3
        1 hello b 1 -> 1 welcome 0.0
        settle 1 -> wait 10.0
        1 idle 1
        settle 1 -> attach 1, again
        settle 1 -> move to 1.0
        at 1
        settle 2 -> 1 time 1.0, again
        1 bye -> hang up 1
        settle 2 -> detach 1, again
        settle 2 -> wait 10.0
        0 wake
        settle 2 -> 0 time 1.0, again
        0 expects 1
        0 idle 3
        settle 2 -> move to 3.0
        """),
    Story(
        "a connection of an idle client wakes the others",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 idle ever
        settle 1 -> attach 0, again
        1 hello a 1 -> 1 welcome 0.0, 0 time 0.0
        settle 1 -> wait 10.0
        """),
]

/// Clients that break the rules.
let hostileClockStories = [
    Story(
        "it dies",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 lost -> fail: the client 'a' at port 0 went away
        settle 1 -> move
        0 idle ever
        """),
    Story(
        "it goes back in time",
        """
        0 hello a 1 -> 0 welcome 0.0
        at 2
        0 idle 1.5 -> fail: the client 'a' at port 0 is idle until 1.5 s, and it is 2.0 s: time does not go back
        """),
    Story(
        "it waits too long",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 idle 86401 -> fail: the client 'a' at port 0 is idle until 86401.0 s: that is more than 86400 s away
        """),
    Story(
        "it sends a packet while it is idle",
        """
        0 hello - 1 -> 0 welcome 0.0
        0 idle ever
        0 says -> fail: the client at port 0 sent an HCI packet after it had said that it was idle
        """),
    Story(
        "it is idle twice",
        """
        0 hello - 1 -> 0 welcome 0.0
        0 idle 1
        0 idle 2 -> fail: the client at port 0 said twice that it is idle
        """),
    Story(
        "it is never idle",
        """
        0 hello a 1 -> 0 welcome 0.0
        settle 1 -> wait 10.0
        machine 9
        settle 1 -> wait 1.0
        0 says
        settle 1 -> wait 10.0
        machine 10
        settle 1 -> fail: the client 'a' at port 0 has been silent for 10.0 s and is not idle, again
        """),
    Story(
        "it never comes",
        """
        0 hello a 2 -> 0 welcome 0.0
        0 idle ever
        settle 1 -> wait 10.0
        machine 10
        settle 1 -> fail: 1 of 2 clients are there, and none came for 10.0 s, again
        """),
    Story(
        "an expected client never comes",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 expects 2
        0 idle ever
        settle 1 -> attach 0, again
        settle 1 -> wait 10.0
        machine 10
        settle 1 -> fail: 1 of 2 clients are there, and none came for 10.0 s, again
        """),
    Story(
        "it expects nobody",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 expects 0 -> fail: the client 'a' at port 0 expects 0 clients: there can be 1 to 64
        """),
    Story(
        "it expects another while it is idle",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 idle ever
        0 expects 2 -> fail: the client 'a' at port 0 expects another client after it had said that it was idle
        """),
    Story(
        "it floods",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 says
        0 says
        0 wake
        0 says -> fail: the client 'a' at port 0 floods: more than 3 packets and messages without being idle
        """
    ) { $0.packetsPerTurn = 3 },
    Story(
        "it lets no time pass",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 idle 0
        settle 1 -> attach 0, again
        settle 1 -> 0 time 0.0, again
        0 idle 0
        settle 1 -> 0 time 0.0, again
        0 idle 0
        settle 1 -> 0 time 0.0, fail: the clients have been awake 2 times at 0.0 s without letting time move, again
        """
    ) { $0.turnsPerInstant = 2 },
    Story(
        "all wait for ever, and nothing is left",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 idle ever
        settle none -> attach 0, again
        settle none -> fail: all clients are idle for ever, and nothing is left that could happen at 0.0 s, again
        """),
    Story(
        "all wait for ever, and the air goes on",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 idle ever
        settle 1 -> attach 0, again
        settle 1 -> move
        at 3601
        settle 3602 -> fail: all clients are idle for ever, and none was woken for 3600 s of virtual time, again
        """),
    Story(
        "it says hello twice",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 again -> fail: the client 'a' at port 0 said hello twice
        """),
    Story(
        "it plays the server",
        """
        0 hello a 1 -> 0 welcome 0.0
        0 time -> fail: the client 'a' at port 0 sent a message that only a server sends
        """),
    Story(
        "it counts another world",
        """
        0 hello a 2 -> 0 welcome 0.0
        1 hello b 3 -> fail: HELLO of the client at port 1 is for a world of 3 clients, an earlier one for 2; \
        a device of bluebench sends 1, and for ',virtual-time=N' also EXPECT
        """),
    Story(
        "its world is empty",
        """
        0 hello a 0 -> refuse 0: the client at port 0 says that its world has 0 clients: there can be 1 to 64
        """),
    Story(
        "it speaks a later version",
        """
        0 hello a 1 -> 0 welcome 0.0
        1 future -> refuse 1: the client at port 1 speaks version 2 of virtual time, and this is version 1
        0 idle 1
        settle none -> attach 0, again
        settle none -> move to 1.0
        """),
]
