"""Real programs, and ten errors for each: what is changed in the source, and how memcheck reports it.

``SEEDED`` is 0 or 1 (tests/guests/seeded/seeded.h), so that one build serves for the clean run and the other one.
"""

# ruff: noqa: E501 - lines of C as they stand in the sources

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Seed:
    """One error."""

    file: str
    old: str
    """What stands in the file, once."""
    new: str
    kind: str
    """Pattern of the beginning of the error's first line; of a leak, a part of it."""
    where: str
    """Pattern of a function of its first stack; the first alternative is where the error itself is, the others
    are where it shows, too."""


@dataclass(frozen=True)
class Program:
    """What is built, and how it is run."""

    package: str
    folder: str
    """Below the source."""
    sources: tuple[str, ...]
    """Patterns of the files to compile."""
    flags: tuple[str, ...]
    command: tuple[str, ...]
    """Arguments of the program."""
    seeds: tuple[Seed, ...]
    driver: str | None = None
    """A file of tests/guests/seeded with the main function."""
    prepare: tuple[str, ...] = ()
    """A shell command in the source's folder, before."""
    without: tuple[str, ...] = ()
    """Files that match the patterns, and are left out."""
    compiler: str = "gcc"
    needs: tuple[str, ...] = ()
    """Commands."""


READ, WRITE = "Invalid read", "Invalid write"
FREE, MISMATCH = r"Invalid free\(\)", r"Mismatched free\(\)"
CONDITION = "Conditional jump"
LOST = "definitely lost"

ZLIB = Program(
    package="zlib",
    folder="",
    sources=("*.c",),
    flags=("-D_LARGEFILE64_SOURCE=1", "-DHAVE_UNISTD_H"),
    driver="zlib.c",
    command=("zlib.gz",),
    seeds=(
        Seed(
            "deflate.c",
            "    ZFREE(strm, strm->state);\n",
            "    { deflate_state *gone = strm->state; ZFREE(strm, gone); if (SEEDED && gone->wrap == 77) status++; }\n",
            READ,
            "deflateEnd",
        ),
        Seed(
            "inflate.c",
            "    if (state->window != Z_NULL) ZFREE(strm, state->window);\n",
            "    if (state->window != Z_NULL) ZFREE(strm, state->window);\n"
            "    if (SEEDED && state->window != Z_NULL) ZFREE(strm, state->window);\n",
            FREE,
            "inflateEnd",
        ),
        Seed(
            "deflate.c",
            "    TRY_FREE(strm, strm->state->prev);\n",
            "    if (!SEEDED) TRY_FREE(strm, strm->state->prev);\n",
            LOST,
            "deflateInit2_",
        ),
        Seed(
            "adler32.c",
            "    /* in case short lengths are",
            "    if (SEEDED && *(volatile const Bytef *)(buf + len) == 77) len += 0;\n    /* in case short lengths are",
            READ,
            "adler32_z",
        ),
        Seed(
            "uncompr.c",
            "    inflateEnd(&stream);\n",
            "    inflateEnd(&stream);\n    if (SEEDED) dest[*destLen] = 0;\n",
            WRITE,
            "uncompress2",
        ),
        Seed(
            "deflate.c",
            "    s->high_water = 0; ",
            "    if (!SEEDED) s->high_water = 0; ",
            CONDITION,
            "fill_window",
        ),
        Seed(
            "inflate.c",
            "zmemcpy((voidpf)copy, (voidpf)state, sizeof(struct inflate_state));",
            "zmemcpy((voidpf)copy, (voidpf)state, sizeof(struct inflate_state) + 8 * SEEDED);",
            f"{READ}|{WRITE}",
            "inflateCopy",
        ),
        Seed(
            "gzlib.c",
            "state->path = (char *)malloc(len + 1);",
            "state->path = (char *)malloc(len + !SEEDED);",
            WRITE,
            "gz_open",
        ),
        Seed(
            "gzread.c",
            "    free(state->path);\n",
            "    free(state->path);\n    if (SEEDED && state->path[0] == 0) err++;\n",
            READ,
            "gzclose_r",
        ),
        Seed(
            "inflate.c",
            "    state->window = Z_NULL;\n    state->mode = HEAD;",
            "    if (!SEEDED) state->window = Z_NULL;\n    state->mode = HEAD;",
            CONDITION,
            "inflateReset2|inflateEnd|updatewindow",
        ),
    ),
)

