/* A database in a file: tables, an index, a transaction, functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sqlite3.h"

static int rows;
static int row(void *unused, int n, char **values, char **names) {
    return rows++ > 1000;
}

int main(int argc, char **argv) {
    sqlite3 *db;
    char *name = malloc(strlen(argv[1]) + 1);
    strcpy(name, argv[1]);
    remove(name);
    if (sqlite3_open(name, &db) != SQLITE_OK)
        return 1;
    free(name);
    static const char *const statements[] = {
        "create table a(x integer primary key, y text, check (x >= 0))",
        "create table b(x, z)",
        "with recursive c(n) as (select 1 union all select n+1 from c where n < 60)"
        " insert into a select n, 'k' || (n % 7) from c",
        "insert into b select x % 50, x * x from a",
        "create index i on b(x)",
        "begin", "update b set z = z + 1 where x < 20", "commit",
        "select a.y, count(*), sum(b.z) from a join b on a.x = b.x group by a.y order by 2 desc, 1 limit 5",
        "select upper(y), hex(y), char(65, 66, x) from a where x < 4",
        "select hex(randomblob(8)), group_concat(y) from a",
        "drop table b",
    };
    for (unsigned i = 0; i < sizeof statements / sizeof *statements; i++) {
        char *message = 0;
        if (sqlite3_exec(db, statements[i], row, 0, &message) != SQLITE_OK) {
            fprintf(stderr, "%s: %s\n", statements[i], message);
            return 2;
        }
    }
    if (sqlite3_close(db) != SQLITE_OK)
        return 3;
    sqlite3_shutdown();
    return rows > 4 ? 0 : 4;
}
