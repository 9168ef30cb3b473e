/* SPDX-License-Identifier: BSD-3-Clause */
#include "program.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/proc_tables.h"

enum { TEXT = 512, PATH = 64 };

/* ---- processes ---- */

struct process {
    pid_t pid, group;
    char state;
    char name[32];
};

/* "12 (name) S 1 12 ..." */
static bool read_process(const char *number, struct process *p)
{
    char path[PATH], text[TEXT] = "";
    snprintf(path, sizeof(path), "/proc/%.20s/stat", number);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    size_t got = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[got] = '\0';
    const char *name = strchr(text, '('), *end = strrchr(text, ')');
    int parent, group;
    if (name == NULL || end == NULL ||
        sscanf(end + 1, " %c %d %d", &p->state, &parent, &group) != 3)
        return false;
    p->pid = (pid_t)strtol(number, NULL, 10);
    p->group = group;
    snprintf(p->name, sizeof(p->name), "%.*s", (int)(end - name - 1), name + 1);
    return true;
}

static bool has_ended(const struct process *p)
{
    return p->state == 'Z' || p->state == 'X';
}

/* Whether it may be worth a file that is read: there can be thousands of processes. */
static bool is_in(const char *number, pid_t group)
{
    return getpgid((pid_t)strtol(number, NULL, 10)) == group;
}

/* Calls `take` for each process of the group that runs, until it returns true. */
static void each(pid_t group, bool (*take)(void *context, const struct process *p), void *context)
{
    DIR *all = opendir("/proc");
    const struct dirent *entry;
    struct process p;
    bool taken = false;
    while (all != NULL && !taken && (entry = readdir(all)) != NULL)
        if (isdigit((unsigned char)*entry->d_name) && is_in(entry->d_name, group) &&
            read_process(entry->d_name, &p) && p.group == group && !has_ended(&p))
            taken = take(context, &p);
    if (all != NULL)
        closedir(all);
}

/* ---- listeners ---- */

/* Returns the inode of the socket that listens at the port; 0 if there is none. */
static unsigned long listener_of(pid_t pid, uint16_t port)
{
    unsigned long inode;
    (void)iw_proc_listens(pid, port, &inode);
    return inode;
}

/* Whether the process holds the socket. */
static bool holds(pid_t pid, unsigned long inode)
{
    char path[PATH], wanted[PATH];
    snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    DIR *all = opendir(path);
    const struct dirent *entry;
    bool found = false;
    while (all != NULL && !found && (entry = readdir(all)) != NULL) {
        char name[PATH * 2], to[PATH] = "";
        snprintf(name, sizeof(name), "%s/%.20s", path, entry->d_name);
        found = readlink(name, to, sizeof(to) - 1) > 0 && strcmp(to, wanted) == 0;
    }
    if (all != NULL)
        closedir(all);
    return found;
}

bool iw_program_listens(pid_t pid, uint16_t port)
{
    return listener_of(pid, port) != 0;
}

/* ---- the program of a command ---- */

enum { HAS_PORT = 3 };

struct search {
    pid_t group;
    uint16_t port;
    struct process best;
    int rank; /* of the best: 0 none, 1 the head, 2 another one, HAS_PORT */
};

static bool rate(void *context, const struct process *p)
{
    struct search *s = context;
    unsigned long inode = s->port != 0 ? listener_of(p->pid, s->port) : 0;
    int rank = inode != 0 && holds(p->pid, inode) ? HAS_PORT : p->pid != s->group ? 2 : 1;
    if (rank > s->rank) {
        s->best = *p;
        s->rank = rank;
    }
    return rank == HAS_PORT;
}

/* The kernel cuts a name off: the file's has all of it. */
static void complete(const struct process *p, char *name, size_t room)
{
    enum { CUT = 15, MOST = 4096 };
    char path[PATH], file[MOST] = "";
    snprintf(name, room, "%s", p->name);
    snprintf(path, sizeof(path), "/proc/%ld/exe", (long)p->pid);
    if (strlen(p->name) < CUT || readlink(path, file, sizeof(file) - 1) < 0)
        return;
    const char *slash = strrchr(file, '/');
    if (slash != NULL && strncmp(slash + 1, p->name, CUT) == 0)
        snprintf(name, room, "%.*s", (int)room - 1, slash + 1);
}

pid_t iw_program_find(pid_t group, uint16_t port, char *name, size_t room)
{
    struct search s = {.group = group, .port = port};
    each(group, rate, &s);
    /* Where nothing listens yet, any other one may be there for a moment only. */
    if (s.rank == 0 || (port != 0 && s.rank != HAS_PORT))
        return 0;
    complete(&s.best, name, room);
    return s.best.pid;
}

static bool note(void *context, const struct process *p)
{
    (void)p;
    *(bool *)context = true;
    return true;
}

bool iw_program_runs(pid_t group)
{
    bool found = false;
    each(group, note, &found);
    return found;
}

bool iw_program_lives(pid_t pid)
{
    char number[24];
    struct process p;
    snprintf(number, sizeof(number), "%ld", (long)pid);
    return read_process(number, &p) && !has_ended(&p);
}
