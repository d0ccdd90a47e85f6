/* Maps the program, its interpreter and our own shared images.
 *
 * Rules: System V gABI chapter 5 (program loading) and the psABI for x86-64;
 * what the kernel's execve does decides where they leave freedom.  Every field
 * of a file is checked before use: a damaged or hostile one ends in one line.
 */
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

#include "runtime/base/ksignal.h"
#include "runtime/loader/loader.h"
#include "runtime/memory/memory.h"
#include "runtime/loader/image.h"
#include "runtime/memory/mm.h"
#include "runtime/processes/processes.h"
#include "runtime/signals/sig.h"

#define MAX_PHDR_BYTES 65536u /* the kernel's own limit */
#define LONGEST_FILE   ((1ull << 63) - RT_PAGE)

struct file {
    const char *name; /* for messages */
    int fd;
    u64 size;
    Elf64_Ehdr eh;
    Elf64_Phdr *ph; /* eh.e_phnum of them */
};

static const char *reason(long err) {
    switch (-err) {
    case ENOENT: return "no such file or directory";
    case EACCES: return "permission denied";
    case ENOTDIR: return "not a directory";
    case ELOOP: return "too many symbolic links";
    case EMFILE: return "too many open files";
    case ENOMEM: return "out of memory";
    case EIO: return "input/output error";
    case EISDIR: return "is a directory";
    case EPERM: return "operation not permitted";
    default: return "unexpected error";
    }
}

static void read_exactly(const struct file *f, void *buf, u64 n, u64 off, const char *what) {
    if (off > f->size || n > f->size - off) rt_die("%s: %s lie beyond the end of the file (truncated?)", f->name, what);
    for (u64 done = 0; done < n;) {
        long r = sys4(__NR_pread64, f->fd, (long)((u8 *)buf + done), (long)(n - done), (long)(off + done));
        if (r == -EINTR) continue;
        if (r <= 0) rt_die("%s: cannot read %s: %s", f->name, what, r == 0 ? "file changed" : reason(r));
        done += (u64)r;
    }
}

/* ---- checks ------------------------------------------------------------------------ */

static void check_header(const struct file *f) {
    const Elf64_Ehdr *eh = &f->eh;
    const char *n = f->name;
    if (eh->e_ident[EI_CLASS] == ELFCLASS32) rt_die("%s: a 32-bit program; only x86-64 programs are supported", n);
    if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB)
        rt_die("%s: not a little-endian 64-bit ELF file", n);
    if (eh->e_machine != EM_X86_64)
        rt_die("%s: built for ELF machine %u, not for x86-64 (%u)", n, eh->e_machine, EM_X86_64);
    if (eh->e_type != ET_EXEC && eh->e_type != ET_DYN)
        rt_die("%s: ELF type %u is neither an executable nor a shared object", n, eh->e_type);
    if (eh->e_phentsize != sizeof(Elf64_Phdr))
        rt_die("%s: program headers of %u bytes instead of %lu", n, eh->e_phentsize, sizeof(Elf64_Phdr));
    if (eh->e_phnum == 0 || eh->e_phnum * sizeof(Elf64_Phdr) > MAX_PHDR_BYTES)
        rt_die("%s: %u program headers", n, eh->e_phnum);
}

/* Segments may lie beyond the end of the file: the kernel maps them, and who goes there gets SIGBUS.  Where the rest
 * of such a page is to be zeroed, exec itself ends so. */
static void end_if_missing(struct tstate *ts, const struct file *f, const Elf64_Phdr *p) {
    u64 last = p->p_offset + p->p_filesz, whole = RT_ROUND_UP(f->size, RT_PAGE);
    bool zeroed = p->p_memsz > p->p_filesz && last % RT_PAGE != 0;
    if (!zeroed || last <= whole) return;
    rt_warn(ts, "%s: truncated ELF file: it ends before its segments do", f->name);
    rt_die_by_signal(ts, SIG_SEGV, 0, 0);
}