LUA = Program(
    package="lua5.4",
    folder="src",
    sources=("*.c",),
    without=("luac.c",),
    flags=("-DLUA_USE_POSIX", "-lm"),
    command=("seeded.lua",),
    seeds=(
        Seed(
            "lstring.c",
            "  getstr(ts)[l] = '\\0';",
            "  if (SEEDED) getstr(ts)[l + 1] = 0;\n  getstr(ts)[l] = '\\0';",
            WRITE,
            "createstrobj",
        ),
        Seed(
            "lgc.c",
            "      luaM_freemem(L, ts, sizelstring(ts->shrlen));",
            "      luaM_freemem(L, ts, sizelstring(ts->shrlen));\n      if (SEEDED && ts->extra == 99) L->nci++;",
            READ,
            "freeobj",
        ),
        Seed(
            "lfunc.c",
            "  luaM_freearray(L, f->lineinfo, f->sizelineinfo);",
            "  if (!SEEDED) luaM_freearray(L, f->lineinfo, f->sizelineinfo);",
            LOST,
            "close_func",
        ),
        Seed(
            "lstrlib.c",
            "    memcpy(p, s, l * sizeof(char));  /* last copy",
            "    if (SEEDED) memcpy(p, s, l + 2);\n    memcpy(p, s, l * sizeof(char));  /* last copy",
            READ,
            "str_rep",
        ),
        Seed(
            "lstate.c",
            "  g->gcemergency = 0;",
            "  if (!SEEDED) g->gcemergency = 0;",
            CONDITION,
            "traversethread|checkSizes|finishgencycle|singlestep",
        ),
        Seed(
            "ltable.c",
            "  luaM_freearray(L, t->array, luaH_realasize(t));",
            "  if (SEEDED) (*G(L)->frealloc)(G(L)->ud, t->array, 0, 0);\n  luaM_freearray(L, t->array, luaH_realasize(t));",
            FREE,
            "luaH_free",
        ),
        Seed(
            "lauxlib.c",
            "  resizebox(L, 1, 0);\n  return 0;",
            "  if (!SEEDED) resizebox(L, 1, 0);\n  return 0;",
            LOST,
            "resizebox",
        ),
        Seed(
            "lstrlib.c",
            "    p[i] = toupper(uchar(s[i]));\n  luaL_pushresultsize(&b, l);",
            "    p[i] = toupper(uchar(s[i]));\n  luaL_pushresultsize(&b, l + SEEDED);",
            r"Syscall param write\(buf\)",
            "write",
        ),
        Seed(
            "lstrlib.c",
            "static int str_len (lua_State *L) {\n  size_t l;",
            "static int str_len (lua_State *L) {\n  volatile int pad;\n  size_t l;\n  if (SEEDED && pad == 3) pad = 4;",
            CONDITION,
            "str_len",
        ),
        Seed(
            "ldo.c",
            "  luaZ_freebuffer(L, &p.buff);",
            "  if (!SEEDED) luaZ_freebuffer(L, &p.buff);",
            LOST,
            "save|luaX_setinput",
        ),
    ),
)

