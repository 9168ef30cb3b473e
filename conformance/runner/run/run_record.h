/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_RUN_RECORD_H
#define IW_RUNNER_RUN_RECORD_H

/* The record of a run as it grows: what is to be played next, what a result amounts to. */

#include <time.h>

#include "base/conform_case.h"
#include "base/device.h"
#include "base/result.h"
#include "base/saved_run.h"
#include "facts.h"
#include "findings.h"

struct iw_baseline;
struct iw_proof;
struct iw_suite;

/* A verdict beside what is known of the peer. */
enum iw_pinned {
    IW_PINNED_NOT,      /* nothing was pinned, and nothing had to be */
    IW_PINNED_EXPECTED, /* as pinned */
    IW_PINNED_NEW,      /* worse than pinned, or not pinned at all */
    IW_PINNED_STALE,    /* better than pinned */
    IW_PINNED_CHANGED   /* the verdict that was pinned, for another reason */
};

enum { IW_PINNED_COUNT = IW_PINNED_CHANGED + 1 };

/* One case, or one file that could not be read. */
struct iw_entry {
    const struct iw_case *c; /* NULL: a file that could not be read */
    const char *file;
    struct iw_result
        result;         /* of its gravest round so far; its id is never NULL once there is one */
    unsigned handed;    /* rounds that were begun */
    unsigned round;     /* the lowest number of one that may not have been begun */
    unsigned *restored; /* numbers of those that the run before this one has played */
    size_t n_restored;
    unsigned rounds[IW_VERDICT_COUNT]; /* rounds that ended, by verdict */
    bool done;
    bool unreached; /* the target was not reached in this case */
    enum iw_pinned pinned;
    const char *known; /* the baseline's reason; NULL: none */
    const char *seen;  /* what it says was seen; NULL: nothing */
};

struct iw_record {
    const char *version; /* of the tool */
    const char *suite;   /* digest of cases and vocabulary */
    const char *target;  /* as the user named it */
    const char *target_class;
    const char *target_version; /* NULL: not known */
    const char *shard;          /* "2/3"; NULL: the run is none */
    const char *order;          /* "random,SEED"; NULL: that of the suite */
    struct iw_device device;    /* owned */
    const char *again;          /* what a command to repeat a case starts with, up to the id */
    bool colour;                /* the console has colours */
    bool remarks;               /* the console prints them under PASS, too */
    const char *dir;            /* of results; NULL: none */
    const char *baseline;       /* its path; NULL: none */
    const char *made_for;       /* the version that it is about if the target is another; NULL */
    const char *html;           /* path of the page, from which it links; NULL: none */
    const struct iw_suite
        *whole; /* all cases, also those that were not selected; NULL: not known */
    const struct iw_proof *proof; /* how they stand to the rules; NULL: not known */
    char **unknown;               /* ids in it that no case has */
    size_t n_unknown;
    unsigned repeat; /* rounds of each case, at least 1 */
    time_t started;
    double seconds;
    struct iw_entry *entries;
    size_t count;
    unsigned round;                    /* of the entry handed out last */
    size_t next;                       /* its index */
    size_t verdicts[IW_VERDICT_COUNT]; /* of the entries that are done */
    size_t pinned[IW_PINNED_COUNT];    /* likewise */
    const struct iw_facts *facts;      /* of the target; NULL: none were looked for */
    struct iw_findings findings;       /* of the whole run, once it is over */
    int status;                        /* exit status */
};

/* Returns the rule that a verdict is about: the one that was broken, else the case's primary one;
 * NULL if there is neither. */
const struct iw_rule *iw_entry_rule(const struct iw_entry *entry);
/* Returns whether what a case shows is no news: it ended as pinned, or the baseline knows of it and
 * it was skipped after it had begun. */
bool iw_entry_as_pinned(const struct iw_entry *entry);
/* Returns whether the entry's rounds ended differently. */
bool iw_entry_unstable(const struct iw_entry *entry);
/* Returns "expected", "new", "stale" or "changed"; NULL for IW_PINNED_NOT. */
const char *iw_pinned_name(enum iw_pinned pinned);

/* Files that could not be read come first and are done, then the selected cases. */
void iw_record_fill(struct iw_record *r, const struct iw_suite *suite,
                    const struct iw_case *const *selected, size_t n_selected);
/* Compares with the lines that the baseline has for this version of the target (NULL: not known),
 * also what is done already. */
void iw_record_choose(struct iw_record *r, struct iw_baseline *b, const char *version);
/* Notes the ids of the baseline that no case of the suite has. */
void iw_record_pin(struct iw_record *r, const struct iw_baseline *b, const struct iw_suite *suite);

/* Returns the entry to be played next: every case once, then every case again; NULL if nothing is
 * left. *number is its round's, from 0, which no other round of it has, nor had in the run before.
 */
struct iw_entry *iw_record_next(struct iw_record *r, unsigned *number);
/* The run before this one has played that round. */
void iw_record_restore(struct iw_entry *entry, unsigned round);
/* Returns the entry of the case with this id; NULL if there is none. */
struct iw_entry *iw_record_entry(const struct iw_record *r, const char *id);

/* Returns how many entries are done. */
size_t iw_record_done(const struct iw_record *r);

/* A round ended: *result becomes the record's. The gravest round of a case counts. */
void iw_record_take(struct iw_record *r, const struct iw_baseline *b, struct iw_entry *entry,
                    struct iw_result *result);

/* What became of the target after a case was done was the case's doing: it has failed, and the
 * deviations of *charge are what it shows. Takes over *charge. Returns whether that is news: false
 * if the case shows it already. */
bool iw_record_charge(struct iw_record *r, const struct iw_baseline *b, struct iw_entry *entry,
                      struct iw_result *charge);

/* Makes the findings once no more rounds are to come. The rule of a case is then that of its
 * gravest finding: the reports accuse no other. */
void iw_record_conclude(struct iw_record *r);

/* Removes the captures of cases that passed and show nothing wrong, once all that is charged to
 * them is known. */
void iw_record_drop_captures(struct iw_record *r);

/* Returns the exit status (host/complain.h). `reached`: the target was, at least once. */
int iw_record_status(const struct iw_record *r, bool reached);
void iw_record_free(struct iw_record *r);

#endif
