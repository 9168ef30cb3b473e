/* SPDX-License-Identifier: BSD-3-Clause */
/* From the command line to the hunt, and to its exit status. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/places.h"
#include "host/address.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "hunt.h"
#include "target/other_kernel.h"

enum { ELSEWHERE = 8 /* connections at a time */ };

/* Returns true if the peer is the initiator: it has no listener. */
static bool connects(const struct iw_target_spec *s)
{
    return s->connect != NULL && s->host == NULL && !s->embedded && s->class != IW_TARGET_AGENT;
}

/* Returns true if the peer can be started more than once at a time, each with its own process and
 * port. */
static bool is_ours(const struct iw_target_spec *s)
{
    if (s->inside != NULL || s->class == IW_TARGET_AGENT)
        return s->embedded;
    return s->embedded || (connects(s) ? s->start == NULL && s->ask == NULL
                                       : s->start != NULL && s->host != NULL && !s->port);
}

/* Returns 0 if the target is one that can be fuzzed, or complains and returns an exit status. */
static int judge_target(struct iw_hunt *h, const char *agent)
{
    if (h->spec->embedded && access(agent, X_OK))
        return iw_complain_exit(IW_EXIT_TESTER, "cannot start the embedded target %s: %s", agent,
                                strerror(errno));
    if (h->spec->ask != NULL && h->spec->host == NULL)
        return iw_complain_exit(
            IW_EXIT_USAGE,
            "--target %s: somebody has to make it connect: expected a command that does",
            h->o->target);
    if (h->o->targets > 1 && !is_ours(h->spec))
        return iw_complain_exit(
            IW_EXIT_USAGE,
            "--targets: expected a target that is started from here, at a port that is free");
    if (h->o->coverage && h->spec->inside != NULL && h->spec->coverage == NULL)
        return iw_complain_exit(
            IW_EXIT_USAGE,
            "--coverage: expected a target file that says where it is told (coverage)");
    if (connects(h->spec))
        h->seeds.side = IW_SIDE_RESPONDER;
    return 0;
}

static int read_target(struct iw_hunt *h)
{
    char *agent = iw_agent(h->o->agent), *library = iw_library();
    char *targets = iw_text_format("%s/../targets", library);
    char error[1024];
    h->spec = iw_target_parse(h->o->target, agent, targets, error, sizeof(error));
    int status =
        h->spec != NULL ? judge_target(h, agent) : iw_complain_exit(IW_EXIT_USAGE, "%s", error);
    free(agent);
    free(library);
    free(targets);
    return status;
}

static bool on_loopback(const char *host)
{
    char text[64];
    struct addrinfo *list = iw_address_resolve(host, 0, false, text, sizeof(text));
    if (list == NULL)
        return false; /* will be said when it is reached */
    iw_address_numeric(list->ai_addr, list->ai_addrlen, text, sizeof(text));
    freeaddrinfo(list);
    return strncmp(text, "127.", 4) == 0 || strncmp(text, "[::1]", 5) == 0;
}

/* Returns true if the peer is on this host. An agent is on its peer's. */
static bool on_this_host(const struct iw_target_spec *s)
{
    if (connects(s))
        return s->inside != NULL || s->station_host == NULL || on_loopback(s->station_host);
    return (s->host != NULL || s->agent_host != NULL) &&
           (s->host == NULL || on_loopback(s->host)) &&
           (s->agent_host == NULL || on_loopback(s->agent_host));
}

/* Requires consent, as another host may be lost for good. */
static int ask_consent(const struct iw_hunt *h)
{
    const struct iw_target_spec *s = h->spec;

    if (s->embedded || s->start != NULL || h->o->hazards || on_this_host(s))
        return 0;
    return iw_complain_exit(IW_EXIT_USAGE,
                            "--target %s: a peer on another host that is not started from here "
                            "may be wedged for good; expected --allow-hazard",
                            h->o->target);
}

static char *make_folder(const struct iw_hunt *h)
{
    static const char parent[] = "iwarp-fuzz-results";
    const char *wanted = h->o->results != NULL ? h->o->results : parent;
    char *path = NULL;

    if (!iw_folder_create(wanted))
        path = h->o->results != NULL ? iw_text_copy(wanted) : iw_folder_new(parent, h->spec->name);
    if (path == NULL)
        iw_complain("cannot make the folder %s: %s", wanted, strerror(errno));
    return path;
}

static int read_seeds(struct iw_hunt *h)
{
    char error[1024];
    for (size_t i = 0; i < h->o->n_seeds; i++)
        if (iw_hunt_seeds_record(&h->seeds, h->o->seeds[i], error, sizeof(error)) < 0)
            return iw_complain_exit(IW_EXIT_USAGE, "--seeds %s", error);
    iw_hunt_seeds_generate(&h->seeds, h->spec->class);
    return 0;
}

static int prepare(struct iw_hunt *h)
{
    int status = read_target(h);
    bool bad;
    free(iw_hunt_known(h, "", &bad));
    if (!status)
        status = bad ? IW_EXIT_USAGE : ask_consent(h);
    return status || h->o->try != NULL ? status : read_seeds(h);
}

