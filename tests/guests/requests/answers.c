/* Every request with an answer, natively and under an engine. */
#include <interpose/interpose.h>
#include <stdio.h>
#include <string.h>

static void tool_name(unsigned long room) {
    char name[32];
    memset(name, '#', sizeof name);
    unsigned long n = INTERPOSE_GET_TOOLNAME(name, room);
    name[sizeof name - 1] = 0;
    printf("toolname %lu: %lu '%.*s' then '%c'\n", room, n, (int)room, name, name[room]);
}
__attribute__((noipa)) int marked(int x) {
    return x + 1; /* line 14 */
}
int main(void) {
    char place[64] = "untouched";
    int block[4], pool;
    printf("running %lu\n", (unsigned long)RUNNING_ON_VALGRIND);
    printf("errors %lu\n", (unsigned long)VALGRIND_COUNT_ERRORS);
    printf("malloc %lu\n", (unsigned long)INTERPOSE_REPLACES_MALLOC);
    tool_name(0);
    tool_name(1);
    tool_name(3);
    tool_name(20);
    printf("srcloc %lu ", (unsigned long)VALGRIND_MAP_IP_TO_SRCLOC((char *)marked + 1, place));
    printf("'%s'\n", place);
    printf("srcloc %lu ", (unsigned long)VALGRIND_MAP_IP_TO_SRCLOC(8, place));
    printf("'%s'\n", place);
    unsigned long first = VALGRIND_STACK_REGISTER(block, block + 4), second = VALGRIND_STACK_REGISTER(block + 4, block);
    printf("stacks %s\n", first != second ? "differ" : first ? "same" : "none");
    VALGRIND_STACK_CHANGE(first, block, block + 2);
    VALGRIND_STACK_DEREGISTER(first);
    VALGRIND_STACK_DEREGISTER(12345);
    printf("monitor %lu\n", (unsigned long)VALGRIND_MONITOR_COMMAND("no such command"));
    VALGRIND_MALLOCLIKE_BLOCK(0, 16, 0, 0);
    VALGRIND_FREELIKE_BLOCK(0, 0);
    VALGRIND_RESIZEINPLACE_BLOCK(0, 1, 2, 0);
    VALGRIND_CREATE_MEMPOOL(&pool, 0, 0);
    VALGRIND_DESTROY_MEMPOOL(&pool);
    VALGRIND_DISABLE_ERROR_REPORTING;
    VALGRIND_ENABLE_ERROR_REPORTING;
    printf("unknown %ld\n", (long)(int)INTERPOSE_REQUEST(-77, 0x1999, 1, 2, 3, 4, 5));
    printf("foreign %lu\n", INTERPOSE_REQUEST(42, INTERPOSE_TOOL_BASE('Q', 'Z') + 3, 0, 0, 0, 0, 0));
    return 0;
}
