#if __linux__
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// epoll_pwait2 by its number, which is the same on every 64-bit architecture: the kernel has it since 5.11 (else ENOSYS), the C library since 2.35.
static inline int epoll_wait_nanoseconds(int epoll, struct epoll_event *events, int most, long long nanoseconds) {
    struct timespec timeout = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    return (int)syscall(441, epoll, events, most, &timeout, (void *)0, (size_t)8);
}

// Whether there is something to read: ppoll, which Swift does not see.
static inline int poll_nanoseconds(int descriptor, long long nanoseconds) {
    struct timespec timeout = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    struct pollfd entry = {descriptor, POLLIN, 0};
    return (int)syscall(SYS_ppoll, &entry, (nfds_t)1, &timeout, (void *)0, (size_t)8);
}

// The calls below are those of the C library without its cancellation points, which cost two atomic exchanges each in a process with threads.
static inline int epoll_wait_plainly(int epoll, struct epoll_event *events, int most, int milliseconds) {
    return (int)syscall(SYS_epoll_pwait, epoll, events, most, milliseconds, (void *)0, (size_t)8);
}

static inline ssize_t receive_plainly(int socket, void *octets, size_t count) {
    return (ssize_t)syscall(SYS_recvfrom, socket, octets, count, 0, (void *)0, (void *)0);
}

static inline ssize_t send_plainly(int socket, const void *octets, size_t count) {
    return (ssize_t)syscall(SYS_sendto, socket, octets, count, MSG_NOSIGNAL, (void *)0, (size_t)0);
}
#endif
