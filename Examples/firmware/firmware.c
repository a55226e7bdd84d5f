/*
 * The firmware of a small accessory, built for Linux: a battery that loses one percent each minute and notifies it. It has a host of its
 * own, as much as it needs: HCI, one connection, ATT over the fixed channel. Its controller is a dongle of Bluebench in virtual time.
 *
 *     firmware HOST:PORT [CLIENTS]
 */

#include "vt_h4.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND = 0x01, ACL = 0x02, EVENT = 0x04 };
enum { ATT_CHANNEL = 0x0004, SIGNALING_CHANNEL = 0x0005, SMP_CHANNEL = 0x0006 };
enum { ATT_MTU = 23, LARGEST_PDU = 512, NO_CONNECTION = 0xFFFF };

#define SECONDS(count) ((uint64_t)(count) * 1000000000u)
#define MINUTE SECONDS(60)

/* The level at the start, in percent. -DFULL=200 is a build with a defect. */
#ifndef FULL
#define FULL 100
#endif

struct firmware {
    struct vt *vt;
    size_t step;            /* of start_up */
    uint16_t connection;    /* handle, or NO_CONNECTION */
    uint8_t level;          /* percent */
    uint8_t subscribed;     /* the low octet of the Client Characteristic Configuration */
    uint64_t due;           /* of the next percent */
    uint8_t pdu[4 + LARGEST_PDU];   /* an L2CAP frame in the making */
    size_t length;
};

/* The attribute database. A service is a group from its declaration to `end`. */

enum { PRIMARY_SERVICE = 0x2800, SECONDARY_SERVICE = 0x2801, CHARACTERISTIC = 0x2803, CONFIGURATION = 0x2902 };
enum { LEVEL = 8, SUBSCRIPTION = 9 };

static const uint8_t name[] = "Battery in C";

static const struct attribute {
    uint16_t handle, type, end;
    const uint8_t *value;
    uint8_t length;
} attributes[] = {
    {1, PRIMARY_SERVICE, 5, (const uint8_t[]){0x00, 0x18}, 2},
    {2, CHARACTERISTIC, 0, (const uint8_t[]){0x02, 3, 0, 0x00, 0x2A}, 5},
    {3, 0x2A00, 0, name, sizeof name - 1},
    {4, CHARACTERISTIC, 0, (const uint8_t[]){0x02, 5, 0, 0x01, 0x2A}, 5},
    {5, 0x2A01, 0, (const uint8_t[]){0x00, 0x00}, 2},
    {6, PRIMARY_SERVICE, 9, (const uint8_t[]){0x0F, 0x18}, 2},
    {7, CHARACTERISTIC, 0, (const uint8_t[]){0x12, LEVEL, 0, 0x19, 0x2A}, 5},
    {LEVEL, 0x2A19, 0, NULL, 1},
    {SUBSCRIPTION, CONFIGURATION, 0, NULL, 2},
};
enum { ATTRIBUTES = sizeof attributes / sizeof attributes[0] };

static size_t read_attribute(const struct firmware *own, const struct attribute *attribute, uint8_t *value)
{
    if (attribute->handle == LEVEL)
        value[0] = own->level;
    else if (attribute->handle == SUBSCRIPTION)
        value[0] = own->subscribed, value[1] = 0;
    else
        memcpy(value, attribute->value, attribute->length);
    return attribute->length;
}

/* L2CAP */

static uint16_t get16(const uint8_t *octets) { return (uint16_t)(octets[0] | octets[1] << 8); }
static void put16(uint8_t *octets, unsigned value) { octets[0] = (uint8_t)value, octets[1] = (uint8_t)(value >> 8); }

/* Sends a frame. None is longer than 27 octets, so each is one ACL packet; the controller has buffers for more than are ever waiting. */
static void send_frame(struct firmware *own, uint16_t channel, const uint8_t *pdu, size_t length)
{
    uint8_t packet[1 + 4 + 4 + ATT_MTU] = {ACL};

    put16(packet + 1, own->connection);
    put16(packet + 3, (unsigned)length + 4);
    put16(packet + 5, (unsigned)length);
    put16(packet + 7, channel);
    memcpy(packet + 9, pdu, length);
    vt_send(own->vt, packet, 9 + length);
}

/* ATT (Core Vol 3, Part F) */

