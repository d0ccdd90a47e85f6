/* ioctl(2): requests with lists, or with transfers whose kind says what is read and written: those of USB devices, of
 * I2C buses, and the controls of video devices.
 */
#include "tools/memcheck/client/ioctl_lists.h"

#define MOST 4096 /* elements of a list; the kernel takes fewer */

#define URB(part) "ioctl(USBDEVFS_SUBMITURB)" part
#define MESSAGES  "ioctl(I2C_RDWR).msgs"
#define TO_HOST   0x80

enum {
    USBDEVFS_IOCTL = 0xc0105512,
    USBDEVFS_SUBMITURB = 0x8038550a,
    USBDEVFS_REAPURB = 0x4008550c,
    USBDEVFS_REAPURBNDELAY = 0x4008550d,
    USBDEVFS_DISCARDURB = 0x550b,
    I2C_RDWR = 0x707,
    I2C_SMBUS = 0x720,
    VIDIOC_G_EXT_CTRLS = 0xc0205647,
    VIDIOC_S_EXT_CTRLS = 0xc0205648,
    VIDIOC_TRY_EXT_CTRLS = 0xc0205649,
};

/* struct usbdevfs_urb; its packets follow. */
struct urb {
    u8 type, endpoint;
    int status;
    u32 flags;
    u64 buffer;
    u32 length, actual;
    u32 start;
    u32 packets;
    u32 errors, signal;
    u64 context;
};
enum { ISOCHRONOUS, INTERRUPT, CONTROL, BULK };
struct packet {
    u32 length, actual, status;
};
/* What a control transfer's buffer begins with. */
struct setup {
    u8 type, request;
    u16 value, index, length;
};

static bool fetched(void *to, u64 from, u64 n) { return rt_copy_from(to, from, n) == 0; }
static u64 packet_at(u64 urb, u32 i) { return urb + sizeof(struct urb) + i * sizeof(struct packet); }
static u32 at_most(u32 n) { return n < MOST ? n : MOST; }

static void transfer(struct call *c, u64 at, u64 n, bool to_host, const char *name) {
    if (to_host)
        call_writes(c, at, n, name, "");
    else
        call_reads(c, at, n, name, "");
}

static void urb_in(struct call *c, u64 at) {
    struct urb urb;
    struct setup setup;
    struct packet packet;
    u64 n;
    call_reads(c, at, 1, URB(".type"), "");
    call_reads(c, at + 1, 1, URB(".endpoint"), "");
    call_writes(c, at + 4, 4, URB(".status"), "");
    call_reads(c, at + 8, 4, URB(".flags"), "");
    call_reads(c, at + 16, 8, URB(".buffer"), "");
    call_reads(c, at + 24, 4, URB(".buffer_length"), "");
    call_writes(c, at + 28, 4, URB(".actual_length"), "");
    call_reads(c, at + 36, 4, URB(".number_of_packets"), "");
    call_writes(c, at + 40, 4, URB(".error_count"), "");
    call_reads(c, at + 44, 4, URB(".signr"), "");
    if (!fetched(&urb, at, sizeof urb)) return;
    n = urb.length;
    if (urb.type == ISOCHRONOUS) {
        n = 0; /* the sum of the packets' lengths counts */
        for (u32 i = 0; i < at_most(urb.packets); i++) {
            call_reads(c, packet_at(at, i), 4, URB(".iso_frame_desc[].length"), "");
            call_writes(c, packet_at(at, i) + 4, 8, URB(".iso_frame_desc[]"), "");
            if (fetched(&packet, packet_at(at, i), sizeof packet)) n += packet.length;
        }
    }
    if (urb.type != CONTROL) {
        transfer(c, urb.buffer, n, urb.endpoint & TO_HOST, URB(".buffer"));
        return;
    }
    call_reads(c, urb.buffer, sizeof setup, URB(".buffer.setup_packet"), "");
    if (n > sizeof setup && fetched(&setup, urb.buffer, sizeof setup))
        transfer(c, urb.buffer + sizeof setup, setup.length, setup.type & TO_HOST, URB(".buffer.data"));
}

