/* Variables of C without optimisation. */
#include "look.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define AT(p, n) ((char *)(p) + (n))

struct inner {
    int bing;
    short bong;
    char bang[6];
};
struct outer {
    int a;
    struct inner in[4];
    union {
        int ui;
        float uf;
    } u;
    unsigned b1 : 3, b2 : 7, : 3, b3 : 11;
    struct outer *next;
    struct {
        int x, y;
    } named;
    struct {
        int q, r;
    };
};
typedef const volatile struct outer qualified;
enum { LARGE = 7 };

int global_i;
static char static_c[10];
struct outer gout;
struct inner a[10];
int two[3][5];
const char text[] = "hello";
char *pointer;
double _Complex z;
int (*table[4])(void);
qualified q1;
static union {
    int i;
    char c[9];
} either;
typedef int vector __attribute__((vector_size(16)));
vector v4;
struct {
    int n;
    char more[];
} flexible = {3, "abcd"};

static int parameters(int param, struct outer byval, short small, char *s, int a4, int a5, int a6, int a7, int on_stack) {
    LOOK(&param);              // local var "param" @54 #1
    LOOK(AT(&byval, 5));       // 1 byte inside byval.in[0].bing @54 #1
    LOOK(&byval.next);         // byval.next @54 #1
    LOOK(&byval.in[2].bang[3]); // byval.in[2].bang[3] @54 #1
    LOOK(AT(&small, 1));       // 1 byte inside local var "small" @54 #1
    LOOK(AT(&s, 7));           // 7 bytes inside local var "s" @54 #1
    LOOK(&on_stack);           // local var "on_stack" @54 #1
    return a4 + a5 + a6 + a7;
}

static int locals(int n) {
    int local = 3;
    char vla[n];
    int grid[n][4];
    struct outer lo, la[3];
    enum e { A, B } en = A;
    int *ptr = &local, nested[2][3][4];
    long double d = 0;
    struct outer *heap = malloc(sizeof *heap);
    memset(&lo, 0, sizeof lo);
    LOOK(&local);                   // local var "local" @66 #1
    LOOK(&vla[2]);                  // vla[2] @67 #1 (valgrind: no length)
    LOOK(&grid[n - 1][3]);          // grid[6][3] @68 #1 (valgrind: no length)
    LOOK(&la[1].in[3].bang[4]);     // la[1].in[3].bang[4] @69 #1
    LOOK(&lo.u.uf);                 // lo.u @69 #1
    LOOK(AT(&lo.u, 2));             // 2 bytes inside lo.u @69 #1
    LOOK(AT(&lo.u, 4));             // lo.b1 @69 #1 (valgrind: its unit of storage)
    LOOK(AT(&lo.u, 5));             // 1 byte inside lo.b2 @69 #1 (valgrind: its unit of storage)
    LOOK(AT(&lo.u, 6));             // 1 byte inside lo.b3 @69 #1 (valgrind: its unit of storage)
    LOOK(AT(&lo.u, 8));             // 60 bytes inside local var "lo" @69 #1
    LOOK(&lo.named.y);              // lo.named.y @69 #1
    LOOK(&lo.r);                    // lo.<anon_field>.r @69 #1
    LOOK(AT(&en, 1));               // 1 byte inside local var "en" @70 #1
    LOOK(&ptr);                     // local var "ptr" @71 #1
    LOOK(&nested[1][2][3]);         // nested[1][2][3] @71 #1 (valgrind: one dimension only)
    LOOK(AT(&d, 9));                // 9 bytes inside local var "d" @72 #1
    LOOK(&heap);                    // local var "heap" @73 #1
    {
        int local = 5, block;
        LOOK(&local);               // local var "local" @93 #1
        LOOK(&block);               // local var "block" @93 #1
    }
    for (int local = 0; local < 1; local++)
        LOOK(&local);               // local var "local" @97 #1
#ifndef __clang__
    int within(int k) {
        int deep = k;
        LOOK(&deep);                // local var "deep" @101 #1
        LOOK(&local);               // local var "local" @66 #2
        return deep;
    }
    within(4);
#endif
    return local;
}

static void *thread(void *argument) {
    int of_thread[2] = {0};
    LOOK(&of_thread[1]); // of_thread[1] @112 #1
    return argument;
}

static int recursive(int depth, int *first) {
    int mine = depth;
    if (depth) return recursive(depth - 1, first) + mine;
    LOOK(first); // local var "of_caller" @125 #5
    return mine;
}

int main(void) {
    int of_caller = 0;
    struct outer o;
    pthread_t id;
    memset(&o, 0, sizeof o);
    LOOK(&global_i);           // global var "global_i" @33
    LOOK(AT(&global_i, 1));    // 1 byte inside global var "global_i" @33
    LOOK(&static_c[7]);        // static_c[7] @34
    LOOK(&gout);               // gout.a @35
    LOOK(&gout.in[3].bang[2]); // gout.in[3].bang[2] @35
    LOOK(&a[5].bong);          // a[5].bong @36
    LOOK(AT(&a[5].bong, 1));   // 1 byte inside a[5].bong @36
    LOOK(&two[1][2]);          // two[1][2] @37 (valgrind: one dimension only)
    LOOK(&text[2]);            // text[2] @38
    LOOK(&pointer);            // global var "pointer" @39
    LOOK(AT(&z, 9));           // 9 bytes inside global var "z" @40
    LOOK(AT(&table[3], 2));    // 2 bytes inside table[3] @41
    LOOK(&q1.named.x);         // q1.named.x @42
    LOOK(AT(&either, 5));      // 5 bytes inside global var "either" @46
    LOOK(AT(&v4, 9));          // 1 byte inside v4[2] @48
    LOOK(&flexible.n);         // flexible.n @52
    parameters(1, o, 2, 0, 4, 5, 6, 7, 8);
    locals(LARGE);
    pthread_create(&id, 0, thread, 0);
    pthread_join(id, 0);
    return recursive(3, &of_caller) * 0;
}
