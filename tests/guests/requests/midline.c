/* Prints lines that have no end yet. */
#include <interpose/interpose.h>
#include <signal.h>
#include <unistd.h>
int main(int argc, char **argv) {
    (void)argc;
    VALGRIND_PRINTF("before");
    if (write(2, "[itself]", 8) != 8) return 1;
    VALGRIND_PRINTF("%s", "after");
    if (argv[1][0] == 'k') kill(getpid(), SIGKILL);
    VALGRIND_CLO_CHANGE("--no-such-option");
    return 0;
}
