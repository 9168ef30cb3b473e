/* SPDX-License-Identifier: BSD-3-Clause */
/* What a child of fork does is judged, too, also if it has another environment, as nginx's have. */
#include "verbs_world.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/test_verbs_judged-XXXXXX";

/* Returns the lines about connections in the file of a process; -1: there is no such file. */
static int connections_of(pid_t process)
{
    char path[100], line[4096];
    int count = 0;
    snprintf(path, sizeof(path), "%s/%ld-0.jsonl", folder, (long)process);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return -1;
    while (fgets(line, sizeof(line), f) != NULL)
        count += strstr(line, "\"connection\"") != NULL;
    fclose(f);
    return count;
}

static void remove_folder(void)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    assert_non_null(d);
    while ((e = readdir(d)) != NULL)
        (void)unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    assert_int_equal(rmdir(folder), 0);
}

static void a_child_without_the_environment(void **state)
{
    (void)state;
    void *first = NULL;
    assert_int_equal(set_up(&first), 0);
    assert_int_equal(tear_down(&first), 0);
    assert_true(connections_of(getpid()) > 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        void *own = NULL;
        clearenv();
        (void)set_up(&own);
        (void)tear_down(&own);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(connections_of(child) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_child_without_the_environment)};
    assert_non_null(mkdtemp(folder));
    setenv("IWARP_RUN_FOLDER", folder, 1);
    setenv("IWARP_VERBS", "judge=on", 1);
    const int result = cmocka_run_group_tests(tests, NULL, NULL);
    remove_folder();
    return result;
}