enum { INVALID_HANDLE = 0x01, WRITE_NOT_PERMITTED = 0x03, INVALID_PDU = 0x04, REQUEST_NOT_SUPPORTED = 0x06 };
enum { INVALID_OFFSET = 0x07, ATTRIBUTE_NOT_FOUND = 0x0A, INVALID_LENGTH = 0x0D, UNSUPPORTED_GROUP_TYPE = 0x10 };

static void refuse(struct firmware *own, uint8_t request, uint16_t handle, uint8_t error)
{
    uint8_t answer[5] = {0x01, request, (uint8_t)handle, (uint8_t)(handle >> 8), error};

    send_frame(own, ATT_CHANNEL, answer, sizeof answer);
}

static const struct attribute *find(uint16_t handle)
{
    for (size_t index = 0; index < ATTRIBUTES; index++)
        if (attributes[index].handle == handle)
            return &attributes[index];
    return NULL;
}

/* Find Information: handles with their types. */
static void find_information(struct firmware *own, uint16_t first, uint16_t last)
{
    uint8_t answer[ATT_MTU] = {0x05, 0x01};
    size_t length = 2;

    for (size_t index = 0; index < ATTRIBUTES && length + 4 <= ATT_MTU; index++) {
        if (attributes[index].handle < first || attributes[index].handle > last)
            continue;
        put16(answer + length, attributes[index].handle);
        put16(answer + length + 2, attributes[index].type);
        length += 4;
    }
    if (length == 2)
        refuse(own, 0x04, first, ATTRIBUTE_NOT_FOUND);
    else
        send_frame(own, ATT_CHANNEL, answer, length);
}

/* Find By Type Value: the services with a UUID. */
static void find_by_value(struct firmware *own, const uint8_t *pdu, size_t count)
{
    uint16_t first = get16(pdu + 1), last = get16(pdu + 3);
    uint8_t answer[ATT_MTU] = {0x07};
    size_t length = 1;

    for (size_t index = 0; index < ATTRIBUTES && length + 4 <= ATT_MTU; index++) {
        const struct attribute *each = &attributes[index];

        if (each->handle < first || each->handle > last || each->type != get16(pdu + 5) || each->type != PRIMARY_SERVICE)
            continue;
        if (count != 7u + each->length || memcmp(pdu + 7, each->value, each->length) != 0)
            continue;
        put16(answer + length, each->handle);
        put16(answer + length + 2, each->end);
        length += 4;
    }
    if (length == 1)
        refuse(own, 0x06, first, ATTRIBUTE_NOT_FOUND);
    else
        send_frame(own, ATT_CHANNEL, answer, length);
}

/* Read By Type and Read By Group Type: values of equal length, each with its handle and, for a group, the end of it. */
static void read_by_type(struct firmware *own, uint8_t request, uint16_t first, uint16_t last, uint16_t type)
{
    bool groups = request == 0x10;
    uint8_t answer[ATT_MTU] = {(uint8_t)(request + 1)}, value[ATT_MTU];
    size_t head = groups ? 4 : 2, length = 2;

    if (groups && type != PRIMARY_SERVICE && type != SECONDARY_SERVICE) {
        refuse(own, request, first, UNSUPPORTED_GROUP_TYPE);
        return;
    }
    for (size_t index = 0; index < ATTRIBUTES; index++) {
        const struct attribute *each = &attributes[index];
        size_t count;

        if (each->handle < first || each->handle > last || each->type != type)
            continue;
        count = read_attribute(own, each, value);
        if (length > 2 && (answer[1] != head + count || length + head + count > ATT_MTU))
            break;
        answer[1] = (uint8_t)(head + count);
        put16(answer + length, each->handle);
        if (groups)
            put16(answer + length + 2, each->end);
        memcpy(answer + length + head, value, count);
        length += head + count;
    }
    if (length == 2)
        refuse(own, request, first, ATTRIBUTE_NOT_FOUND);
    else
        send_frame(own, ATT_CHANNEL, answer, length);
}

static void read_value(struct firmware *own, uint8_t request, uint16_t handle, size_t offset)
{
    const struct attribute *attribute = find(handle);
    uint8_t answer[ATT_MTU] = {(uint8_t)(request + 1)}, value[ATT_MTU];
    size_t count;

    if (attribute == NULL) {
        refuse(own, request, handle, INVALID_HANDLE);
        return;
    }
    count = read_attribute(own, attribute, value);
    if (offset > count) {
        refuse(own, request, handle, INVALID_OFFSET);
        return;
    }
    memcpy(answer + 1, value + offset, count - offset);
    send_frame(own, ATT_CHANNEL, answer, 1 + count - offset);
}