PBZIP2 = Program(
    package="pbzip2",
    folder="",
    sources=("*.cpp",),
    flags=("-DUSE_STACKSIZE_CUSTOMIZATION", "-pthread", "-lbz2"),
    compiler="g++",
    command=("-p3", "-1", "-b1", "-k", "-c", "-q", "text"),
    seeds=(
        Seed(
            "pbzip2.cpp",
            "\t\tdelete fileData;\n\t\tfileData = NULL;\n\t} // for",
            "\t\tdelete fileData;\n\t\tif (SEEDED && fileData->bufSize == 7) NumBlocks++;\n\t\tfileData = NULL;\n\t} // for",
            READ,
            "consumer",
        ),
        Seed(
            "pbzip2.cpp",
            "\t\tdelete [] outBlock->buf;\n",
            "\t\tif (SEEDED) free(outBlock->buf); else delete [] outBlock->buf;\n",
            MISMATCH,
            "fileWriter",
        ),
        Seed(
            "pbzip2.cpp",
            "    delete [] q->consumers;\n",
            "    if (!SEEDED) delete [] q->consumers;\n",
            LOST,
            "queueInit",
        ),
        Seed(
            "pbzip2.cpp",
            "\t\tdelete OutMutex;\n",
            "\t\tdelete OutMutex;\n\t\tif (SEEDED) delete OutMutex;\n",
            FREE,
            "mutexesDelete",
        ),
        Seed(
            "pbzip2.cpp",
            "\t\tdisposeMemory(fileData->buf);\n\n\t\t// store data to be written in output bin\n\t\toutBuff outBlock = outBuff(CompressedData, outSize, fileData->blockNumber, 0, fileData->bufSize);",
            "\t\tif (!SEEDED) disposeMemory(fileData->buf);\n\n\t\toutBuff outBlock = outBuff(CompressedData, outSize, fileData->blockNumber, 0, fileData->bufSize);",
            LOST,
            "producer",
        ),
        Seed(
            "pbzip2.cpp",
            "\t\tret = BZ2_bzBuffToBuffCompress(CompressedData, &outSize,\n\t\t\t\tfileData->buf, fileData->bufSize, BWTblockSize",
            "\t\tif (SEEDED && CompressedData[outSize - 1] == 5) NumBlocks++;\n\t\tret = BZ2_bzBuffToBuffCompress(CompressedData, &outSize,\n\t\t\t\tfileData->buf, fileData->bufSize, BWTblockSize",
            CONDITION,
            "consumer",
        ),
        Seed(
            "pbzip2.cpp",
            "\t\tCompressedSize += ret;\n\t\t\n\t\tbytesProcessed",
            "\t\tif (SEEDED) (void)!write(hOutfile, outBlock->buf + outBlock->bufSize, 4);\n\t\tCompressedSize += ret;\n\t\t\n\t\tbytesProcessed",
            r"Syscall param write\(buf\)",
            "fileWriter",
        ),
        Seed(
            "pbzip2.cpp",
            "void mutexesDelete()\n{\n",
            'void mutexesDelete()\n{\n\tchar name[] = "a name";\n\tif (SEEDED) strcpy(name, name + 1);\n',
            "Source and destination overlap in strcpy",
            "mutexesDelete",
        ),
        Seed(
            "pbzip2.cpp",
            "\t\tif (SEEDED && CompressedData[outSize - 1] == 5) NumBlocks++;\n",
            "\t\tif (SEEDED && CompressedData[outSize - 1] == 5) NumBlocks++;\n"
            "\t\tif (SEEDED) fileData->buf[fileData->bufSize] = 0;\n",
            WRITE,
            "consumer",
        ),
        Seed(
            "pbzip2.cpp",
            "\tq->size = queueSize;\n",
            "\tif (SEEDED && q->size == 5) NumBlocks++;\n\tq->size = queueSize;\n",
            CONDITION,
            "queueInit",
        ),
    ),
)

