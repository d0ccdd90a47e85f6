"""Where checks of system calls differ from Valgrind's, on purpose, with the reasons: 3.19's in one table,
what 3.27.1 adds in another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SweepDifference:
    """Reports that only one of the two makes.

    :ivar cases: regular expression of ``CALL_CASE``.
    :ivar theirs: regular expression of what Valgrind alone reports; None: nothing.
    :ivar ours: the same of ours.
    """

    reason: str
    cases: str
    theirs: str | None = None
    ours: str | None = None


_UNKNOWN = (
    "ustat|sysfs|modify_ldt|swapon|swapoff|setdomainname|remap_file_pages|kexec_load|migrate_pages|kexec_file_load|"
    "userfaultfd|mlock2|io_pgetevents|pidfd_send_signal|open_tree|move_mount|fsopen|fsconfig|fsmount|fspick|"
    "pidfd_open|openat2|pidfd_getfd|process_madvise|epoll_pwait2|mount_setattr|quotactl_fd|"
    "landlock_create_ruleset|landlock_add_rule|landlock_restrict_self|memfd_secret|process_mrelease|futex_waitv|"
    "set_mempolicy_home_node|cachestat|fchmodat2|futex_wake|futex_wait|futex_requeue|statmount|listmount|"
    "lsm_get_self_attr|lsm_set_self_attr|lsm_list_modules|mseal|setxattrat|getxattrat|listxattrat|removexattrat|"
    "open_tree_attr|vmsplice|execveat|file_getattr|file_setattr|listns|rseq_slice_yield"
)

UNKNOWN_CALLS = SweepDifference(
    "Valgrind 3.19 does not know the call, or none of its arguments", rf"({_UNKNOWN})_\w+", ours=".*"
)
"""What alone of SWEEP_DIFFERENCES is not so with 3.27.1."""

SWEEP_DIFFERENCES = (
    UNKNOWN_CALLS,
    SweepDifference("nor these commands", r"prctl_c(25|37|40)(R|NA)", ours=r"prctl\(get-.*"),
    SweepDifference("nor these", r"(shmctl_c15|msgctl_c13|semctl_c20)NA", ours=r".*IPC_STAT.*"),
    SweepDifference("nor these", r"(fcntl_c12|fcntl_c13|fcntl_c14|keyctl_c17)R|keyctl_[RH]", ours=".*"),
    SweepDifference(
        "nor these ioctls",
        r"ioctl_x(5412|5420|5423|5424|5429|8901|8903|b704|1277)(NA|UN)",
        ours=r"ioctl\((TIOC\w+|FIO\w+|NS_GET_OWNER_UID|BLKDISCARD)\).*",
    ),
    SweepDifference("nor loop devices'", r"ioctl_x4c0[2-5](NA|UN)", ours=r"ioctl\(LOOP_\w+\) points.*"),
    SweepDifference("nor this request", r"ptrace_r4209(NA|UN)", ours=r"ptrace\(peeksiginfo\) points.*"),
    SweepDifference(
        "the argument of these is not looked at by the kernel",
        r"ioctl_x(5437|1261|2202|4c01|4c82|5309|5319|540c|540d|5427|5428|7001|b701|b702|b703)R",
        theirs=r"ioctl\(arg\) contains.*",
    ),
    SweepDifference("nor FITHAW's", r"ioctl_xc0045878\w+", theirs=r"ioctl\((arg|generic)\).*"),
    SweepDifference(
        "which sets what it reads", r"ioctl_x5410UN", ours=r"ioctl\(TIOCGPGRP\) points to uninit.*"
    ),
    SweepDifference("which only writes", r"ioctl_x8905UN", theirs=r"ioctl\(SIOCATMARK\) points to uninit.*"),
    SweepDifference("nor this one", r"ioctl_x89b1(NA|UN|R)", ours=r"ioctl\(SIOCGHWTSTAMP\).*"),
    SweepDifference(
        "the kernel looks the address up", r"ioctl_x8954UN", ours=r"ioctl\(SIOCGARP\) points to uninit.*"
    ),
    SweepDifference(
        "the kernel reads the descriptors of the last byte, too; Valgrind counts whole bytes",
        r"p?select6?_([NU]\d|n9\w+)",
        ours=r"p?select6?\((read|write|except)fds\).*",
    ),
    SweepDifference("the kernel reads the offset", r"sendfile_U2", ours=r"sendfile\(offset\).*"),
    SweepDifference("the kernel looks at the flags", r"(fchownat|unlinkat)_R", ours=r"\w+\(flag\).*"),
    SweepDifference("kcmp's comparisons use both", r"kcmp_[RH]", ours=r"kcmp\(idx\d\).*"),
    SweepDifference(
        "Valgrind stops at the first bad pointer",
        r"(newfstatat|statx|io_uring_setup|recvmmsg|sendmmsg|name_to_handle_at)_Z",
        ours=".*points to unaddressable.*",
    ),
    SweepDifference(
        "a null address is legal here",
        r"(acct|mount|quotactl|add_key|waitid)_Z",
        theirs=r"(acct\(filename\)|mount\(type\)|quotactl\(special\)|add_key\(description\)|waitid\(infop\)).*",
    ),
    SweepDifference("the header is looked at first", r"capset_Z", theirs=r"capset\(data\).*"),
    SweepDifference(
        "what cannot be read is not known",
        r"(clock_)?adjtimex?_Z",
        theirs=r"adjtimex\(timex\).*",
        ours=r"adjtimex\(timex->modes\).*",
    ),
    SweepDifference(
        "without O_CREAT these are not looked at", r"mq_open_[RH]", theirs=r"mq_open\((mode|attr)\).*"
    ),
    SweepDifference("the kernel does not use it since 2.6.24", r"getcpu_R", theirs=r"getcpu\(tcache\).*"),
    SweepDifference(
        "Valgrind takes sched_getattr's buffer for one that is read",
        r"sched_getattr_[NUZ]1?",
        theirs=r"sched_setattr\(attr->size\).*",
        ours=r"sched_getattr\(p\).*",
    ),
    SweepDifference(
        "quotation marks by mistake",
        r"(copy_file_range|pkey_alloc|pkey_free)_[RH]",
        theirs=r'\w+\("\w+"\) contains.*',
        ours=r"\w+\(\w+\) contains.*",
    ),
    SweepDifference(
        "a parenthesis is missing by mistake",
        r"bpf_c\d+(NA|UN)",
        theirs=r"bpf\(attr->\w+ points to.*",
        ours=r"bpf\(attr->\w+\) points to.*",
    ),
    SweepDifference(
        "beyond the size that is passed nothing is read", r"bpf_[NUZ]1?", theirs=r"bpf\(attr->.*"
    ),
    SweepDifference(
        "of a program without instructions the kernel looks at nothing",
        r"bpf_c5UN",
        theirs=r"bpf\(attr->license\) points to unaddr.*",
    ),
    SweepDifference(
        "the entry has its number, as in later versions",
        r"(readv|writev)_[ST](NA|UN)",
        theirs=r"\w+\(vector\[\.\.\.\]\).*",
        ours=r"\w+\(vector\[1\]\).*",
    ),
    SweepDifference(
        "the kernel refuses unknown commands before it looks at their arguments",
        r"prctl_c\d+R",
        theirs=r"prctl\(arg\d\).*",
    ),
    SweepDifference("FUTEX_FD is gone, a lock has no value", r"futex_o[26]R", theirs=r"futex\(val\).*"),
    SweepDifference(
        "these operations have it", r"futex_o(9|13|11|12)R", ours=r"futex\((val3|utime|uaddr2)\).*"
    ),
    SweepDifference("Valgrind does not know the operation", r"futex_o1[13]\w+", ours=r"futex\(.*"),
    SweepDifference(
        "nobody reads the padding between control messages",
        r"sendmsg_padding(NA|UN)",
        theirs=r"sendmsg\(msg\.msg_control\).*",
    ),
    SweepDifference(
        "the events of a descriptor below 0 are not looked at",
        r"p?poll_f4",
        theirs=r"p?poll\(ufds\.events\).*",
    ),
    SweepDifference("the value is in the register", r"semctl_c16R", ours=r"semctl\(arg\) contains.*"),
    SweepDifference(
        "the kernel takes the lower half",
        r"(poll|p?readv2?|p?writev2?|personality|iopl|readlinkat|pipe2|pkey_mprotect)_H",
        theirs=r"\w+\((timeout|fd|count|flags|persona|level|bufsiz|pkey)\) contains.*",
    ),
    SweepDifference("an address has both halves", r"getsockopt_H", ours=r"getsockopt\(\*optlen\) contains.*"),
)

_NEWER_UNKNOWN = (
    "sysfs|modify_ldt|kexec_load|kexec_file_load|migrate_pages|vmsplice|execveat|mlock2|io_pgetevents|"
    "pidfd_send_signal|fsconfig|pidfd_open|process_madvise|mount_setattr|landlock_add_rule|process_mrelease|"
    "futex_waitv|set_mempolicy_home_node|futex_wake|futex_wait|futex_requeue|statmount|listmount|"
    "setxattrat|getxattrat|listxattrat|removexattrat|open_tree_attr|file_getattr|file_setattr|listns"
)

NEWER_SWEEP_DIFFERENCES = (
    SweepDifference(
        "Valgrind 3.27 does not know the call, or not this argument", rf"({_NEWER_UNKNOWN})_\w+", ours=".*"
    ),
    SweepDifference("nor that it has one", r"keyctl_[RH]", ours=".*"),
    SweepDifference(
        "a number is taken for an address",
        r"sysfs_\w+|remap_file_pages_R",
        theirs=r"(sysfs\(path\)|sys_remap_file_pages\(addr\)) points to unaddressable.*",
    ),
    SweepDifference(
        "a null address is legal here, too",
        r"(landlock_create_ruleset|futex_waitv)_Z",
        theirs=r"(landlock_create_ruleset\(value\)|sys_futex_waitv\(timeout\)).*",
    ),
    SweepDifference(
        "Valgrind stops at the first bad pointer, too",
        r"(p?poll|lsm_get_self_attr)_Z",
        ours=".*points to unaddressable.*",
    ),
    SweepDifference(
        "3.27 does not follow the argument where the flags make it a structure",
        r"io_uring_enter_[NU]4",
        ours=r"io_uring_enter\(sig\).*",
    ),
)
