#include <string.h>
#include <sys/mman.h>
typedef int (*code)(void);
unsigned char bytes[] = {0xb8, 1, 0, 0, 0, 0x90, 0xc3};
code place;
void ready(void) {}
int main(void) {
    place = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;
    for (int i = 1; i < 4; i++) {
        bytes[1] = i;
        memcpy(place, bytes, sizeof bytes);
        ready();
        sum += place();
    }
    return sum;
}
