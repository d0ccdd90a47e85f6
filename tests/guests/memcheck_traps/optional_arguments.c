/* Arguments that are no addresses although they look so: no name for an anonymous keyring, flags in place of a pointer.
 * @expect: Syscall param keyctl(KEYCTL_JOIN_SESSION_KEYRING, name) points to unaddressable byte(s) at syscall
 */
#include <linux/types.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL, 0, 0, 0);
    syscall(SYS_keyctl, 1, 8L, 0, 0, 0);
    ioctl(-1, _IOW('!', 4, __u64) /* SECCOMP_IOCTL_NOTIF_SET_FLAGS */, 1L);
    puts("done");
    return 0;
}
