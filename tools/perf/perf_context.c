/* SPDX-License-Identifier: BSD-3-Clause */
/* Where and when a run was made: without it nobody can compare figures. */
#include "perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "host/files.h"
#include "host/text.h"
#include "host/text_tools.h"

/* Writes the processor's name as Linux has it, or what kind it is. */
static void read_cpu(char *name, size_t room, const char *kind)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(name, room, "%s", kind);
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        const char *colon = strstr(line, ": ");
        if (strncmp(line, "model name", strlen("model name")) != 0 || colon == NULL)
            continue;
        snprintf(name, room, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (f != NULL)
        fclose(f);
}

/* Writes the arguments of this process's command line, quoted as a shell wants them. */
static void read_command(char *command, size_t room)
{
    char arguments[4096];
    FILE *f = fopen("/proc/self/cmdline", "r");
    size_t length = f != NULL ? fread(arguments, 1, sizeof(arguments) - 1, f) : 0, used = 0;
    arguments[length] = '\0';
    if (f != NULL)
        fclose(f);
    command[0] = '\0';
    for (size_t at = 0; at < length && used < room; at += strlen(arguments + at) + 1) {
        char *argument = iw_text_shell(arguments + at);
        used += (size_t)snprintf(command + used, room - used, "%s%s", at > 0 ? " " : "", argument);
        free(argument);
    }
}

void perf_context_read(struct perf_context *c)
{
    struct utsname name;
    memset(c, 0, sizeof(*c));
    if (uname(&name) == 0) {
        snprintf(c->host, sizeof(c->host), "%s", name.nodename);
        snprintf(c->kernel, sizeof(c->kernel), "%s %s, %s", name.sysname, name.release,
                 name.machine);
        read_cpu(c->cpu, sizeof(c->cpu), name.machine);
    }
    c->cpus = iw_cpus();
    iw_text_time(c->began, sizeof(c->began), "%Y-%m-%dT%H:%M:%SZ", time(NULL));
    read_command(c->command, sizeof(c->command));
}
