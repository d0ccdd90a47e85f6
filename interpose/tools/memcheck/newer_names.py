"""Names that Valgrind 3.27.1 has for parameters of system calls, where ours are those of 3.19 or our own.

Suppressions are written with either. Source: what 3.27.1 reports for each call with undefined, unaddressable
and null arguments.
"""

from __future__ import annotations

NEWER_NAMES: dict[str, tuple[str, ...]] = {
    "fchmodat2(pathname)": ("fchmodat2(path)",),
    "fsopen(fs_name)": ("fsopen(filename)",),
    "fspick(filename)": ("fspick(path)",),
    "futex_waitv(timeout)": ("sys_futex_waitv(timeout)",),
    "futex_waitv(waiters)": ("sys_futex_waitv(waiters)",),
    "io_pgetevents(sigmask)": ("io_pgetevents(usig)",),
    "landlock_create_ruleset(attr)": ("landlock_create_ruleset(value)",),
    "landlock_restrict_self(flags)": ("landlock_create_ruleset(flags)",),
    "landlock_restrict_self(ruleset_fd)": ("landlock_create_ruleset(ruleset_fd)",),
    "lsm_set_self_attr(ctx)": ("lsm_get_self_attr(ctx)",),
    "openat(dfd)": ("openat(dirfd)",),
    "openat(filename)": ("openat(pathname)",),
    "remap_file_pages(size)": ("remap_file_pages(size_t)",),
    "remap_file_pages(start)": ("remap_file_pages(addr)",),
    "sigaltstack(ss)": ("sigaltstack(ss->ss_sp)", "sigaltstack(ss->ss_flags)", "sigaltstack(ss->ss_size)"),
    "statmount(buf)": ("statmount(smbuf)",),
    "sysfs(arg1)": ("sysfs(path)",),
    "sysfs(arg2)": ("sysfs(flags)",),
    "timerfd_gettime(otmr)": ("timerfd_gettime(curr_value)",),
    "timerfd_gettime(result)": ("timerfd_gettime(curr_value)",),
    "timerfd_gettime(ufd)": ("timerfd_gettime(fd)",),
    "timerfd_settime(otmr)": ("timerfd_settime(old_value)",),
    "timerfd_settime(result)": ("timerfd_settime(new_value)", "timerfd_settime(old_value)"),
    "timerfd_settime(ufd)": ("timerfd_settime(fd)",),
    "timerfd_settime(utmr)": ("timerfd_settime(new_value)",),
    "userfaultfd(flags)": ("userfaultfd(size)",),
}
