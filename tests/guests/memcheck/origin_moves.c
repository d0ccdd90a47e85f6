/* Each way in which undefined bits are moved takes their origin along: every size of load, extension, store, pushes and
 * pops, vectors, to the heap and to the stack, from the frame of a caller and from one that is gone.
 * @options: --track-origins=yes */
#include <stdlib.h>
#include <string.h>

static volatile int reached;

__attribute__((noinline)) static void tested(long x) {
    if (x & 1)
        reached++;
}

__attribute__((noinline)) static char *first(void) { return malloc(64); }
__attribute__((noinline)) static char *second(void) { return malloc(64); }

#define THROUGH(load, to, store, size)                                                                                \
    __asm__ volatile(load " (%1), " to "\n\t" store ", (%0)" : : "r"(b), "r"(a) : "rax", "xmm0", "memory");           \
    memcpy(&word, b, size);                                                                                            \
    tested(word);

__attribute__((noinline)) static void moves(char *b, const char *a) {
    long word = 0;
    THROUGH("movb", "%%al", "movb %%al", 1)
    THROUGH("movzbl", "%%eax", "movl %%eax", 4)
    THROUGH("movsbl", "%%eax", "movl %%eax", 4)
    THROUGH("movsbq", "%%rax", "movq %%rax", 8)
    THROUGH("movw", "%%ax", "movw %%ax", 2)
    THROUGH("movzwl", "%%eax", "movl %%eax", 4)
    THROUGH("movswl", "%%eax", "movl %%eax", 4)
    THROUGH("movswq", "%%rax", "movq %%rax", 8)
    THROUGH("movl", "%%eax", "movl %%eax", 4)
    THROUGH("movslq", "%%rax", "movq %%rax", 8)
    THROUGH("movq", "%%rax", "movq %%rax", 8)
    THROUGH("movd", "%%xmm0", "movd %%xmm0", 4)
    THROUGH("movq", "%%xmm0", "movq %%xmm0", 8)
    THROUGH("movups", "%%xmm0", "movups %%xmm0", 8)
    THROUGH("movdqu", "%%xmm0; movdqa %%xmm0, %%xmm1; movq %%xmm1, %%rax", "movq %%rax", 8)
}

/* The word of *a by way of the stack, the last step a pop. */
__attribute__((noinline)) static void pushed(const char *a) {
    long word;
    __asm__ volatile("mov (%1), %%rax\n\t"
                     "sub $128, %%rsp\n\t"
                     "push %%rax\n\t"
                     "xor %%eax, %%eax\n\t"
                     "mov (%%rsp), %%rcx\n\t"
                     "push %%rcx\n\t"
                     "pop %0\n\t"
                     "lea 136(%%rsp), %%rsp"
                     : "=r"(word)
                     : "r"(a)
                     : "rax", "rcx", "cc", "memory");
    tested(word);
}

/* A word that straddles two blocks' words, and one of which only a part is undefined. */
__attribute__((noinline)) static void mixed(const char *a, const char *b) {
    char words[16] = {0};
    long word;
    memcpy(words + 2, a, 4);
    memcpy(words + 6, b, 4);
    memcpy(&word, words + 4, 8);
    tested(word);
    memcpy(&word, words + 3, 4);
    tested((int)word);
    memset(words, 0, sizeof words);
    memcpy(words + 8, a, 1);
    memcpy(&word, words + 8, 8);
    tested(word);
}

/* What lies in the frame of the caller is the caller's. */
__attribute__((noinline)) static void of_caller(const int *theirs) {
    int own[4];
    volatile int *o = own;
    tested(theirs[1]);
    tested(o[1]);
}

__attribute__((noinline)) static void caller(void) {
    int local[4];
    volatile int *l = local;
    of_caller(local);
    tested(l[1]);
}

/* Undefined words on the stack, of another origin: the frame is gone afterwards. */
__attribute__((noinline)) static void leave_behind(const char *a) {
    long words[32];
    volatile long *w = words;
    for (int i = 0; i < 32; i++)
        w[i] = *(const long *)a;
}

__attribute__((noinline)) static void find_left(void) {
    long words[16];
    volatile long *w = words;
    tested(w[2]);
    tested(w[3]);
}

/* A block's words that were copied there, and that were not, when it is given again. */
static void reused(const char *a) {
    char *p[64];
    for (int i = 0; i < 64; i++) {
        p[i] = malloc(48);
        memcpy(p[i] + 8, a, 16);
    }
    tested(*(long *)(p[7] + 8));
    tested(*(long *)(p[7] + 32));
    p[7] = realloc(p[7], 96);
    tested(*(long *)(p[7] + 80));
    for (int i = 0; i < 64; i++)
        free(p[i]);
}

int main(void) {
    char *a = first(), *b = second();
    char on_stack[64];
    moves(b, a);
    moves(on_stack, a);
    moves(on_stack + 3, a + 5);
    pushed(a);
    mixed(a, b + 32);
    caller();
    leave_behind(a);
    find_left();
    reused(a);
    free(a), free(b);
    return reached == 100;
}