/* Is [vaddr, vaddr + memsz) of every PT_LOAD sane, and after the one before? */
static void check_segments(struct tstate *ts, const struct file *f) {
    u64 last_end = 0;
    bool any = false;
    for (u32 i = 0; i < f->eh.e_phnum; i++) {
        const Elf64_Phdr *p = &f->ph[i];
        if (p->p_type != PT_LOAD || p->p_memsz == 0) continue;
        u64 end = p->p_vaddr + p->p_memsz;
        if (end < p->p_vaddr || end > rt_client_end())
            rt_die("%s: segment %u (0x%lx, size 0x%lx) lies outside the address space", f->name, i, (u64)p->p_vaddr,
                   (u64)p->p_memsz);
        if (p->p_filesz > p->p_memsz) rt_die("%s: segment %u is larger in the file than in memory", f->name, i);
        if (p->p_offset > LONGEST_FILE || p->p_filesz > LONGEST_FILE - p->p_offset)
            rt_die("%s: segment %u lies beyond the end of any file", f->name, i);
        if (p->p_filesz) end_if_missing(ts, f, p);
        if (p->p_filesz != 0 && (p->p_vaddr - p->p_offset) % RT_PAGE != 0)
            rt_die("%s: segment %u: address 0x%lx and file offset 0x%lx differ within a page", f->name, i,
                   (u64)p->p_vaddr, (u64)p->p_offset);
        if (any && p->p_vaddr < last_end)
            rt_die("%s: segment %u overlaps the one before it or is out of order", f->name, i);
        last_end = end;
        any = true;
    }
    if (!any) rt_die("%s: nothing to load (no PT_LOAD segment)", f->name);
}

static void read_interp(const struct file *f, const Elf64_Phdr *p, char out[4096]) {
    if (p->p_filesz < 2 || p->p_filesz > 4096)
        rt_die("%s: the interpreter's name has an absurd length (%lu)", f->name, (u64)p->p_filesz);
    read_exactly(f, out, p->p_filesz, p->p_offset, "the interpreter's name");
    if (out[p->p_filesz - 1] != 0) rt_die("%s: the interpreter's name does not end", f->name);
}

/* ---- mapping ------------------------------------------------------------------------ */

static void host_map(const struct file *f, u64 addr, u64 len, u32 prot, u32 flags, int fd, u64 off) {
    long r = sys6(__NR_mmap, (long)addr, (long)len, prot, MAP_PRIVATE | flags, fd, (long)off);
    if (r != (long)addr)
        rt_die("%s: cannot map 0x%lx-0x%lx: %s (%ld)%s", f->name, addr, addr + len, reason(r), -r,
               r == -EPERM ? "; see /proc/sys/vm/mmap_min_addr" : "");
}

static u32 prot_of(const Elf64_Phdr *p) {
    return (p->p_flags & PF_R ? PROT_READ : 0u) | (p->p_flags & PF_W ? PROT_WRITE : 0u) |
           (p->p_flags & PF_X ? PROT_EXEC : 0u);
}

/* Tell the table; a page shared with the segment before now belongs to this one. */
static void record(struct tstate *ts, const struct rt_seg *model, u64 lo, u64 hi, u64 off, u32 prot) {
    struct rt_seg s = *model;
    s.lo = lo, s.hi = hi, s.off = off, s.prot = prot;
    if (!mm_is_free(lo, hi)) mm_removed(ts, lo, hi, MM_WITH_SHADOW);
    mm_added(ts, &s, MM_WITH_SHADOW);
}

static void map_segment(struct tstate *ts, const struct file *f, const Elf64_Phdr *p, u64 bias,
                        const struct rt_seg *model) {
    u32 prot = prot_of(p), host = mm_host_prot(prot);
    u64 start = RT_ROUND_DOWN(p->p_vaddr, RT_PAGE) + bias;
    u64 file_end = p->p_vaddr + p->p_filesz + bias;
    u64 file_page_end = p->p_filesz ? RT_ROUND_UP(file_end, RT_PAGE) : start;
    u64 mem_end = RT_ROUND_UP(p->p_vaddr + p->p_memsz + bias, RT_PAGE);
    u64 off = RT_ROUND_DOWN(p->p_offset, RT_PAGE);
    if (file_page_end > start) {
        bool zero_tail = p->p_memsz > p->p_filesz && file_end < file_page_end;
        host_map(f, start, file_page_end - start, zero_tail ? host | PROT_READ | PROT_WRITE : host, MAP_FIXED, f->fd,
                 off);
        if (zero_tail) {
            memset((void *)file_end, 0, file_page_end - file_end);
            sys3(__NR_mprotect, (long)start, (long)(file_page_end - start), host);
        }
        record(ts, model, start, file_page_end, off, prot);
    }
    if (mem_end > file_page_end) {
        struct rt_seg bss = {.kind = RT_SEG_ANON, .mflags = model->mflags};
        host_map(f, file_page_end, mem_end - file_page_end, host, MAP_FIXED | MAP_ANONYMOUS, -1, 0);
        record(ts, &bss, file_page_end, mem_end, 0, prot);
    }
}

