/* Requests of self-tests: the tool's name, threads of an inner tool, the report's marks.
 */
#include <stdio.h>
#include <string.h>
#include <interpose/memcheck.h>
#include <valgrind/valgrind.h>
int main(void) {
    char name[20], cut[4];
    memset(name, 'x', sizeof name), memset(cut, 'x', sizeof cut);
    unsigned long size = VALGRIND_GET_TOOLNAME(name, sizeof name);
    VALGRIND_DO_CLIENT_REQUEST_EXPR(0, VG_USERREQ__VALGRIND_GET_TOOLNAME, cut, sizeof cut, 0, 0, 0);
    fprintf(stdout, "%lu %s %s\n", size, name, cut);
    unsigned long answer;
    VALGRIND_INNER_THREADS(name);
    VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ__COUNT_ERRORS, 0, 0, 0, 0, 0);
    VALGRIND_DO_CLIENT_REQUEST(answer, 9, VG_USERREQ__COUNT_ERRORS, 0, 0, 0, 0, 0);
    fprintf(stdout, "%lu\n", answer);
    fprintf(stdout, "%d\n", (int)VALGRIND_DO_CLIENT_REQUEST_EXPR(7, VG_USERREQ__INNER_THREADS, name, 0, 0, 0, 0));
    VALGRIND_DO_CLIENT_REQUEST_EXPR(0, VG_USERREQ__VEX_INIT_FOR_IRI, 0, 0, 0, 0, 0);
    fprintf(stdout, "%d\n", (int)VALGRIND_DO_CLIENT_REQUEST_EXPR(0, INTERPOSE_RQ_REPORT_MARK, "here", 0, 0, 0, 0));
    return 0;
}
