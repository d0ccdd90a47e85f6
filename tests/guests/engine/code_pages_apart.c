/* Writable code on so many pages apart from each other that the kernel would not allow a mapping for each; they are
 * written after they have run, by the program and by the kernel.  Then pages side by side, of which every second one is. */
// modes: default
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, APART = 33500, BESIDE = 67000, LENGTH = 6 };

static unsigned char *code;
static int ends[2];

/* mov $n, %eax; ret */
static void text(unsigned char *at, int n) {
    at[0] = 0xb8;
    memcpy(at + 1, &n, sizeof n);
    at[5] = 0xc3;
}

static void put(int page, int n) { text(code + (long)page * PAGE, n); }

static int put_by_read(int page, int n) {
    unsigned char bytes[LENGTH];
    text(bytes, n);
    return write(ends[1], bytes, LENGTH) == LENGTH && read(ends[0], code + (long)page * PAGE, LENGTH) == LENGTH;
}

static int call(int page) { return ((int (*)(void))(void *)(code + (long)page * PAGE))(); }

static void map(int pages) {
    if (code) munmap(code, (size_t)2 * APART * PAGE);
    code = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Every second page is written again; how many did not return what was written last? */
static int wrong(int pages) {
    int bad = 0;
    for (int i = 0; i < pages; i += 2)
        if (i % 3 == 0)
            bad += !put_by_read(i, i + 1);
        else
            put(i, i + 1);
    for (int i = 0; i < pages; i += 2) bad += call(i) != i + 1;
    return bad;
}

int main(void) {
    if (pipe(ends) < 0) return 1;
    map(2 * APART);
    for (int i = 0; i < 2 * APART; i += 2) put(i, i), call(i);
    printf("%d\n", wrong(2 * APART));
    map(BESIDE);
    for (int i = 0; i < BESIDE; i++) put(i, i), call(i);
    printf("%d\n", wrong(BESIDE));
    return 0;
}
