/* The client's side of docs/design/virtual-time.md, with one connection. */

#define _POSIX_C_SOURCE 200809L

#include "vt_h4.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { INDICATOR = 0x54, HEADER = 4, VERSION = 1, LONGEST_MESSAGE = 512 };
enum { HELLO = 0x01, IDLE = 0x02, BYE = 0x04, WELCOME = 0x81, TIME = 0x82, FAULT = 0x83 };

struct octets {
    uint8_t *data;
    size_t count, room;
};

struct vt {
    int socket;
    uint64_t now;
    struct octets unsent, input;
    char fault[LONGEST_MESSAGE + 1];
};

/* The first fault is kept: the later ones follow from it. */
static int fail(struct vt *vt, const char *format, ...)
{
    va_list arguments;

    if (vt->fault[0] == 0) {
        va_start(arguments, format);
        vsnprintf(vt->fault, sizeof vt->fault, format, arguments);
        va_end(arguments);
    }
    return -1;
}

static int append(struct vt *vt, struct octets *to, const uint8_t *data, size_t count)
{
    if (count > to->room - to->count) {
        size_t room = (to->count + count) * 2;
        uint8_t *larger = realloc(to->data, room);

        if (larger == NULL)
            return fail(vt, "out of memory");
        to->data = larger;
        to->room = room;
    }
    if (count > 0)
        memcpy(to->data + to->count, data, count);
    to->count += count;
    return 0;
}

static void drop(struct octets *from, size_t count)
{
    memmove(from->data, from->data + count, from->count - count);
    from->count -= count;
}

static uint64_t read_time(const uint8_t *octets)
{
    uint64_t time = 0;

    for (int index = 7; index >= 0; index--)
        time = time << 8 | octets[index];
    return time;
}

/* Adds a message about time to what is sent next. */
static int say(struct vt *vt, uint8_t code, const uint8_t *payload, uint16_t length)
{
    const uint8_t header[HEADER] = {INDICATOR, code, (uint8_t)length, (uint8_t)(length >> 8)};

    if (append(vt, &vt->unsent, header, sizeof header) != 0)
        return -1;
    return append(vt, &vt->unsent, payload, length);
}

static int flush(struct vt *vt)
{
    size_t sent = 0;

    while (sent < vt->unsent.count) {
        ssize_t count = send(vt->socket, vt->unsent.data + sent, vt->unsent.count - sent, MSG_NOSIGNAL);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            break;  /* The server has closed the connection; what it said before is still to be read. */
        sent += (size_t)count;
    }
    vt->unsent.count = 0;
    return 0;
}

/* The length of the first item of the input: a message, or a packet with its indicator. 0 if more is needed to know it. */
static size_t item_length(const struct vt *vt)
{
    const uint8_t *octets = vt->input.data;
    size_t count = vt->input.count;

    if (count < 1)
        return 0;
    switch (octets[0]) {
    case INDICATOR: return count < HEADER ? 0 : HEADER + (size_t)(octets[2] | octets[3] << 8);
    case 0x02: return count < 5 ? 0 : 5 + (size_t)(octets[3] | octets[4] << 8);
    case 0x03: return count < 4 ? 0 : 4 + (size_t)octets[3];
    case 0x04: return count < 3 ? 0 : 3 + (size_t)octets[2];
    case 0x05: return count < 5 ? 0 : 5 + (size_t)(octets[3] | (octets[4] & 0x3F) << 8);
    default: return SIZE_MAX;
    }
}

