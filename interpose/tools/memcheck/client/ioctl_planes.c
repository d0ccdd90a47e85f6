/* ioctl(2): the planes of a video device's buffers, to which requests lead that are rows of ioctls.def. */
#include "tools/memcheck/client/ioctl_lists.h"

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
    u64 memory; /* an offset, an address or a descriptor */
    u32 data_offset, reserved[11];
};
struct buffer {
    u32 type, memory, n;
    u64 planes;
};

#define AT(member) (at + offsetof(struct plane, member))

static void queued(struct call *c, u64 at, const struct buffer *b) {
    if (b->type == OUTPUT_MPLANE) {
        call_reads(c, AT(bytes_used), 4, "ioctl(VKI_V4L2_QBUF).m.planes[].bytesused", "");
        call_reads(c, AT(data_offset), 4, "ioctl(VKI_V4L2_QBUF).m.planes[].data_offset", "");
    }
    if (b->memory == MMAP)
        call_writes(c, AT(memory), 8, "ioctl(VKI_V4L2_QBUF).m.planes[].m", "");
    else if (b->memory == DMABUF)
        call_reads(c, AT(memory), 4, "ioctl(VKI_V4L2_QBUF).m.planes[].m.fd", "");
    else
        call_reads(c, AT(memory), 8, "ioctl(VKI_V4L2_QBUF).m.planes[].m", "");
    call_reads(c, AT(reserved), sizeof(u32[11]), "ioctl(VKI_V4L2_QBUF).m.planes[].reserved", "");
}

static void dequeued(struct call *c, u64 at) {
    call_writes(c, AT(bytes_used), 4, "ioctl(VKI_V4L2_DQBUF).m.planes[].bytesused", "");
    call_writes(c, AT(data_offset), 4, "ioctl(VKI_V4L2_DQBUF).m.planes[].data_offset", "");
    call_writes(c, AT(length), 4, "ioctl(VKI_V4L2_DQBUF).m.planes[].length", "");
    call_writes(c, AT(memory), 8, "ioctl(VKI_V4L2_DQBUF).m.planes[].m", "");
    call_reads(c, AT(reserved), sizeof(u32[11]), "ioctl(VKI_V4L2_DQBUF).m.planes[].reserved", "");
}

static void asked_for(struct call *c, u64 at) {
    call_writes(c, AT(bytes_used), 4, "ioctl(VKI_V4L2_QUERYBUF).m.planes[].bytesused", "");
    call_writes(c, AT(length), 4, "ioctl(VKI_V4L2_QUERYBUF).m.planes[].length", "");
    call_writes(c, AT(memory), 8, "ioctl(VKI_V4L2_QUERYBUF).m.planes[].m", "");
    call_writes(c, AT(data_offset), 4, "ioctl(VKI_V4L2_QUERYBUF).m.planes[].data_offset", "");
    call_writes(c, AT(reserved), sizeof(u32[11]), "ioctl(VKI_V4L2_QUERYBUF).m.planes[].reserved", "");
}

void ioctl_planes(struct call *c, bool in) {
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
    if (!in) { /* the kernel gives the whole list back */
        call_defines(c->ts, b.planes, b.n * sizeof(struct plane));
        return;
    }
    for (at = b.planes; b.n; b.n--, at += sizeof(struct plane)) {
        switch (request) {
        case VIDIOC_QBUF: queued(c, at, &b); break;
        case VIDIOC_DQBUF: dequeued(c, at); break;
        case VIDIOC_QUERYBUF: asked_for(c, at); break;
        default:
            call_reads(c, AT(reserved), sizeof(u32[11]), "ioctl(VKI_V4L2_PREPARE_BUF).m.planes[].reserved", "");
            break;
        }
    }
}
