#include <unistd.h>
int before(void) { return 1; }
int main(void) {
    before();
    execl("./breakpoint", "breakpoint", (char *)0);
    return 1;
}
