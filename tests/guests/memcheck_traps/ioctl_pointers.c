/* Requests whose structure points to what the kernel reads, or fills: planes of video buffers, transfers of a bus.
 * @expect: Syscall param ioctl(VKI_V4L2_QBUF).m.planes[].bytesused points to uninitialised byte(s) at ioctl
 * @expect: Syscall param ioctl(VKI_V4L2_QBUF).m.planes[].data_offset points to uninitialised byte(s) at ioctl
 * @expect: Syscall param ioctl(VKI_V4L2_QBUF).m.planes[].m.fd points to uninitialised byte(s) at ioctl
 * @expect: Syscall param ioctl(VKI_V4L2_QBUF).m.planes[].reserved points to uninitialised byte(s) at ioctl
 * @expect: Syscall param ioctl(VKI_V4L2_DQBUF).m.planes[].reserved points to uninitialised byte(s) at ioctl
 * @expect: Syscall param ioctl(VKI_V4L2_QUERYBUF).m.planes[].bytesused points to unaddressable byte(s) at ioctl
 * @expect: Syscall param ioctl(VKI_V4L2_QUERYBUF).m.planes[].length points to unaddressable byte(s) at ioctl
 * @expect: Syscall param ioctl(VKI_V4L2_QUERYBUF).m.planes[].m points to unaddressable byte(s) at ioctl
 * @expect: Syscall param ioctl(VKI_V4L2_QUERYBUF).m.planes[].data_offset points to unaddressable byte(s) at ioctl
 * @expect: Syscall param ioctl(VKI_V4L2_QUERYBUF).m.planes[].reserved points to unaddressable byte(s) at ioctl
 * @expect: Syscall param ioctl(VKI_V4L2_S_EDID) points to uninitialised byte(s) at ioctl
 * @expect: Syscall param ioctl(CDROMREADAUDIO).buf points to unaddressable byte(s) at ioctl
 * @expect: Syscall param ioctl(VKI_I2C_SMBUS).i2c_smbus_ioctl_data.data points to uninitialised byte(s) at ioctl
 * @expect: Syscall param ioctl(VKI_I2C_SMBUS).i2c_smbus_ioctl_data.data points to unaddressable byte(s) at ioctl
 */
#include <fcntl.h>
#include <linux/cdrom.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <linux/videodev2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

static int fd; /* no such device: the arguments are tested, and refused */

static void video(unsigned long request, int type, int memory, void *planes) {
    struct v4l2_buffer buffer;
    memset(&buffer, 0, sizeof buffer);
    buffer.type = type, buffer.memory = memory, buffer.length = 2, buffer.m.planes = planes;
    ioctl(fd, request, &buffer);
}

static void bus(int way, int size, void *data) {
    struct i2c_smbus_ioctl_data transfer = {.read_write = way, .size = size, .data = data};
    ioctl(fd, I2C_SMBUS, &transfer);
}

int main(void) {
    struct v4l2_plane *undefined = malloc(2 * sizeof *undefined), *defined = calloc(2, sizeof *defined);
    struct v4l2_edid edid = {.blocks = 1, .edid = (__u8 *)undefined};
    struct cdrom_read_audio audio = {.nframes = 1, .buf = (__u8 *)8};
    union i2c_smbus_data *data = malloc(sizeof *data);
    fd = open("/dev/null", O_RDWR);
    video(VIDIOC_QBUF, V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE, V4L2_MEMORY_DMABUF, undefined);
    video(VIDIOC_DQBUF, V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE, V4L2_MEMORY_MMAP, undefined);
    video(VIDIOC_QUERYBUF, V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE, V4L2_MEMORY_MMAP, (void *)8);
    video(VIDIOC_QBUF, V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE, V4L2_MEMORY_DMABUF, defined);
    video(VIDIOC_QBUF, V4L2_BUF_TYPE_VIDEO_OUTPUT, V4L2_MEMORY_MMAP, undefined); /* without planes: an offset */
    ioctl(fd, VIDIOC_S_EDID, &edid);
    ioctl(fd, CDROMREADAUDIO, &audio);
    bus(I2C_SMBUS_READ, I2C_SMBUS_BLOCK_DATA, data);
    bus(I2C_SMBUS_WRITE, I2C_SMBUS_BYTE, data); /* the command is the byte */
    data->block[0] = 2, data->block[1] = 1;
    bus(I2C_SMBUS_WRITE, I2C_SMBUS_BLOCK_DATA, data); /* one byte lacks */
    data->block[2] = 3;
    bus(I2C_SMBUS_WRITE, I2C_SMBUS_BLOCK_DATA, data);
    bus(I2C_SMBUS_READ, I2C_SMBUS_WORD_DATA, (void *)8);
    free(undefined), free(defined), free(data);
    return 0;
}
