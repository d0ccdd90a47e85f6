/* Ranges in which invalid accesses are not reported: the first byte decides; system calls and CHECK_MEM_* are not
 * concerned; joined, cut, enabled though never disabled, empty, inherited by a child, left behind; and the same
 * instruction inside of a range and then outside.
 * @options: --ignore-ranges=0x30000000-0x3000000f --ignore-ranges=0x30000040-0x30000043 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "interpose/memcheck.h"

static volatile long sink;
#define OFF(at, n) VALGRIND_DISABLE_ADDR_ERROR_REPORTING_IN_RANGE(at, n)
#define ON(at, n)  VALGRIND_ENABLE_ADDR_ERROR_REPORTING_IN_RANGE(at, n)
#define READ(type, at) (sink = *(volatile type *)(at))
#define WRITE(type, at) (*(volatile type *)(at) = 1)

static void by_request(char *p) {
    long bad = OFF(p, 8) != 1;
    READ(char, p);
    WRITE(char, p + 7);
    READ(char, p + 8);
    READ(long, p + 4);
    READ(int, p - 2);
    WRITE(long, p - 4);
    bad += VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p, 4) == 0;
    write(open("/dev/null", O_WRONLY), p, 4);
    bad += OFF(p, 8) != 1;
    bad += ON(p + 2, 4) != 1;
    READ(char, p + 1);
    READ(char, p + 2);
    READ(char, p + 5);
    READ(char, p + 6);
    bad += ON(p + 100, 4) != 1;
    bad += OFF(p + 3, 0) != 0;
    bad += ON(p, 0) != 0;
    READ(char, p + 3);
    bad += OFF(p + 2, 4) != 1;
    READ(char, p + 4);
    bad += ON(p, 8) != 1;
    READ(char, p + 4);
    printf("%ld wrong answers\n", bad);
}

static void by_option(char *p) {
    READ(char, p + 15);
    READ(char, p + 16);
    READ(long, p + 12);
    ON(p, 8);
    READ(char, p + 1);
    OFF(p + 4, 8);
    READ(long, p + 8);
}

static void step_by_step(char *p) {
    OFF(p, 6);
    for (int i = 0; i < 12; i++)
        READ(short, p + i);
    ON(p, 6);
}

static void in_a_child(char *p) {
    OFF(p, 1);
    fflush(stdout);
    if (!fork()) {
        READ(char, p);
        ON(p, 1);
        READ(char, p);
        _exit(0);
    }
    wait(NULL);
    READ(char, p);
    ON(p, 1);
}

int main(void) {
    char *p = malloc(64), *fixed = (char *)0x30000000;
    by_request(p + 64);
    if (mmap(fixed, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != fixed)
        return 1;
    VALGRIND_MAKE_MEM_NOACCESS(fixed, 256);
    by_option(fixed);
    step_by_step(fixed + 0x80);
    in_a_child(p + 64);
    OFF((char *)-8, 8);
    OFF((char *)0x1000, 0x1000);
    free(p);
    return 0;
}