/* A transfer has ended: its results, and what it brought. */
static void urb_reaped(struct tstate *ts, u64 at) {
    struct urb urb;
    struct setup setup;
    struct packet packet;
    if (!fetched(&urb, at, sizeof urb)) return;
    call_defines(ts, at + 4, 4);
    call_defines(ts, at + 28, 8);
    call_defines(ts, at + 40, 4);
    if (urb.type == ISOCHRONOUS) {
        u64 offset = 0;
        for (u32 i = 0; i < at_most(urb.packets) && fetched(&packet, packet_at(at, i), sizeof packet); i++) {
            call_defines(ts, packet_at(at, i) + 4, 8);
            if (urb.endpoint & TO_HOST) call_defines(ts, urb.buffer + offset, packet.actual);
            offset += packet.length;
        }
    } else if (urb.type != CONTROL) {
        if (urb.endpoint & TO_HOST) call_defines(ts, urb.buffer, urb.actual);
    } else if (fetched(&setup, urb.buffer, sizeof setup) && setup.type & TO_HOST) {
        call_defines(ts, urb.buffer + sizeof setup, urb.actual);
    }
}

/* struct usbdevfs_ioctl: a request for a driver, whose number says which way how many bytes go. */
static void usb_driver(struct call *c, u64 at, bool in) {
    struct {
        u32 interface, request;
        u64 data;
    } to;
    if (in) call_reads(c, at, sizeof to, "ioctl(USBDEVFS_IOCTL)", "");
    if (!fetched(&to, at, sizeof to)) return;
    u32 ways = to.request >> 30, n = to.request >> 16 & 0x3fff;
    if (in && ways & 1) call_reads(c, to.data, n, "ioctl(USBDEVFS_IOCTL).dataWrite", "");
    if (in && ways & 2) call_writes(c, to.data, n, "ioctl(USBDEVFS_IOCTL).dataRead", "");
    if (!in && ways & 2) call_defines(c->ts, to.data, n);
}

/* struct i2c_rdwr_ioctl_data: messages, each either way. */
static void i2c_messages(struct call *c, u64 at, bool in) {
    enum { READS = 1, LENGTH_COMES = 0x400, LONGEST = 33 };
    u64 messages = 0;
    u32 n = 0;
    struct {
        u16 address, flags, length;
        u64 buffer;
    } message;
    if (in) call_reads(c, at, 8, "ioctl(I2C_RDWR)", "");
    if (in) call_reads(c, at + 8, 4, "ioctl(I2C_RDWR)", "");
    if (!fetched(&messages, at, 8) || !fetched(&n, at + 8, 4)) return;
    for (u32 i = 0; i < at_most(n); i++, messages += sizeof message) {
        if (in) call_reads(c, messages, 6, MESSAGES, "");
        if (in) call_reads(c, messages + 8, 8, MESSAGES, "");
        if (!fetched(&message, messages, sizeof message)) return;
        if (in) {
            transfer(c, message.buffer, message.length, message.flags & READS, MESSAGES ".buf");
        } else if (message.flags & READS) {
            /* With a length that comes from the device the kernel says in the message how many there are. */
            u16 most = message.flags & LENGTH_COMES && message.length > LONGEST ? LONGEST : message.length;
            call_defines(c->ts, message.buffer, most);
            if (message.flags & LENGTH_COMES) call_defines(c->ts, messages + 4, 2);
        }
    }
}

/* struct i2c_smbus_ioctl_data: a transfer of a byte, a word, or a block that begins with its length. */
static void smbus_transfer(struct call *c, u64 at, bool in) {
    enum { QUICK, BYTE, BYTE_DATA, WORD_DATA, CALL, BLOCK_CALL = 7, LONG_BLOCK = 8, READS = 1, BLOCK = 34 };
    static const char name[] = "ioctl(VKI_I2C_SMBUS).i2c_smbus_ioctl_data.data";
    struct {
        u8 way, command;
        u32 size;
        u64 data;
    } of;
    u8 length = 0;
    if (in) {
        call_reads(c, at, 1, "ioctl(VKI_I2C_SMBUS).i2c_smbus_ioctl_data.read_write", "");
        call_reads(c, at + 4, 4, "ioctl(VKI_I2C_SMBUS).i2c_smbus_ioctl_data.size", "");
        call_reads(c, at + 1, 1, "ioctl(VKI_I2C_SMBUS).i2c_smbus_ioctl_data.command", "");
    }
    if (!fetched(&of, at, sizeof of) || of.size == QUICK || of.size > LONG_BLOCK) return;
    bool both = of.size == CALL || of.size == BLOCK_CALL, block = of.size > CALL;
    bool reads = of.way == READS || both, writes = of.way != READS || both;
    u64 n = of.size < WORD_DATA ? 1 : 2;
    if (of.size == BYTE && writes) return; /* the command is the byte */
    if (block && in && (writes || of.size == LONG_BLOCK)) {
        call_reads(c, of.data, 1, name, "");
        if (writes && fetched(&length, of.data, 1) && length < BLOCK - 1) call_reads(c, of.data + 1, length, name, "");
    } else if (in && writes) {
        call_reads(c, of.data, n, name, "");
    }
    if (in && reads) call_writes(c, of.data, block ? BLOCK : n, name, "");
    if (!in && reads) call_defines(c->ts, of.data, block ? BLOCK : n);
}

