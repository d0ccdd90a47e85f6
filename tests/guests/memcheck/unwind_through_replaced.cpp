// What a handler of a fault within a replaced function asks the unwinder for: a backtrace, and a way out by an exception.
// Where it gets neither, a jump on an undefined value tells.
// @build: -fnon-call-exceptions
#include <csignal>
#include <cstdio>
#include <cstring>
#include <execinfo.h>

static void *within[2];
static int missing;

static void handler(int sig) {
    void *frames[40];
    int n = backtrace(frames, 40);
    for (void *wanted : within) {
        bool found = false;
        for (int i = 0; i < n; i++) {
            char *at = static_cast<char *>(frames[i]), *begin = static_cast<char *>(wanted);
            found |= at > begin && at < begin + 0x200;
        }
        missing += !found;
    }
    throw sig;
}

static std::size_t (*volatile length)(const char *) = std::strlen;
static void *(*volatile copy)(void *, const void *, std::size_t) = std::memcpy;
static char room[64];

__attribute__((noinline)) static void measure() { length(reinterpret_cast<char *>(8)); }
__attribute__((noinline)) static void move() { copy(room, reinterpret_cast<char *>(8), sizeof room); }

static void caught(void (*function)()) {
    int undefined[1], got = 0;
    within[0] = reinterpret_cast<void *>(function);
    within[1] = reinterpret_cast<void *>(caught);
    missing = 0;
    try {
        function();
    } catch (int sig) {
        got = sig;
    }
    if ((got != SIGSEGV || missing) && undefined[0]) std::puts("not unwound");
}

int main() {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    caught(measure);
    caught(move);
    return 0;
}