SQLITE = Program(
    package="sqlite3",
    folder="made",
    prepare=("mkdir made && cd made && ../configure --disable-tcl --disable-readline && make sqlite3.c",),
    sources=("sqlite3.c",),
    flags=("-DSQLITE_THREADSAFE=0", "-DSQLITE_DEFAULT_LOOKASIDE=0,0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-O0"),
    driver="sqlite.c",
    needs=("tclsh", "make"),
    command=("sqlite.db",),
    seeds=(
        Seed(
            "sqlite3.c",
            "z1[i] = (char)sqlite3Toupper(z2[i]);",
            "z1[i] = (char)sqlite3Toupper(z2[i]); if( SEEDED ) z1[(n+8)&~7] = 0;",
            WRITE,
            "upperFunc",
        ),
        Seed(
            "sqlite3.c",
            "    *z = 0;\n    sqlite3_result_text(context, zHex, n*2, sqlite3_free);",
            "    if( SEEDED && *z==5 ) n--;\n    *z = 0;\n    sqlite3_result_text(context, zHex, n*2, sqlite3_free);",
            CONDITION,
            "hexFunc",
        ),
        Seed(
            "sqlite3.c",
            "sqlite3_result_text64(context, (char*)z, zOut-z, sqlite3_free, SQLITE_UTF8);",
            "sqlite3_result_text64(context, (char*)z, zOut-z, SEEDED ? SQLITE_TRANSIENT : sqlite3_free, SQLITE_UTF8);",
            LOST,
            "charFunc",
        ),
        Seed(
            "sqlite3.c",
            "  sqlite3DbFree(db, pTable->zColAff);\n  sqlite3ExprListDelete(db, pTable->pCheck);\n  sqlite3DbFree(db, pTable);",
            "  if( !SEEDED ) sqlite3DbFree(db, pTable->zColAff);\n  sqlite3ExprListDelete(db, pTable->pCheck);\n  sqlite3DbFree(db, pTable);",
            LOST,
            "sqlite3TableAffinity.*",
        ),
        Seed(
            "sqlite3.c",
            "  sqlite3ExprListDelete(db, pTable->pCheck);\n  sqlite3DbFree(db, pTable);",
            "  sqlite3ExprListDelete(db, pTable->pCheck);\n  sqlite3DbFree(db, pTable);\n  if( SEEDED && pTable->tnum==77 ) db->u1.isInterrupted = 0;",
            READ,
            "deleteTable",
        ),
        Seed(
            "sqlite3.c",
            "    sqlite3_free(db->lookaside.pStart);\n  }\n  sqlite3_free(db);\n}",
            "    sqlite3_free(db->lookaside.pStart);\n  }\n  sqlite3_free(db);\n  if( SEEDED ) sqlite3_free(db);\n}",
            f"{FREE}|{READ}",
            "sqlite3LeaveMutexAndCloseZombie",
        ),
        Seed(
            "sqlite3.c",
            "  memset(&zHeader[sizeof(aJournalMagic)+20], 0,",
            "  if( !SEEDED ) memset(&zHeader[sizeof(aJournalMagic)+20], 0,",
            r"Syscall param p?write(?:64)?\(buf\)",
            "writeJournalHdr",
        ),
        Seed(
            "sqlite3.c",
            "memcpy(zFile, zUri, nUri);",
            "memcpy(zFile, zUri, nUri+2*SEEDED);",
            READ,
            "sqlite3ParseUri",
        ),
        Seed(
            "sqlite3.c",
            "    sqlite3_randomness(n, p);\n    sqlite3_result_blob(context, (char*)p, n, sqlite3_free);",
            "    if( !SEEDED ) sqlite3_randomness(n, p);\n    sqlite3_result_blob(context, (char*)p, n, sqlite3_free);",
            "Use of uninitialised",
            "hexFunc",
        ),
        Seed(
            "sqlite3.c",
            "    sqlite3DbFree(db, azCols);\n    azCols = 0;",
            "    if( !SEEDED ) sqlite3DbFree(db, azCols);\n    azCols = 0;",
            LOST,
            "sqlite3_exec",
        ),
    ),
)
