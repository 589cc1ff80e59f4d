// Tries what reaches past every namespace, and prints a line for each: its name, and 0 or the error.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void line(const char *name, long result) {
  printf("%s %d\n", name, result < 0 ? errno : 0);
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  if (argc == 3 && !strcmp(argv[1], "share")) {
    // Outside: a segment that anyone may attach.
    return shmget(atoi(argv[2]), 4096, IPC_CREAT | 0666) < 0;
  }
  char zeros[256] = {0};
  line("add_key", syscall(SYS_add_key, "user", "skill-evals", "x", 1L, -4L));
  line("keyctl", syscall(SYS_keyctl, 0L, -4L, 1L));
  line("request_key", syscall(SYS_request_key, "user", "skill-evals", NULL, 0L));
  line("io_uring_setup", syscall(SYS_io_uring_setup, 4L, zeros));
  line("io_uring_enter", syscall(SYS_io_uring_enter, -1L, 0L, 0L, 0L, NULL, 0L));
  line("io_uring_register", syscall(SYS_io_uring_register, -1L, 0L, NULL, 0L));
  line("userfaultfd", syscall(SYS_userfaultfd, 1L));
  line("perf_event_open", syscall(SYS_perf_event_open, zeros, 0L, -1L, -1L, 0L));
  line("bpf", syscall(SYS_bpf, 0L, zeros, 64L));
  line("open_by_handle_at", syscall(SYS_open_by_handle_at, -1L, zeros, 0L));
  line("syslog", syscall(SYS_syslog, 10L, NULL, 0L));
  line("vsock", socket(40, SOCK_STREAM, 0));
  line("bluetooth", socket(31, SOCK_RAW, 1));
  line("alg", socket(38, SOCK_SEQPACKET, 0));
  line("inet", socket(AF_INET, SOCK_STREAM, 0));
  line("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  char typed = 'x';
  line("tiocsti", ioctl(terminal, 0x5412, &typed));
  line("tty", open("/dev/tty", O_RDWR));
#ifdef __x86_64__
  long result;
  // getpid, as i386 and as x32 call it.
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
  errno = -(int)result;
  line("i386", (int)result < 0 ? -1 : 0);
  line("x32", syscall(0x40000000L | 39));
#else
  printf("i386 %d\nx32 %d\n", ENOSYS, ENOSYS);
#endif
  if (argc > 1) line("shm", shmget(atoi(argv[1]), 4096, 0));
  // Nothing that this process did not open.
  for (int fd = 3; fd < 64; fd++)
    if (fd != terminal && fcntl(fd, F_GETFD) >= 0) {
      char target[512] = {0}, path[64];
      snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
      if (readlink(path, target, sizeof target - 1) > 0 && strncmp(target, "socket:", 7)) printf("open %s\n", target);
    }
  return 0;
}