/* Where the file's lowest page goes. */
static u64 choose_base(const struct file *f, u64 lo, u64 len, bool ours) {
    if (f->eh.e_type == ET_EXEC) {
        if (!mm_allowed(lo, len) || !mm_is_free(lo, lo + len))
            rt_die("%s: its fixed addresses 0x%lx-0x%lx are taken; build it as a "
                   "position-independent executable",
                   f->name, lo, lo + len);
        return lo;
    }
    u64 align = RT_PAGE;
    for (u32 i = 0; i < f->eh.e_phnum; i++) {
        u64 a = f->ph[i].p_align;
        if (f->ph[i].p_type == PT_LOAD && a > align && (a & (a - 1)) == 0) align = a;
    }
    if (align > IP_IMAGES_HI - IP_IMAGES_LO) rt_die("%s: absurd segment alignment 0x%lx", f->name, align);
    /* Images of ours are there first, and leave the low end to programs with fixed addresses. */
    u64 at = ours ? RT_ROUND_DOWN(IP_IMAGES_HI - len, align) : 0;
    if (!ours || (rt.flags & IP_C_FAR_IMAGES) || !mm_is_free(at, at + len)) at = mm_place_low(len, align);
    if (at == 0) at = mm_place_high(len, align);
    if (at == 0) rt_die("%s: no room for 0x%lx bytes", f->name, len);
    return at;
}

static void absolute_path(const struct file *f, char out[4096]) {
    char link[40];
    rt_snprintf(link, sizeof link, "/proc/self/fd/%d", f->fd);
    long n = sys3(__NR_readlink, (long)link, (long)out, 4095);
    if (n <= 0) /* no /proc here */
        n = rt_snprintf(out, 4096, "%s", f->name);
    out[n < 4095 ? n : 4095] = 0;
}

/* The program may have come to a root without our files, or to a sandbox that lets nobody read them. The supervisor
 * is in neither. */
static long borrow(struct tstate *ts) {
    struct ip_slot *s = rt_slot(ts);
    int lent = -ENOENT;
    rt_lock(&process_fd_lock);
    process_expect_fds(true);
    s->len = 0;
    rt_request_python(ts, IP_R_OWN_IMAGE);
    if (s->r[0] == 1 && !process_receive_fds(ts, &lent, 1)) lent = -EMFILE;
    process_expect_fds(false);
    rt_unlock(&process_fd_lock);
    return lent;
}

