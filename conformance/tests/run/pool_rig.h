/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_POOL_RIG_H
#define IW_TESTS_POOL_RIG_H

/* A pool whose play function is the test's own: the id of a case is an order to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "folder.h"
#include "run/pool.h"

enum { POOL_JOBS = 32 };

/* A list of jobs and what came of them. */
extern struct pool_rig {
    struct iw_case cases[POOL_JOBS];
    char names[POOL_JOBS][16];
    const char *options_of[POOL_JOBS];
    size_t n_jobs, next_job, n_done, n_trouble;
    struct iw_result results[POOL_JOBS];
    char troubles[512];
    char charges[512]; /* ids and reasons, in order */
    bool charging;
    struct iw_run_options run_options;
    struct folder folder;
    struct iw_pool pool;
    char error[512];
} rig;

#define POOL_TEST(test) cmocka_unit_test_setup_teardown(test, pool_set_up, pool_tear_down)
/* A command that is ready, and waits. */
#define WAITS "echo ready; exec tail -f /dev/null"

int pool_set_up(void **state);
int pool_tear_down(void **state);
/* Adds a case with this id. */
void pool_add(const char *id);
/* What the pool calls. */
bool pool_next(void *context, unsigned worker, struct iw_job *job);
void pool_done(void *context, unsigned worker, const struct iw_job *job, struct iw_result *result);
void pool_trouble(void *context, const char *line);
int pool_play(const struct iw_case *c, struct iw_target *target,
              const struct iw_run_options *options, struct iw_result *out);

/* Runs the pool against a target. */
void pool_run_against(const char *spec, unsigned workers);
/* The same against a started peer that needs no network: it is ready when it prints so. */
void pool_run_against_command(const char *command, unsigned workers);
void pool_assert_result(size_t i, enum iw_verdict verdict, const char *reason);

#endif
