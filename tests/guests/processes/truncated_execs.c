/* Executes files that end before their segments do: what is missing is mapped all the same, and ends the process where
 * it is touched, in exec itself if the rest of the last page is to be zeroed. */
/* modes: none trace-children */
/* errors: yes */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BASE = 0x400000, PAGE = 4096, ENTRY = 0x200 };

/* exit(7) */
static const unsigned char code[] = {0xb8, 60, 0, 0, 0, 0xbf, 7, 0, 0, 0, 0x0f, 0x05};

static void show(const char *what, unsigned long entry, unsigned long filesz, unsigned long memsz, off_t size) {
    Elf64_Ehdr eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                     .e_type = ET_EXEC,
                     .e_machine = EM_X86_64,
                     .e_version = EV_CURRENT,
                     .e_entry = BASE + entry,
                     .e_phoff = sizeof eh,
                     .e_ehsize = sizeof eh,
                     .e_phentsize = sizeof(Elf64_Phdr),
                     .e_phnum = 1};
    Elf64_Phdr ph = {.p_type = PT_LOAD,
                     .p_flags = PF_R | PF_W | PF_X,
                     .p_vaddr = BASE,
                     .p_filesz = filesz,
                     .p_memsz = memsz,
                     .p_align = PAGE};
    int status, fd = open("short", O_WRONLY | O_CREAT | O_TRUNC, 0755);
    pwrite(fd, &eh, sizeof eh, 0);
    pwrite(fd, &ph, sizeof ph, sizeof eh);
    pwrite(fd, code, sizeof code, ENTRY);
    ftruncate(fd, size);
    close(fd);
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        execl("./short", "short", (char *)0);
        _exit(99);
    }
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        printf("%s: signal %d\n", what, WTERMSIG(status));
    else
        printf("%s: status %d\n", what, WEXITSTATUS(status));
    unlink("short");
}

int main(void) {
    show("whole", ENTRY, PAGE, PAGE, PAGE);
    show("beyond, not touched", ENTRY, 3 * PAGE, 3 * PAGE, PAGE);
    show("beyond, executed", 2 * PAGE, 3 * PAGE, 3 * PAGE, PAGE);
    show("within the page that is there", ENTRY, PAGE - 8, PAGE, ENTRY + sizeof code);
    show("zeroed, there", ENTRY, PAGE - 8, 5 * PAGE, PAGE);
    show("zeroed, missing", ENTRY, 3 * PAGE - 8, 5 * PAGE, PAGE);
    show("zeroed from a page's end on", ENTRY, 3 * PAGE, 5 * PAGE, PAGE);
    show("without headers", ENTRY, PAGE, PAGE, 80);
    return 0;
}