static void dispose(struct iw_hunt *h)
{
    iw_hunt_loop_free(h->loop);
    free(h->graph);
    free(h->mutator);
    for (size_t i = 0; i < h->n_corpus; i++)
        iw_hunt_input_free(h->corpus[i].input);
    free(h->corpus);
    iw_hunt_recent_clear(&h->recent);
    while (h->findings != NULL) {
        struct iw_hunt_finding *f = h->findings;

        h->findings = f->next;
        iw_hunt_finding_free(f);
    }
    iw_hunt_coverage_close(h->coverage);
    iw_hunt_board_free(h->board);
    iw_hunt_seeds_free(&h->seeds);
    iw_mishaps_free(&h->hangs);
    iw_target_free(h->spec);
}

/* Returns the number of connections at a time. A peer on this machine has no network to wait for.
 * `rping -s -P` handles one Request at a time: of two that come together it takes the second twice,
 * and ends at the first error of that. */
static unsigned jobs(const struct iw_hunt *h)
{
    if (connects(h->spec))
        return 1;
    if (h->o->jobs)
        return h->o->jobs;
    if (h->spec->class == IW_TARGET_RPING)
        return 1;
    bool near = (h->spec->embedded || on_this_host(h->spec)) && h->spec->inside == NULL;
    return near ? IW_HUNT_SLOTS : ELSEWHERE;
}

/* Checks now, not after an hour, that the file can be written. */
static bool writable(const char *path)
{
    struct stat at;
    bool there = path != NULL && !stat(path, &at);
    if (path == NULL || (there && !S_ISREG(at.st_mode) && !S_ISDIR(at.st_mode)))
        return true;
    FILE *f = fopen(path, "ae");
    if (f == NULL) {
        iw_complain("cannot write %s: %s", path, strerror(errno));
        return false;
    }
    fclose(f);
    if (!there)
        unlink(path);
    return true;
}

static int run(struct iw_hunt *h)
{
    if (h->o->try != NULL)
        return iw_hunt_try_file(h);
    if (h->o->coverage && !h->outside) {
        h->coverage = iw_hunt_coverage_open(h->spec->coverage, h->dir);
        if (h->coverage == NULL)
            return IW_EXIT_TESTER;
    }
    if (!h->o->resume)
        iw_hunt_forget_findings(h);
    if (h->outside)
        return iw_hunt_watch(h);
    if (!h->o->resume && is_ours(h->spec)) {
        h->board = iw_hunt_board_new();
        if (h->board == NULL)
            return iw_complain_exit(IW_EXIT_TESTER, "no memory to share: %s", strerror(errno));
    }
    if (h->o->targets > 1)
        return iw_hunt_crew(h);
    return h->o->resume && !iw_hunt_resume(h) ? IW_EXIT_TESTER : iw_hunt_go(h);
}

static int hunt(struct iw_hunt *h)
{
    /* A hunt inside reports its end by writing its report, and a try writes none. */
    bool good =
        h->o->resume || h->o->try != NULL || (writable(h->o->json) && writable(h->o->graph));
    char *dir = good ? make_folder(h) : NULL;

    if (dir == NULL)
        return IW_EXIT_OUTPUT;
    h->dir = dir;
    char *log = iw_text_format("%s/target.log", dir);
    h->world = (struct iw_hunt_world){.spec = h->spec,
                                      .log = log,
                                      .scale = h->o->time_scale,
                                      .slots = jobs(h),
                                      .side = h->seeds.side,
                                      .listener = -1};
    h->outside = iw_target_elsewhere(h->spec, IW_HUNT_KERNEL_VARIABLE);
    int status = run(h);
    bool ran = status <= IW_EXIT_FAILURE;
    if (h->o->try == NULL && (ran || h->over || h->findings != NULL)) {
        if (ran)
            status = iw_hunt_counted(h, false) ? IW_EXIT_FAILURE : IW_EXIT_GOOD;
        if (ran && *h->stop == SIGINT && !h->o->resume)
            status = IW_EXIT_INTERRUPTED;
        if (!iw_hunt_report(h))
            status = IW_EXIT_OUTPUT;
    }
    free(log);
    free(dir);
    h->dir = NULL;
    return status;
}

/* Has peers with AddressSanitizer report where they are when they abort, or are made to. What is
 * said already counts. */
static void ask_for_reports(void)
{
    const char *before = getenv("ASAN_OPTIONS");
    char *options = iw_text_format("handle_abort=1:%s", before != NULL ? before : "");

    setenv("ASAN_OPTIONS", options, true);
    free(options);
}

int iw_hunt_main(int argc, char **argv)
{
    struct iw_hunt_options o;
    struct iw_hunt h = {.o = &o, .lasting = -1};
    int status = iw_hunt_parse(&o, argc, argv);
    if (status < 0) {
        h.stop = iw_shell_signals();
        signal(SIGPIPE, SIG_IGN);
        ask_for_reports();
        status = prepare(&h);
        if (!status)
            status = hunt(&h);
        dispose(&h);
    }
    for (size_t i = 0; i < o.n_seeds; i++)
        free(o.seeds[i]);
    free(o.seeds);
    return status;
}
