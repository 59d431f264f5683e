/* See platform.h. The stand-ins are compiled, and tested, on Linux too: with
 * -DHOTCB_PORTABLE=ON. */
#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifndef HOTCB_PORTABLE

#include <sys/file.h>
#include <sys/random.h>

const char *hcb_find_bytes(const char *text, size_t n, const char *word, size_t word_n)
{
    return memmem(text, n, word, word_n);
}

const char *hcb_find_last(const char *text, char c, size_t n)
{
    return memrchr(text, c, n);
}

int hcb_platform_lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB);
}

void hcb_platform_unlock(int fd)
{
    flock(fd, LOCK_UN);
}

bool hcb_platform_noise(void *out, size_t n)
{
    return getrandom(out, n, GRND_NONBLOCK) == (ssize_t)n;
}

char *hcb_platform_program(void)
{
    return realpath("/proc/self/exe", NULL);
}

#else

const char *hcb_find_bytes(const char *text, size_t n, const char *word, size_t word_n)
{
    for (; n >= word_n; text++, n--)
        if (memcmp(text, word, word_n) == 0)
            return text;
    return NULL;
}

const char *hcb_find_last(const char *text, char c, size_t n)
{
    while (n > 0)
        if (text[--n] == c)
            return text + n;
    return NULL;
}

static int set_lock(int fd, short type)
{
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    int rc = fcntl(fd, F_SETLK, &whole);
    if (rc != 0 && (errno == EACCES || errno == EAGAIN))
        errno = EWOULDBLOCK;
    return rc;
}

int hcb_platform_lock(int fd)
{
    return set_lock(fd, F_WRLCK);
}

void hcb_platform_unlock(int fd)
{
    set_lock(fd, F_UNLCK);
}

bool hcb_platform_noise(void *out, size_t n)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool full = read(fd, out, n) == (ssize_t)n;
    close(fd);
    return full;
}

char *hcb_platform_program(void)
{
    return NULL;
}

#endif

int hcb_platform_columns(int fd)
{
#ifdef TIOCGWINSZ
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0)
        return size.ws_col;
#else
    (void)fd;
#endif
    return 0;
}
