// Round trips of HCI_Read_BD_ADDR over TCP, from one blocking raw socket.
//
//   roundtrips echo                  a plain blocking server for one client: answers every command with Command Complete; prints its port
//   roundtrips epoll                 the same, but it waits with epoll, as a server of several clients has to
//   roundtrips ROUNDS TRIPS PORT...  a client of several servers, which take turns: prints a line for each round, with each one's microseconds per trip

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const unsigned char reset[] = {0x01, 0x03, 0x0C, 0x00};
static const unsigned char command[] = {0x01, 0x09, 0x10, 0x00};
static unsigned char answer[] = {0x04, 0x0E, 0x0A, 0x01, 0x09, 0x10, 0x00, 1, 2, 3, 4, 5, 6};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void without_delay(int socket) {
    int on = 1;
    if (setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail("setsockopt");
}

static struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int exactly(int socket, unsigned char *into, size_t count) {
    for (size_t have = 0; have < count;) {
        ssize_t got = read(socket, into + have, count - have);
        if (got <= 0) return 0;
        have += (size_t)got;
    }
    return 1;
}

static int first_client(void) {
    int server = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    if (bind(server, (struct sockaddr *)&address, length) != 0 || listen(server, 1) != 0) fail("bind");
    if (getsockname(server, (struct sockaddr *)&address, &length) != 0) fail("getsockname");
    printf("tcp 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    int client = accept(server, NULL, NULL);
    if (client < 0) fail("accept");
    without_delay(client);
    return client;
}

static int answered(int client, const unsigned char *got) {
    memcpy(answer + 4, got + 1, 2);
    return write(client, answer, sizeof answer) == sizeof answer;
}

static void echo(void) {
    int client = first_client();
    unsigned char got[sizeof command];
    while (exactly(client, got, sizeof got) && answered(client, got)) {}
}

static void echo_with_epoll(void) {
    int client = first_client(), epoll = epoll_create1(0);
    struct epoll_event interest = {.events = EPOLLIN | EPOLLET}, ready;
    if (fcntl(client, F_SETFL, O_NONBLOCK) != 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, client, &interest) != 0) fail("epoll");
    unsigned char got[sizeof command];
    while (epoll_wait(epoll, &ready, 1, -1) == 1 && exactly(client, got, sizeof got) && answered(client, got)) {}
}

// Reads whole events until one completes `opcode`.
static void await(int socket, const unsigned char *opcode) {
    unsigned char event[258];
    do {
        if (!exactly(socket, event, 3) || !exactly(socket, event + 3, event[2])) fail("the controller left");
    } while (event[0] != 0x04 || event[1] != 0x0E || memcmp(event + 4, opcode, 2) != 0);
}

static void send_command(int socket, const unsigned char *bytes) {
    if (write(socket, bytes, 4) != 4) fail("write");
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int controller_at(int port) {
    int controller = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = loopback(port);
    if (connect(controller, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    without_delay(controller);
    send_command(controller, reset);
    await(controller, reset + 1);
    return controller;
}

static double microseconds_per_trip(int controller, int trips) {
    double start = seconds();
    for (int i = 0; i < trips; i++) {
        send_command(controller, command);
        await(controller, command + 1);
    }
    return 1e6 * (seconds() - start) / trips;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "echo") == 0) {
        echo();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "epoll") == 0) {
        echo_with_epoll();
        return 0;
    }
    enum { most = 8 };
    int count = argc - 3, controllers[most];
    if (count < 1 || count > most) return 2;
    for (int i = 0; i < count; i++) controllers[i] = controller_at(atoi(argv[3 + i]));
    for (int round = 0; round < atoi(argv[1]); round++)
        for (int i = 0; i < count; i++)
            printf("%.3f%c", microseconds_per_trip(controllers[i], atoi(argv[2])), i + 1 < count ? ' ' : '\n');
    return 0;
}
