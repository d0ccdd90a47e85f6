/* Requests whose number says that there is something to read or to fill, and whose argument is a value. And the other
 * way round, or both: a string, and structures that are filled although they seem to be read.
 * @expect: Syscall param ioctl(arg) contains uninitialised byte(s)
 * @expect: Syscall param ioctl(generic) points to uninitialised byte(s) */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/input.h>
#include <linux/perf_event.h>
#include <linux/ptp_clock.h>
#include <linux/rtc.h>
#include <linux/uinput.h>
#include <sound/asound.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

int main(void) {
    static const unsigned long values[] = {PERF_EVENT_IOC_SET_BPF, PERF_EVENT_IOC_PAUSE_OUTPUT, PTP_ENABLE_PPS,
                                           SNDRV_PCM_IOCTL_PAUSE,  SNDRV_PCM_IOCTL_LINK,        EVIOCRMFF,
                                           UI_SET_EVBIT,           UI_SET_PROPBIT,              RTC_IRQP_SET,
                                           RTC_EPOCH_SET,          FIFREEZE,                    FITHAW};
    int fd = open("/dev/null", O_RDWR); /* no such device: the arguments are tested, and refused */
    long *undefined = malloc(32);
    char *name = malloc(3);
    memcpy(name, "ab", 3);
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) ioctl(fd, values[i], 8L);
    ioctl(fd, FITHAW, undefined);
    ioctl(fd, UI_SET_EVBIT, *undefined);
    ioctl(fd, DMA_BUF_SET_NAME_B, name);
    ioctl(fd, UI_SET_PHYS, name);
    ioctl(fd, FS_IOC_GET_ENCRYPTION_PWSALT, undefined);
    ioctl(fd, FS_IOC_GET_ENCRYPTION_POLICY, undefined);
    ioctl(fd, FS_IOC_SET_ENCRYPTION_POLICY, undefined);
    free(undefined), free(name);
    return 0;
}
