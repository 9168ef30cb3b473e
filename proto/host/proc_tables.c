/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/proc_tables.h"

#include <stdio.h>
#include <unistd.h>

enum { LINE = 512, PATH = 64, LISTENS = 0x0a /* TCP_LISTEN in /proc/net/tcp */ };

/* Returns NULL if there is no such process or table. */
static FILE *open_table(pid_t pid, const char *name)
{
    char path[PATH];
    if (pid == 0)
        snprintf(path, sizeof(path), "/proc/self/%s", name);
    else
        snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
    return fopen(path, "re");
}

struct iw_proc_memory iw_proc_memory(pid_t pid)
{
    unsigned long long resident = 0, shared = 0; /* pages */
    FILE *f = open_table(pid, "statm");
    const bool known = f != NULL && fscanf(f, "%*u %llu %llu", &resident, &shared) == 2;
    if (f != NULL)
        fclose(f);
    if (!known)
        return (struct iw_proc_memory){0, 0};
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (struct iw_proc_memory){resident * page, shared * page};
}

/* Goes on to the next row while the inode is 0. */
static bool listens_in(FILE *table, uint16_t port, unsigned long *inode)
{
    char line[LINE];
    bool found = false;
    while (*inode == 0 && fgets(line, sizeof(line), table) != NULL) {
        unsigned own, state;
        unsigned long number = 0;
        if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*s %*s %lu",
                   &own, &state, &number) < 2 ||
            own != port || state != LISTENS)
            continue;
        found = true;
        *inode = number;
    }
    return found;
}

bool iw_proc_listens(pid_t pid, uint16_t port, unsigned long *inode)
{
    static const char *const tables[] = {"net/tcp", "net/tcp6"};
    unsigned long number = 0;
    bool found = false;
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && number == 0; i++) {
        FILE *table = open_table(pid, tables[i]);
        if (table == NULL)
            continue;
        found = listens_in(table, port, &number) || found;
        fclose(table);
    }
    if (inode != NULL)
        *inode = number;
    return found;
}