/* Only the subscription can be written. */
static void write_value(struct firmware *own, const uint8_t *pdu, size_t count)
{
    uint16_t handle = get16(pdu + 1);
    uint8_t error = find(handle) == NULL ? INVALID_HANDLE : handle != SUBSCRIPTION ? WRITE_NOT_PERMITTED : count != 5 ? INVALID_LENGTH : 0;
    bool answers = pdu[0] == 0x12;

    if (error == 0)
        own->subscribed = pdu[3] & 0x01;
    if (answers && error == 0)
        send_frame(own, ATT_CHANNEL, (const uint8_t[]){0x13}, 1);
    else if (answers)
        refuse(own, pdu[0], handle, error);
}

/* A type in a request: 16 bits, or 128 bits, which are the same if they begin with the base UUID. 0 is a type that nothing has. */
static uint16_t read_type(const uint8_t *octets, size_t count)
{
    static const uint8_t base[] = {0xFB, 0x34, 0x9B, 0x5F, 0x80, 0x00, 0x00, 0x80, 0x00, 0x10, 0x00, 0x00};

    if (count == 2)
        return get16(octets);
    return memcmp(octets, base, sizeof base) == 0 && get16(octets + 14) == 0 ? get16(octets + 12) : 0;
}

static void received_att(struct firmware *own, const uint8_t *pdu, size_t count)
{
    static const uint8_t least[] = {[0x02] = 3, [0x04] = 5, [0x06] = 7, [0x08] = 7, [0x0A] = 3, [0x0C] = 5, [0x10] = 7, [0x12] = 3, [0x52] = 3};
    uint8_t opcode = pdu[0];
    uint16_t first = count >= 3 ? get16(pdu + 1) : 0, last = count >= 5 ? get16(pdu + 3) : 0;
    bool ranges = opcode == 0x04 || opcode == 0x06 || opcode == 0x08 || opcode == 0x10;

    if (opcode >= sizeof least || least[opcode] == 0) {
        /* Commands, and what is no request, have no answer. */
        if ((opcode & 0x40) == 0 && (opcode & 0x01) == 0 && opcode != 0x1E)
            refuse(own, opcode, 0, REQUEST_NOT_SUPPORTED);
    } else if (count < least[opcode]) {
        if (opcode != 0x52)
            refuse(own, opcode, 0, INVALID_PDU);
    } else if (ranges && (first == 0 || first > last)) {
        refuse(own, opcode, first, INVALID_HANDLE);
    } else if ((opcode == 0x08 || opcode == 0x10) && count != 7 && count != 21) {
        refuse(own, opcode, first, INVALID_PDU);
    } else if (opcode == 0x02) {
        send_frame(own, ATT_CHANNEL, (const uint8_t[]){0x03, ATT_MTU, 0}, 3);
    } else if (opcode == 0x04) {
        find_information(own, first, last);
    } else if (opcode == 0x06) {
        find_by_value(own, pdu, count);
    } else if (ranges) {
        read_by_type(own, opcode, first, last, read_type(pdu + 5, count - 5));
    } else if (opcode == 0x0A || opcode == 0x0C) {
        read_value(own, opcode, first, opcode == 0x0C ? last : 0);
    } else {
        write_value(own, pdu, count);
    }
}

/* This host asks nothing, so it ignores the responses of signaling. */
static bool is_response(uint8_t code)
{
    static const uint8_t responses[] = {0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x15, 0x18, 0x1A};

    return memchr(responses, code, sizeof responses) != NULL;
}

static void received_frame(struct firmware *own, uint16_t channel, const uint8_t *pdu, size_t count)
{
    if (channel == ATT_CHANNEL && count > 0) {
        received_att(own, pdu, count);
    } else if (channel == SIGNALING_CHANNEL && count >= 4 && !is_response(pdu[0])) {
        /* Command Reject: command not understood. */
        send_frame(own, channel, (const uint8_t[]){0x01, pdu[1], 2, 0, 0, 0}, 6);
    } else if (channel == SMP_CHANNEL && count > 0 && pdu[0] == 0x01) {
        /* Pairing Failed: pairing is not supported. */
        send_frame(own, channel, (const uint8_t[]){0x05, 0x05}, 2);
    }
}