/* Reads until an item is complete at the start of the input; its length is in *length. */
static int next_item(struct vt *vt, size_t *length)
{
    uint8_t buffer[4096];

    while ((*length = item_length(vt)) == 0 || vt->input.count < *length) {
        ssize_t count;

        if (*length == SIZE_MAX)
            return fail(vt, "the server sent the indicator 0x%02X", vt->input.data[0]);
        count = recv(vt->socket, buffer, sizeof buffer, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return fail(vt, "the server closed the connection");
        if (append(vt, &vt->input, buffer, (size_t)count) != 0)
            return -1;
    }
    return 0;
}

/* Reads packets until a message with this code has come; its payload has at least `least` octets, from which a time is read. */
static int read_until(struct vt *vt, uint8_t code, size_t least, size_t offset, vt_received *received, void *context)
{
    struct octets packets = {NULL, 0, 0};
    size_t length;
    int result = -1;

    while (next_item(vt, &length) == 0) {
        const uint8_t *item = vt->input.data;

        if (item[0] != INDICATOR) {
            /* The packets of a time are handled once that time is known. */
            if (append(vt, &packets, (const uint8_t *)&length, sizeof length) != 0 || append(vt, &packets, item, length) != 0)
                break;
        } else if (item[1] == FAULT) {
            fail(vt, "%.*s", (int)(length - HEADER), (const char *)item + HEADER);
            break;
        } else if (item[1] == code && length >= HEADER + least) {
            vt->now = read_time(item + HEADER + offset);
            result = 0;
        } else {
            fail(vt, "the server sent the message 0x%02X", item[1]);
            break;
        }
        drop(&vt->input, length);
        if (result == 0)
            break;
    }
    for (size_t at = 0; result == 0 && at < packets.count; at += sizeof length + length) {
        memcpy(&length, packets.data + at, sizeof length);
        if (received != NULL)
            received(context, packets.data + at + sizeof length, length);
    }
    free(packets.data);
    return result;
}

static int connect_unix(struct vt *vt, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof address.sun_path)
        return fail(vt, "%s: the path is too long", path);
    strcpy(address.sun_path, path);
    vt->socket = socket(AF_UNIX, SOCK_STREAM, 0);
    if (vt->socket < 0 || connect(vt->socket, (struct sockaddr *)&address, sizeof address) != 0)
        return fail(vt, "%s: %s", path, strerror(errno));
    return 0;
}

static int connect_tcp(struct vt *vt, const char *where)
{
    const char *colon = strrchr(where, ':');
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    char host[256];
    int one = 1;

    if (colon == NULL || colon == where || (size_t)(colon - where) >= sizeof host)
        return fail(vt, "%s: write HOST:PORT, or the path of a Unix socket", where);
    memcpy(host, where, (size_t)(colon - where));
    host[colon - where] = 0;
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
        return fail(vt, "%s: there is no such host", where);
    for (const struct addrinfo *each = found; each != NULL; each = each->ai_next) {
        vt->socket = socket(each->ai_family, each->ai_socktype, each->ai_protocol);
        if (vt->socket >= 0 && connect(vt->socket, each->ai_addr, each->ai_addrlen) == 0)
            break;
        fail(vt, "%s: %s", where, strerror(errno));
        if (vt->socket >= 0)
            close(vt->socket);
        vt->socket = -1;
    }
    freeaddrinfo(found);
    if (vt->socket < 0)
        return -1;
    vt->fault[0] = 0;
    setsockopt(vt->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return 0;
}

struct vt *vt_open(const char *where, const char *name, uint8_t clients)
{
    struct vt *vt = calloc(1, sizeof *vt);
    uint8_t payload[2 + 64] = {VERSION, clients};
    size_t length = strlen(name);

    if (vt == NULL)
        return NULL;
    vt->socket = -1;
    if (length > 64)
        length = 64;
    memcpy(payload + 2, name, length);
    if ((strchr(where, '/') != NULL ? connect_unix(vt, where) : connect_tcp(vt, where)) != 0)
        return vt;
    if (say(vt, HELLO, payload, (uint16_t)(2 + length)) == 0 && flush(vt) == 0)
        read_until(vt, WELCOME, 9, 1, NULL, NULL);
    return vt;
}

const char *vt_error(const struct vt *vt) { return vt->fault[0] != 0 ? vt->fault : NULL; }

uint64_t vt_now(const struct vt *vt) { return vt->now; }

int vt_send(struct vt *vt, const uint8_t *packet, size_t length)
{
    return vt->fault[0] != 0 ? -1 : append(vt, &vt->unsent, packet, length);
}

int vt_wait(struct vt *vt, uint64_t until, vt_received *received, void *context)
{
    uint8_t payload[8];

    if (vt->fault[0] != 0)
        return -1;
    if (until < vt->now)
        until = vt->now;
    for (int index = 0; index < 8; index++)
        payload[index] = (uint8_t)(until >> 8 * index);
    if (say(vt, IDLE, payload, sizeof payload) != 0 || flush(vt) != 0)
        return -1;
    return read_until(vt, TIME, 8, 0, received, context);
}

void vt_close(struct vt *vt)
{
    uint8_t rest[4096];

    if (vt == NULL)
        return;
    if (vt->socket >= 0) {
        if (vt->fault[0] == 0 && say(vt, BYE, NULL, 0) == 0 && flush(vt) == 0)
            while (recv(vt->socket, rest, sizeof rest, 0) > 0)
                ;  /* The port is free once the server has closed the connection. */
        close(vt->socket);
    }
    free(vt->unsent.data);
    free(vt->input.data);
    free(vt);
}
