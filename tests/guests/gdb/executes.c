#include <unistd.h>
int before(void) { return 1; }
int main(void) {
    before();
    execl("/bin/sh", "sh", "-c", "exit 6", (char *)0);
    return 1;
}