struct ext_names {
    const char *class, *count, *error, *reserved, *controls;
    const char *id, *size, *reserved2, *data, *value;
};

/* struct v4l2_ext_controls: packed structures, with a value or a pointer to it. */
static void video_controls(struct call *c, u64 at, bool in, bool gets, const struct ext_names *names) {
    enum { ELEMENT = 20, COUNT = 4, POINTER = 24, SIZE = 4, VALUE = 12 };
    u32 n = 0, size = 0;
    u64 controls = 0, data = 0;
    if (in) {
        call_reads(c, at, 4, names->class, "");
        call_reads(c, at + COUNT, 4, names->count, "");
        call_writes(c, at + 8, 4, names->error, "");
        call_reads(c, at + 12, 8, names->reserved, "");
        call_reads(c, at + POINTER, 8, names->controls, "");
    } else {
        call_defines(c->ts, at + 8, 4);
    }
    if (!fetched(&n, at + COUNT, 4) || !fetched(&controls, at + POINTER, 8)) return;
    for (u32 i = 0; i < at_most(n); i++, controls += ELEMENT) {
        if (in) call_reads(c, controls, 4, names->id, "");
        if (in) call_reads(c, controls + SIZE, 4, names->size, "");
        if (in) call_reads(c, controls + 8, 4, names->reserved2, "");
        if (!fetched(&size, controls + SIZE, 4) || !fetched(&data, controls + VALUE, 8)) return;
        if (in && size)
            call_reads(c, controls + VALUE, 8, names->data, "");
        else if (in)
            transfer(c, controls + VALUE, 8, gets, names->value);
        if (in && size) transfer(c, data, size, gets, names->data);
        if (!in) call_defines(c->ts, size ? data : controls + VALUE, size ? size : 8);
    }
}

#define CONTROLS(name)                                                                                                 \
    {name ".ctrl_class",       name ".count",                                                                          \
     name ".error_idx",        name ".reserved",                                                                       \
     name ".controls",         name ".controls[].id",                                                                  \
     name ".controls[].size",  name ".controls[].reserved2",                                                           \
     name ".controls[].ptr[]", name ".controls[].value64"}

bool ioctl_list(struct call *c, bool in) {
    static const struct ext_names names[] = {CONTROLS("ioctl(VKI_V4L2_G_EXT_CTRLS)"),
                                             CONTROLS("ioctl(VKI_V4L2_S_EXT_CTRLS)"),
                                             CONTROLS("ioctl(VKI_V4L2_TRY_EXT_CTRLS)")};
    u64 at = c->args[2], urb = 0;
    u32 request = (u32)c->args[1];
    switch (request) {
    case USBDEVFS_SUBMITURB:
        if (in) urb_in(c, at);
        return true;
    case USBDEVFS_DISCARDURB: return true;
    case USBDEVFS_REAPURB:
    case USBDEVFS_REAPURBNDELAY:
        if (in)
            call_writes(c, at, 8, request == USBDEVFS_REAPURB ? "USBDEVFS_REAPURB" : "USBDEVFS_REAPURBNDELAY", "");
        else
            call_defines(c->ts, at, 8);
        if (!in && fetched(&urb, at, 8) && urb) urb_reaped(c->ts, urb);
        return true;
    case USBDEVFS_IOCTL: usb_driver(c, at, in); return true;
    case I2C_RDWR: i2c_messages(c, at, in); return true;
    case I2C_SMBUS: smbus_transfer(c, at, in); return true;
    case VIDIOC_G_EXT_CTRLS:
    case VIDIOC_S_EXT_CTRLS:
    case VIDIOC_TRY_EXT_CTRLS:
        video_controls(c, at, in, request == VIDIOC_G_EXT_CTRLS, &names[request - VIDIOC_G_EXT_CTRLS]);
        return true;
    default: return false;
    }
}
