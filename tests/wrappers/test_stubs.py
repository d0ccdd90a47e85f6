"""The stubs image, run natively: there its requests do nothing, so every function takes its slow way."""

from __future__ import annotations

import ctypes
import random
import re
import subprocess
from pathlib import Path

import pytest

WRAPPERS = Path(__file__).resolve().parents[2] / "wrappers"
C = "libcZdsoZa"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stubs") / "stubs.so"
    sources = sorted(str(p) for p in WRAPPERS.glob("*.[cS]"))
    flags = "-std=gnu17 -O2 -ffreestanding -fno-stack-protector -fno-tree-loop-distribute-patterns -fPIC "
    flags += "-shared -nostdlib -mno-red-zone -Wall -Wextra -Werror -Wl,-Bsymbolic -Wl,-z,defs"
    includes = [f"-I{WRAPPERS}", *(f"-I{WRAPPERS.parent / folder}" for folder in ("interpose", "include"))]
    subprocess.run(["gcc", *flags.split(), *includes, *sources, "-o", str(out)], check=True)
    return out


def test_image_needs_no_loader(image: Path) -> None:
    text = subprocess.run(["readelf", "-rdW", str(image)], capture_output=True, text=True, check=True).stdout
    assert "no relocations" in text
    assert "NEEDED" not in text


def test_every_function_of_the_table_is_there(image: Path) -> None:
    """docs/spec/redirection.md section 6: class and priority of each name, for libc."""
    text = subprocess.run(["nm", str(image)], capture_output=True, text=True, check=True).stdout
    found = {m[2]: m[1] for m in re.finditer(rf"_vgr(\d{{5}})ZU_{C}_(\w+)", text)}
    want = {
        "malloc": "10010", "_Znwm": "10030", "_ZnamSt11align_val_tRKSt9nothrow_t": "10010", "free": "10050",
        "_ZdaPvmSt11align_val_t": "10050", "free_sized": "10051", "calloc": "10070", "realloc": "10090",
        "reallocarray": "10092", "memalign": "10110", "valloc": "10120", "posix_memalign": "10160",
        "aligned_alloc": "10170", "malloc_usable_size": "10180", "mallinfo2": "10215", "strrchr": "20010",
        "strchr": "20020", "strcat": "20030", "strncat": "20040", "strlcat": "20050", "strnlen": "20060",
        "strlen": "20070", "strcpy": "20080", "strncpy": "20090", "strlcpy": "20100", "strncmp": "20110",
        "strcasecmp": "20120", "strncasecmp": "20130", "strcasecmp_l": "20140", "strncasecmp_l": "20150",
        "strcmp": "20160", "memchr": "20170", "memcpy": "20180", "memmove": "20181", "memcmp": "20190",
        "stpcpy": "20200", "memset": "20210", "bcopy": "20230", "__memmove_chk": "20240",
        "__strcpy_chk": "20270", "__stpcpy_chk": "20280", "__memcpy_chk": "20300", "strchrnul": "20250",
        "rawmemchr": "20260", "mempcpy": "20290", "strstr": "20310", "strpbrk": "20320", "strcspn": "20330",
        "strspn": "20340", "strcasestr": "20350", "memrchr": "20360", "wcslen": "20370", "wcscmp": "20380",
        "wcscpy": "20390", "wcschr": "20400", "wcsrchr": "20410", "stpncpy": "20420", "wmemchr": "20430",
        "wcsnlen": "20440", "wcsncmp": "20450", "wmemcmp": "20470", "wcsncpy": "20480", "wcpncpy": "20490",
        "memccpy": "20500", "__wcscat_avx2": "20510",
    }  # fmt: skip
    assert {name: found.get(name) for name in want} == want
    assert re.search(r"_vgr10010ZU_VgSoSynsomalloc_malloc\b", text)
    assert re.search(r"_vgr20180ZZ_libcZdsoZa_memcpyZAZAGLIBCZu2Zd14\b", text)


SEARCHES = ["strlen", "strchr", "strrchr", "strchrnul", "strcmp", "strncmp", "strcasecmp", "strncasecmp"]
SEARCHES += ["strstr", "strcasestr", "strpbrk", "strcspn", "strspn", "strnlen", "memchr", "memrchr", "memcmp"]
COPIES = ["strcpy", "stpcpy", "strncpy", "stpncpy", "strcat", "strncat", "memcpy", "mempcpy", "memmove"]
COPIES += ["memset", "memccpy"]
RESULT_IS_SIGN = {"strcmp", "strncmp", "strcasecmp", "strncasecmp", "memcmp"}
TAGS = {
    "strlen": 20070, "strchr": 20020, "strrchr": 20010, "strchrnul": 20250, "strcmp": 20160, "strncmp": 20110,
    "strcasecmp": 20120, "strncasecmp": 20130, "strstr": 20310, "strcasestr": 20350, "strpbrk": 20320,
    "strcspn": 20330, "strspn": 20340, "strnlen": 20060, "memchr": 20170, "memrchr": 20360, "memcmp": 20190,
    "strcpy": 20080, "stpcpy": 20200, "strncpy": 20090, "stpncpy": 20420, "strcat": 20030, "strncat": 20040,
    "memcpy": 20180, "mempcpy": 20290, "memmove": 20181, "memset": 20210, "memccpy": 20500,
}  # fmt: skip


def arguments(name: str, rng: random.Random, dst: int, src: int) -> list[int]:
    char, n = rng.choice(b"aAbBcz\0"), rng.randrange(0, 40)
    return {
        "strlen": [dst], "strnlen": [dst, n], "memset": [dst, char, rng.randrange(0, 400)],
        "memchr": [dst, char, n], "memrchr": [dst, char, n], "memccpy": [dst, src, char, n],
        "strchr": [dst, char], "strrchr": [dst, char], "strchrnul": [dst, char],
        "memcpy": [dst, src, rng.randrange(0, 400)], "mempcpy": [dst, src, rng.randrange(0, 400)],
        "memmove": [dst, rng.choice((src, dst + 3, dst + 90)), rng.randrange(0, 400)],
    }.get(name, [dst, src, n])  # fmt: skip


@pytest.mark.parametrize("name", SEARCHES + COPIES)
def test_same_as_libc(image: Path, name: str) -> None:
    """Random strings over a small alphabet; result and both buffers must be libc's."""
    libc, ours = ctypes.CDLL(None), ctypes.CDLL(str(image))
    rng = random.Random(name)
    original, stub = libc[name], ours[f"_vgr{TAGS[name]:05d}ZU_{C}_{name}"]
    for f in (original, stub):
        f.restype = ctypes.c_int if name in RESULT_IS_SIGN else ctypes.c_uint64
        f.argtypes = None
    for _ in range(300):
        text = bytes(rng.choice(b"aAbBc") for _ in range(1024))
        cut = rng.randrange(0, 30), rng.randrange(512, 530)
        content = bytearray(text)
        content[cut[0]] = content[cut[1]] = content[600] = 0
        if rng.random() < 0.5:
            content[512 : 512 + cut[0]] = content[: cut[0]]
        seen = []
        args_seed = rng.random()
        for f in (original, stub):
            buffer = (ctypes.c_char * 1024).from_buffer_copy(content)
            at = ctypes.addressof(buffer)
            args = arguments(name, random.Random(args_seed), at, at + 512)
            result = f(*(ctypes.c_uint64(x) for x in args))
            if name in RESULT_IS_SIGN:
                result = (result > 0) - (result < 0)
            elif at <= result <= at + 1024:
                result -= at
            seen.append((result, bytes(buffer)))
        assert seen[0] == seen[1]