/* Puts the fragments of a frame together. */
static void received_data(struct firmware *own, const uint8_t *packet, size_t count)
{
    bool continues = (packet[2] >> 4 & 0x03) == 0x01;
    size_t more = count - 5;

    if (!continues)
        own->length = 0;
    if (own->length + more > sizeof own->pdu)
        return;
    memcpy(own->pdu + own->length, packet + 5, more);
    own->length += more;
    if (own->length >= 4 && own->length == 4u + get16(own->pdu)) {
        received_frame(own, get16(own->pdu + 2), own->pdu + 4, own->length - 4);
        own->length = 0;
    }
}

/* HCI: the commands of the start, one after the other, and the events of a connection. */

static const uint8_t advertise[] = {0x0A, 0x20, 1, 1};
static const uint8_t *const start_up[] = {
    (const uint8_t[]){0x03, 0x0C, 0},                                              /* HCI_Reset */
    (const uint8_t[]){0x01, 0x0C, 8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0, 0x20}, /* HCI_Set_Event_Mask: also LE events */
    (const uint8_t[]){0x01, 0x20, 8, 0x1F, 0, 0, 0, 0, 0, 0, 0},                   /* HCI_LE_Set_Event_Mask */
    (const uint8_t[]){0x06, 0x20, 15, 0xA0, 0, 0xA0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0}, /* HCI_LE_Set_Advertising_Parameters: 100 ms */
    (const uint8_t[]){0x08, 0x20, 32, 21, 2, 0x01, 0x06, 3, 0x03, 0x0F, 0x18, 13, 0x09,
                      'B', 'a', 't', 't', 'e', 'r', 'y', ' ', 'i', 'n', ' ', 'C', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, /* ..._Advertising_Data */
    advertise,                                                                     /* HCI_LE_Set_Advertising_Enable */
};
enum { STEPS = sizeof start_up / sizeof start_up[0] };

static void send_command(struct firmware *own, const uint8_t *command)
{
    uint8_t packet[1 + 3 + 255] = {COMMAND};
    size_t length = 3u + command[2];

    memcpy(packet + 1, command, length);
    vt_send(own->vt, packet, 1 + length);
}

static void received_event(struct firmware *own, const uint8_t *event, size_t count)
{
    if (event[0] == 0x0E && count >= 6) {
        if (event[5] != 0)
            printf("command 0x%04X: status 0x%02X\n", get16(event + 3), event[5]);
        if (own->step < STEPS && ++own->step < STEPS)
            send_command(own, start_up[own->step]);
        else if (own->step == STEPS)
            own->step++, printf("advertising '%s'\n", name);
    } else if (event[0] == 0x3E && count >= 6 && event[2] == 0x01 && event[3] == 0) {
        own->connection = get16(event + 4);
        own->length = 0;
        printf("connected\n");
    } else if (event[0] == 0x05 && count >= 6) {
        own->connection = NO_CONNECTION;
        own->subscribed = 0;
        printf("disconnected, reason 0x%02X\n", event[5]);
        send_command(own, advertise);
    }
    fflush(stdout);
}

static void received(void *context, const uint8_t *packet, size_t count)
{
    struct firmware *own = context;

    if (packet[0] == EVENT && count >= 3)
        received_event(own, packet + 1, count - 1);
    else if (packet[0] == ACL && count > 5 && own->connection != NO_CONNECTION)
        received_data(own, packet, count);
}

static void lose_a_percent(struct firmware *own)
{
    uint8_t notification[4] = {0x1B, LEVEL, 0};

    own->due += MINUTE;
    if (own->level > 0)
        own->level--;
    notification[3] = own->level;
    if (own->connection != NO_CONNECTION && own->subscribed != 0)
        send_frame(own, ATT_CHANNEL, notification, sizeof notification);
}

int main(int count, char **arguments)
{
    struct firmware own = {.connection = NO_CONNECTION, .level = FULL};
    int result = 0;

    if (count < 2) {
        fprintf(stderr, "usage: firmware HOST:PORT [CLIENTS]\n");
        return 2;
    }
    own.vt = vt_open(arguments[1], "firmware", (uint8_t)(count > 2 ? atoi(arguments[2]) : 1));
    if (own.vt == NULL)
        return 3;
    own.due = vt_now(own.vt) + MINUTE;
    send_command(&own, start_up[0]);
    while (result == 0) {
        result = vt_wait(own.vt, own.due, received, &own);
        while (result == 0 && vt_now(own.vt) >= own.due)
            lose_a_percent(&own);
    }
    fprintf(stderr, "firmware: %s\n", vt_error(own.vt));
    vt_close(own.vt);
    return 3;
}
