/* ioctl(2): the planes of a video device's buffers, to which requests lead that are rows of ioctls.def. */
#include "tools/memcheck/client/syscall_check.h"

enum {
    VIDIOC_QUERYBUF = 0xc0585609,
    VIDIOC_QBUF = 0xc058560f,
    VIDIOC_DQBUF = 0xc0585611,
    VIDIOC_PREPARE_BUF = 0xc058565d,
    CAPTURE_MPLANE = 9, /* enum v4l2_buf_type: the two that have planes */
    OUTPUT_MPLANE = 10,
    MMAP = 1, /* enum v4l2_memory */
    DMABUF = 4,
    MOST_PLANES = 8, /* VIDEO_MAX_PLANES */
    TYPE_AT = 4,     /* in struct v4l2_buffer */
    MEMORY_AT = 60,
    PLANES_AT = 64,
    LENGTH_AT = 72,
};
struct plane {
    u32 bytes_used, length;
    union {
        u64 memory; /* an offset or an address */
        int fd;
    };
    u32 data_offset, reserved[11];
};
struct buffer {
    u32 type, memory, n;
    u64 planes;
};

/* What is looked at, of which buffers. */
enum { ALL, OUTPUT, OFFSETS, DESCRIPTORS, ADDRESSES };
static const struct member {
    u32 request;
    u8 at, size;
    bool written;
    u8 of;
    const char *name;
} members[] = {
#define IS(request, member, written, of, name)                                                                         \
    {VIDIOC_##request,                                                                                                 \
     offsetof(struct plane, member),                                                                                   \
     sizeof((struct plane *)0)->member,                                                                                \
     written,                                                                                                          \
     of,                                                                                                               \
     "ioctl(VKI_V4L2_" #request ").m.planes[]." name}
    IS(QBUF, bytes_used, false, OUTPUT, "bytesused"),
    IS(QBUF, data_offset, false, OUTPUT, "data_offset"),
    IS(QBUF, memory, true, OFFSETS, "m"),
    IS(QBUF, fd, false, DESCRIPTORS, "m.fd"),
    IS(QBUF, memory, false, ADDRESSES, "m"),
    IS(QBUF, reserved, false, ALL, "reserved"),
    IS(DQBUF, bytes_used, true, ALL, "bytesused"),
    IS(DQBUF, data_offset, true, ALL, "data_offset"),
    IS(DQBUF, length, true, ALL, "length"),
    IS(DQBUF, memory, true, ALL, "m"),
    IS(DQBUF, reserved, false, ALL, "reserved"),
    IS(QUERYBUF, bytes_used, true, ALL, "bytesused"),
    IS(QUERYBUF, length, true, ALL, "length"),
    IS(QUERYBUF, memory, true, ALL, "m"),
    IS(QUERYBUF, data_offset, true, ALL, "data_offset"),
    IS(QUERYBUF, reserved, true, ALL, "reserved"),
    IS(PREPARE_BUF, reserved, false, ALL, "reserved"),
};

static bool concerns(const struct member *m, const struct buffer *b) {
    switch (m->of) {
    case OUTPUT: return b->type == OUTPUT_MPLANE;
    case OFFSETS: return b->memory == MMAP;
    case DESCRIPTORS: return b->memory == DMABUF;
    case ADDRESSES: return b->memory != MMAP && b->memory != DMABUF;
    default: return true;
    }
}

static void plane(struct call *c, u64 at, u32 request, const struct buffer *b) {
    for (u32 i = 0; i < sizeof members / sizeof *members; i++) {
        const struct member *m = &members[i];
        if (m->request != request || !concerns(m, b)) continue;
        if (m->written)
            call_writes(c, at + m->at, m->size, m->name, "");
        else
            call_reads(c, at + m->at, m->size, m->name, "");
    }
}

void call_planes(struct call *c, bool in) {
    u64 at = c->args[2];
    u32 request = (u32)c->args[1];
    struct buffer b;
    if (request != VIDIOC_QBUF && request != VIDIOC_DQBUF && request != VIDIOC_QUERYBUF &&
        request != VIDIOC_PREPARE_BUF)
        return;
    if (rt_copy_from(&b.type, at + TYPE_AT, 4) < 0 || rt_copy_from(&b.memory, at + MEMORY_AT, 4) < 0 ||
        rt_copy_from(&b.planes, at + PLANES_AT, 8) < 0 || rt_copy_from(&b.n, at + LENGTH_AT, 4) < 0)
        return;
    if ((b.type != CAPTURE_MPLANE && b.type != OUTPUT_MPLANE) || b.n > MOST_PLANES) return;
    for (u32 i = 0; in && i < b.n; i++) plane(c, b.planes + i * sizeof(struct plane), request, &b);
    if (!in) call_defines(c->ts, b.planes, b.n * sizeof(struct plane)); /* the kernel gives the whole list back */
}
