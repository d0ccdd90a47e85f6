/* What the kernel writes of a message's head, its flags, and copies of control messages, behind the last one, too. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static char text[8] = "text";
static struct iovec part = {text, sizeof text};

int main(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)) return 2;
    struct msghdr whole = {.msg_iov = &part, .msg_iovlen = 1};
    struct msghdr *cut = malloc(48), *of_several = malloc(48); /* without msg_flags */
    memcpy(cut, &whole, 48);
    memcpy(of_several, &whole, 48);
    syscall(SYS_sendmsg, ends[0], cut, 0);
    syscall(SYS_recvmsg, ends[1], cut, 0);
    syscall(SYS_sendmsg, ends[0], cut, 0);
    syscall(SYS_recvmmsg, ends[1], of_several, 1, 0, 0);

    struct cmsghdr *control = calloc(1, CMSG_LEN(sizeof(int)) + 2);
    *control = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(control), &ends[1], sizeof(int));
    whole.msg_control = control;
    whole.msg_controllen = CMSG_LEN(sizeof(int)) + 4; /* two bytes beyond the block */
    syscall(SYS_sendmsg, ends[0], &whole, 0);
    free(control);
    free(of_several);
    free(cut);
    return 0;
}
