/* --trace-signals=yes: a line when an action or a mask is set, and when a signal is sent, delivered and handled. */
#include "runtime/signals/signals.h"
#include "runtime/signals/sig.h"

static const char *const names[] = {
    NULL,   "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
    "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
    "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "IO",   "PWR",  "SYS",
};

static const char *name_of(int sig, char *room, u64 size) {
    if (sig > 0 && (u64)sig < sizeof names / sizeof *names)
        rt_snprintf(room, size, "SIG%s", names[sig]);
    else
        rt_snprintf(room, size, "SIGRT%d", sig - 32);
    return room;
}

static bool wanted(void) { return rt.chan->shows & IP_SHOW_SIGNALS; }

void sig_show_action(struct tstate *ts, int sig, u64 act, u64 oact, u64 flags) {
    if (wanted())
        rt_say(ts, IP_SAY_DEBUG, "sys_sigaction: sigNo %d, new 0x%lx, old 0x%lx, new flags 0x%lx", sig, act, oact,
               flags);
}

void sig_show_mask(struct tstate *ts, long how, u64 addr, u64 set) {
    static const char *const ways[] = {"SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK"};
    if (wanted() && how >= 0 && how <= 2)
        rt_say(ts, IP_SAY_DEBUG, "do_setmask: tid = %lu how = %ld (%s), newset = 0x%lx (%lx)", ts->tid_guest, how,
               ways[how], addr, set);
}

void sig_show_sent(struct tstate *ts, const char *call, int sig, u64 to, long result) {
    if (wanted() && sig) rt_say(ts, IP_SAY_DEBUG, "%s: signal %d to %d: %ld", call, sig, (int)to, result);
}

void sig_show_delivery(struct tstate *ts, const struct sig_info *info) {
    char name[16];
    if (wanted())
        rt_say(ts, IP_SAY_DEBUG, "delivering signal %d (%s):%d to thread %lu", info->signo,
               name_of(info->signo, name, sizeof name), info->code, ts->tid_guest);
}

void sig_show_default(struct tstate *ts, int sig, int code, const char *action) {
    if (wanted()) rt_say(ts, IP_SAY_DEBUG, "delivering %d (code %d) to default handler; action: %s", sig, code, action);
}

void sig_show_frame(struct tstate *ts, int sig) {
    if (wanted()) rt_say(ts, IP_SAY_DEBUG, "push_signal_frame (thread %lu): signal %d", ts->tid_guest, sig);
}

void sig_show_return(struct tstate *ts) {
    if (wanted()) rt_say(ts, IP_SAY_DEBUG, "signal_return (thread %lu): RIP=0x%lx", ts->tid_guest, rt_pc(ts->pc));
}
