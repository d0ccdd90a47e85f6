// Ways in and out of hooked functions: recursion, longjmp, exceptions, threads, fork, signals, no return.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define F extern "C" __attribute__((noipa, used))

F int depth(int n) { return n ? depth(n - 1) + 1 : 0; }
F int even(int n);
F int odd(int n) { return n ? even(n - 1) : 0; }
F int even(int n) { return n ? odd(n - 1) : 1; }

static jmp_buf out;
F int leaves(int n) {
    if (n) longjmp(out, n);
    return 5;
}
F int throws(int n) {
    if (n) throw std::runtime_error("thrown " + std::to_string(n));
    return 6;
}
F int work(int n) {
    int sum = 0;
    for (int i = 0; i < n % 7; i++) sum += i;
    return sum;
}
F int slow(int n) {
    usleep(1000 * n);
    return n;
}
F void stops(int status) {
    fflush(stdout);
    _exit(status);
}
F int forks(void) {
    fflush(stdout);
    return fork();
}
F void ends_thread(void *value) { pthread_exit(value); }
F int raises(int sig) { return raise(sig); }
F int handled(int sig) { return sig + 1000; }

static void handler(int sig) { printf("handler %d\n", handled(sig)); }

static void *worker(void *arg) {
    long id = (long)arg, sum = 0;
    for (int i = 0; i < 200; i++) sum += work(i + (int)id);
    for (int i = 0; i < 20; i++) sum += depth(3);
    return (void *)sum;
}
static void *ending(void *) {
    ends_thread((void *)42L);
    return nullptr;
}

static ucontext_t main_context, side;
F int switches(int n) { /* leaves its hook waiting on this stack, and comes back to it */
    if (n) swapcontext(&side, &main_context);
    return n;
}
static void on_side(void) {
    printf("side %d\n", switches(1));
    printf("side %d\n", switches(0));
}

int main(int argc, char **argv) {
    std::string what = argc > 1 ? argv[1] : "";
    if (what == "depth") printf("%d\n", depth(atoi(argv[2])));
    if (what == "mutual") printf("%d %d\n", even(10), odd(10));
    if (what == "longjmp") {
        for (volatile int i = 0; i < 300; i++)
            if (int n = setjmp(out)) {
                if (n != i + 1) printf("wrong %d\n", n);
            } else
                leaves(i + 1);
        printf("%d\n", leaves(0));
    }
    if (what == "throw") {
        for (int i = 0; i < 3; i++) try {
                printf("%d\n", throws(i));
            } catch (std::exception &e) {
                printf("%s\n", e.what());
            }
        printf("%d\n", throws(0));
    }
    if (what == "threads") {
        pthread_t t[8];
        long sum = 0;
        for (long i = 0; i < 8; i++) pthread_create(&t[i], nullptr, worker, (void *)i);
        for (auto &each : t) {
            void *r;
            pthread_join(each, &r);
            sum += (long)r;
        }
        printf("%ld\n", sum);
    }
    if (what == "overlap") { /* the hook of one waits for the original, as do those of others */
        pthread_t t[4];
        for (auto &each : t)
            pthread_create(&each, nullptr, [](void *) -> void * { return (void *)(long)slow(50); }, nullptr);
        for (auto &each : t) pthread_join(each, nullptr);
        printf("%d\n", slow(1));
    }
    if (what == "exit") stops(33);
    if (what == "fork") {
        int pid = forks();
        printf("%s %d\n", pid ? "parent" : "child", work(5));
        fflush(stdout);
        if (!pid) _exit(depth(4));
        int status;
        waitpid(pid, &status, 0);
        printf("status %d\n", WEXITSTATUS(status));
    }
    if (what == "exec") {
        printf("%d\n", work(3));
        fflush(stdout);
        execl(argv[0], argv[0], "mutual", nullptr);
    }
    if (what == "pthread_exit") {
        for (int i = 0; i < 20; i++) {
            pthread_t t;
            void *r;
            pthread_create(&t, nullptr, ending, nullptr);
            pthread_join(t, &r);
            if ((long)r != 42) printf("wrong %ld\n", (long)r);
        }
        puts("joined");
    }
    if (what == "signal") {
        struct sigaction a = {};
        a.sa_handler = handler;
        stack_t alt = {};
        alt.ss_size = 1 << 16;
        alt.ss_sp = malloc(alt.ss_size);
        sigaltstack(&alt, nullptr);
        sigaction(SIGUSR1, &a, nullptr);
        a.sa_flags = SA_ONSTACK;
        sigaction(SIGUSR2, &a, nullptr);
        printf("%d\n", raises(SIGUSR1));
        printf("%d\n", raises(SIGUSR2));
    }
    if (what == "contexts") {
        getcontext(&side);
        side.uc_stack.ss_size = 1 << 18;
        side.uc_stack.ss_sp = malloc(side.uc_stack.ss_size);
        side.uc_link = &main_context;
        makecontext(&side, on_side, 0);
        swapcontext(&main_context, &side);
        printf("main %d\n", depth(20));
        printf("main %d\n", work(6));
        swapcontext(&main_context, &side);
        puts("over");
    }
    return 0;
}
