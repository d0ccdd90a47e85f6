/* ioctl() of devices, on a file that is none: structures that lead to lists, transfers and fonts.  What they read and
 * may write is told; behind a filter that lets each call succeed, what they have written is defined. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <linux/kd.h>
#include <linux/seccomp.h>
#include <linux/usbdevice_fs.h>
#include <linux/videodev2.h>
#include <scsi/sg.h>
#include <sound/asound.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <valgrind/memcheck.h>

#define DRM_VERSION   _IOWR('d', 0, struct version)
#define BLKROGET      _IO(0x12, 94)
#define ROOM          64
#define UNDEFINED(at) VALGRIND_MAKE_MEM_UNDEFINED(at, ROOM)
#define NO_ACCESS(at) VALGRIND_MAKE_MEM_NOACCESS(at, ROOM)

struct version {
    int major, minor, patch;
    size_t name_len;
    char *name;
    size_t date_len;
    char *date;
    size_t desc_len;
    char *desc;
};

static int fd;
static char *room;

static int undefined(void *at, int n) {
    unsigned char bits[512];
    int sum = 0;
    if (VALGRIND_GET_VBITS(at, bits, n) != 1) return -1;
    for (int i = 0; i < n; i++) sum += bits[i] != 0;
    return sum;
}

static void usb(int type, int endpoint, int length, int setup) {
    static struct usbdevfs_urb urb;
    urb.type = type;
    urb.endpoint = endpoint;
    urb.buffer = room;
    urb.buffer_length = length;
    if (setup >= 0) {
        VALGRIND_MAKE_MEM_DEFINED(room, 8);
        memset(room, 0, 8);
        room[0] = setup;
        room[6] = length - 8;
    }
    ioctl(fd, USBDEVFS_SUBMITURB, &urb);
}

static void video(unsigned long request, int size) {
    static struct v4l2_ext_controls all;
    static struct v4l2_ext_control one;
    one.id = 1;
    one.size = size;
    one.ptr = size ? room : NULL;
    all.count = 1;
    all.controls = &one;
    ioctl(fd, request, &all);
}

static void bus(int flags) {
    static struct i2c_rdwr_ioctl_data all;
    static struct i2c_msg one;
    one.flags = flags;
    one.len = 10;
    one.buf = (void *)room;
    all.nmsgs = 1;
    all.msgs = &one;
    ioctl(fd, I2C_RDWR, &all);
}

static void told(void) {
    static struct usbdevfs_ctrltransfer control;
    static struct usbdevfs_ioctl driver;
    static struct sg_io_hdr command;
    static struct unimapdesc map;
    UNDEFINED(room);
    usb(USBDEVFS_URB_TYPE_BULK, 1, 20, -1);
    usb(USBDEVFS_URB_TYPE_CONTROL, 0, 20, 0);
    bus(0);
    video(VIDIOC_S_EXT_CTRLS, 20);
    driver.ioctl_code = _IOW('x', 1, char[20]);
    driver.data = room;
    ioctl(fd, USBDEVFS_IOCTL, &driver);
    control.wLength = 18;
    control.data = room + 8;
    ioctl(fd, USBDEVFS_CONTROL, &control);
    command.interface_id = 'S';
    command.dxfer_direction = SG_DXFER_NONE;
    command.cmd_len = 6;
    command.cmdp = (void *)(room + 8);
    ioctl(fd, SG_IO, &command);
    map.entry_ct = 4;
    map.entries = (void *)(room + 8);
    ioctl(fd, PIO_UNIMAP, &map);
    ioctl(fd, KDKBDREP, room + 8);
    NO_ACCESS(room);
    usb(USBDEVFS_URB_TYPE_INTERRUPT, 0x81, 20, -1);
    bus(I2C_M_RD);
    video(VIDIOC_G_EXT_CTRLS, 20);
    ioctl(fd, BLKROGET, room);
}

static void let_succeed(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) exit(99);
}

/* The results lie there already; only whether they count as defined is asked. */
static int reaped(int type, int endpoint, int length, int setup) {
    static struct usbdevfs_urb urb, *answer;
    VALGRIND_MAKE_MEM_DEFINED(room, ROOM);
    memset(room, 0, ROOM);
    room[0] = setup;
    UNDEFINED(room);
    if (type == USBDEVFS_URB_TYPE_CONTROL) VALGRIND_MAKE_MEM_DEFINED(room, 8);
    urb.type = type;
    urb.endpoint = endpoint;
    urb.buffer = room;
    urb.buffer_length = 40;
    urb.actual_length = length;
    VALGRIND_MAKE_MEM_UNDEFINED(&urb.status, sizeof urb.status);
    VALGRIND_MAKE_MEM_UNDEFINED(&urb.actual_length, sizeof urb.actual_length);
    answer = &urb;
    VALGRIND_MAKE_MEM_UNDEFINED(&answer, sizeof answer);
    if (ioctl(fd, USBDEVFS_REAPURB, &answer)) return -1;
    if (answer != &urb || urb.status != 0 || urb.actual_length != length) return -1;
    return ROOM - undefined(room, ROOM);
}

static int written(void) {
    static struct version version;
    static struct sg_io_hdr command;
    static struct consolefontdesc font;
    static struct snd_ctl_elem_list list;
    static struct console_font_op op;
    if (reaped(USBDEVFS_URB_TYPE_BULK, 0x81, 11, 0) != 11) return 1;
    if (reaped(USBDEVFS_URB_TYPE_BULK, 1, 11, 0) != 0) return 2;
    if (reaped(USBDEVFS_URB_TYPE_CONTROL, 0, 32, 0x80) != 40) return 3;
    if (reaped(USBDEVFS_URB_TYPE_CONTROL, 0, 32, 0) != 8) return 4;
    UNDEFINED(room);
    version.name_len = 5;
    version.name = room;
    version.desc_len = 7;
    version.desc = room + 20;
    if (ioctl(fd, DRM_VERSION, &version) || undefined(room, ROOM) != ROOM - 12) return 5;
    UNDEFINED(room);
    command.dxfer_direction = SG_DXFER_FROM_DEV;
    command.dxfer_len = 40;
    command.dxferp = room;
    if (ioctl(fd, SG_IO, &command) || undefined(room, ROOM) != ROOM - 40) return 6;
    UNDEFINED(room);
    font.charcount = 1;
    font.chardata = room;
    if (ioctl(fd, GIO_FONTX, &font) || undefined(room, ROOM) != ROOM - 32) return 7;
    UNDEFINED(room);
    video(VIDIOC_G_EXT_CTRLS, 20);
    if (undefined(room, ROOM) != ROOM - 20) return 8;
    UNDEFINED(room);
    bus(I2C_M_RD);
    if (undefined(room, ROOM) != ROOM - 10) return 9;
    UNDEFINED(room);
    op.op = KD_FONT_OP_GET;
    op.charcount = 1;
    op.width = 8;
    op.height = 16;
    op.data = (void *)room;
    if (ioctl(fd, KDFONTOP, &op) || undefined(room, ROOM) != ROOM - 32) return 10;
    UNDEFINED(room);
    if (ioctl(fd, BLKROGET, room) || undefined(room, ROOM) != ROOM - 4) return 11;
    return 0;
}

int main(void) {
    fd = open("/dev/null", O_RDWR);
    room = malloc(ROOM);
    told();
    let_succeed();
    return written();
}
