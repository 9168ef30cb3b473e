/* SPDX-License-Identifier: BSD-3-Clause */
#include "conform_call.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/text.h"

enum { WORDS = 40 };

struct folder conform_folder;
static struct said last;

static void forget(void)
{
    free(last.out);
    free(last.err);
    last = (struct said){0};
}

int conform_setup(void **state)
{
    (void)state;
    return folder_make(&conform_folder);
}

int conform_teardown(void **state)
{
    (void)state;
    forget();
    folder_remove(&conform_folder);
    return 0;
}

void conform_case(const char *name, const char *more, const char *body)
{
    char *file = iw_text_format("cases/%s.lua", name);
    char *text = iw_text_format("return case { id = \"%s\", purpose = \"about %s\",\n"
                                "  rules = { \"MPA-4.1-02\" }, role = \"responder\",%s\n"
                                "  run = function(t)\n    %s\n  end }\n",
                                name, name, more, body);

    free(folder_file(&conform_folder, file, text));
    free(text);
    free(file);
}

static int to_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

/* In the child. */
static void become(const char *words, int out, int err)
{
    char *copy = iw_text_copy(words), *argv[WORDS + 2] = {(char[]){"iwarp-conform"}};
    size_t n = 1;

    for (char *word = strtok(copy, " "); word != NULL && n <= WORDS; word = strtok(NULL, " "))
        argv[n++] = word;
    if (chdir(conform_folder.path) || dup2(open("/dev/null", O_RDONLY), 0) < 0 ||
        dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(126);
    char *path = iw_text_format("%s/bin:%s", IW_BINARY_DIR, getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("IWARP_AGENT", IW_BINARY_DIR "/bin/iwarp-agent", 1);
    unsetenv("IWARP_CONFORM_INSIDE");
    execv("/proc/self/exe", argv);
    _exit(126);
}

/* Returns the exit status, -1 if there is none. */
static int carry_out(const char *words, int out, int err)
{
    int status = -1;
    pid_t pid = fork();

    if (!pid)
        become(words, out, err);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void conform_call(struct said *s, const char *words)
{
    char *out = iw_text_format("%s/said.out", conform_folder.path);
    char *err = iw_text_format("%s/said.err", conform_folder.path);
    int to_err = to_file(err), status = carry_out(words, to_file(out), to_err);

    close(to_err);
    forget();
    last = (struct said){.status = status, .out = folder_read(out), .err = folder_read(err)};
    *s = last;
    free(out);
    free(err);
}

void conform_call_at_terminal(struct said *s, const char *words)
{
    char *out = iw_text_format("%s/said.out", conform_folder.path), shown[4096];
    int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    assert_int_equal(grantpt(ours) || unlockpt(ours), 0);
    int terminal = open(ptsname(ours), O_RDWR | O_NOCTTY | O_CLOEXEC);
    int status = carry_out(words, to_file(out), terminal);
    /* What it has shown waits there, with an end of ours. */
    assert_int_equal(write(terminal, "\n", 1), 1);
    ssize_t n = 0;
    while (memchr(shown, '\n', (size_t)n) == NULL) {
        assert_true((size_t)n < sizeof(shown) - 1);
        n += read(ours, shown + n, sizeof(shown) - (size_t)n - 1);
    }
    shown[n] = 0;
    close(terminal);
    close(ours);
    forget();
    last = (struct said){.status = status, .out = folder_read(out), .err = iw_text_copy(shown)};
    *s = last;
    free(out);
}

void conform_untimed(char *text)
{
    char *from = strstr(text, " ERROR; "), *to = from != NULL ? strstr(from, ", target ") : NULL;

    if (to != NULL)
        memmove(from + 6, to, strlen(to) + 1);
}

const char *conform_file(const char *name)
{
    static char *content;
    char *path = iw_text_format("%s/%s", conform_folder.path, name);

    free(content);
    content = folder_read(path);
    free(path);
    return content != NULL ? content : "no such file";
}

void conform_says(const char *words, int status, const char *out, const char *err)
{
    struct said s;

    conform_call(&s, words);
    conform_untimed(s.out);
    if (s.status != status)
        fail_msg("%s: status %d instead of %d\n%s%s", words, s.status, status, s.out, s.err);
    if (out != NULL)
        assert_string_equal(s.out, out);
    if (err != NULL)
        assert_string_equal(s.err, err);
}