static void map_image(struct tstate *ts, const char *name, struct rt_image *im, u16 mflags) {
    struct file f = {.name = name};
    struct stat st;
    long fd = sys3(__NR_open, (long)name, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0 && (mflags & MM_OURS)) fd = borrow(ts);
    if (fd < 0) rt_die("cannot open %s: %s (%ld)", name, reason(fd), -fd);
    f.fd = (int)fd;
    long r = sys2(__NR_fstat, fd, (long)&st);
    if (r < 0) rt_die("%s: cannot stat: %s", name, reason(r));
    if ((st.st_mode & 0170000) != 0100000) rt_die("%s: not a regular file", name);
    f.size = (u64)st.st_size;
    if (f.size < SELFMAG) rt_die("%s: not an ELF file", name);
    read_exactly(&f, f.eh.e_ident, SELFMAG, 0, "the first bytes");
    if (memcmp(f.eh.e_ident, ELFMAG, SELFMAG) != 0) rt_die("%s: not an ELF file", name);
    read_exactly(&f, &f.eh, sizeof f.eh, 0, "the ELF header");
    check_header(&f);
    f.ph = rt_pages(MAX_PHDR_BYTES);
    read_exactly(&f, f.ph, f.eh.e_phnum * sizeof *f.ph, f.eh.e_phoff, "the program headers");
    check_segments(ts, &f);

    u64 lo = ~0ull, hi = 0, phdr = 0;
    im->interp[0] = 0;
    for (u32 i = 0; i < f.eh.e_phnum; i++) {
        const Elf64_Phdr *p = &f.ph[i];
        if (p->p_type == PT_GNU_STACK) im->exec_stack = (p->p_flags & PF_X) != 0;
        if (p->p_type == PT_INTERP && im->interp[0] == 0) read_interp(&f, p, im->interp);
        if (p->p_type != PT_LOAD || p->p_memsz == 0) continue;
        if (RT_ROUND_DOWN(p->p_vaddr, RT_PAGE) < lo) lo = RT_ROUND_DOWN(p->p_vaddr, RT_PAGE);
        if (RT_ROUND_UP(p->p_vaddr + p->p_memsz, RT_PAGE) > hi) hi = RT_ROUND_UP(p->p_vaddr + p->p_memsz, RT_PAGE);
        /* As the kernel finds AT_PHDR: the segment that holds e_phoff. */
        if (f.eh.e_phoff >= p->p_offset && f.eh.e_phoff - p->p_offset < p->p_filesz)
            phdr = f.eh.e_phoff - p->p_offset + p->p_vaddr;
    }

    absolute_path(&f, im->path);
    rt_mm_lock();
    u64 base = choose_base(&f, lo, hi - lo, mflags & MM_OURS);
    im->bias = base - lo;
    im->lo = base, im->hi = base + (hi - lo);
    im->entry = f.eh.e_entry + im->bias;
    im->phnum = f.eh.e_phnum;
    im->fixed = f.eh.e_type == ET_EXEC;
    im->phdr = phdr ? phdr + im->bias : 0;
    /* Reserve the whole range first, so that nothing of the host's is overwritten. */
    host_map(&f, base, hi - lo, PROT_NONE, MAP_FIXED_NOREPLACE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct rt_seg model = {.mflags = (u16)(mflags | (base < IP_IMAGES_HI ? MM_LOW : 0))};
    mm_file_identity(&model, f.fd);
    u64 done = base;
    for (u32 i = 0; i < f.eh.e_phnum; i++) {
        const Elf64_Phdr *p = &f.ph[i];
        if (p->p_type != PT_LOAD || p->p_memsz == 0) continue;
        u64 start = RT_ROUND_DOWN(p->p_vaddr, RT_PAGE) + im->bias;
        if (start > done) /* a hole between segments stays a hole */
            sys2(__NR_munmap, (long)done, (long)(start - done));
        map_segment(ts, &f, p, im->bias, &model);
        done = RT_ROUND_UP(p->p_vaddr + p->p_memsz, RT_PAGE) + im->bias;
    }
    rt_mm_unlock();
    rt_free_pages(f.ph, MAX_PHDR_BYTES);
    sys1(__NR_close, fd);
}

/* musl's interpreter is its C library: what it reserves is most often a thread's stack. */
static bool is_libc(const char *interp) {
    static const char musl[] = "ld-musl-";
    const char *name = interp;
    for (const char *p = interp; *p; p++)
        if (*p == '/') name = p + 1;
    return rt_strncmp(name, musl, sizeof musl - 1) == 0;
}

/* ---- entry points ------------------------------------------------------------------------ */

u64 rt_load_image(struct tstate *ts, const char *path) {
    struct rt_image *im = rt_pages(sizeof *im);
    map_image(ts, path, im, MM_OURS);
    u64 base = im->lo;
    rt.stubs_lo = base;
    rt.stubs_hi = im->hi;
    rt_free_pages(im, sizeof *im);
    return base;
}

void rt_load_program(struct tstate *ts, u64 *kernel_sp) {
    const char *prog = (const char *)rt.chan->prog;
    struct rt_image *program = rt_pages(sizeof *program), *interp = NULL;
    if (prog[0] == 0) rt_die("no program to run");
    map_image(ts, prog, program, 0);
    if (program->interp[0]) {
        interp = rt_pages(sizeof *interp);
        map_image(ts, program->interp, interp, 0);
        if (interp->interp[0]) rt_die("%s: the interpreter %s needs an interpreter itself", prog, program->interp);
    }
    rt.entry = program->entry;
    rt.phdr = program->phdr;
    rt.phnum = program->phnum;
    rt.load_bias = program->bias;
    rt.image_end = program->hi;
    /* As the kernel does it, without randomizing: a saved image (GCL's) goes on there. */
    if (rt.no_randomize && program->fixed) rt.brk_start = program->hi;
    rt.interp_base = interp ? interp->bias : 0;
    rt.linker_lo = rt.linker_hi = 0;
    if (interp && !is_libc(program->interp)) rt.linker_lo = interp->lo, rt.linker_hi = interp->hi;
    rt_snprintf(rt.exe_path, sizeof rt.exe_path, "%s", program->path);
    rt_build_stack(ts, kernel_sp, program, rt.interp_base);
    rt_tell_kernel(program);
    for (int i = 0; i < 16; i++)
        if (i != IP_RSP) ts->gpr[i] = 0;
    ts->rflags = 0x202;
    ts->pc = interp ? interp->entry : program->entry;

    struct ip_slot *slot = rt_slot(ts);
    slot->a[0] = rt.entry;
    slot->a[1] = rt.phdr;
    slot->a[2] = rt.interp_base;
    slot->a[3] = rt.load_bias;
    slot->a[4] = ts->gpr[IP_RSP];
    slot->a[5] = rt.brk_start;
    slot->len = 0;
    rt_request_python(ts, IP_R_LOADED);
    rt_free_pages(program, sizeof *program);
    if (interp) rt_free_pages(interp, sizeof *interp);
}
