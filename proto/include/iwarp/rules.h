/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules, checks, faults and switches.
 *
 * A rule is a row of the catalogue (requirements.csv): one requirement of an RFC. A check is a
 * place in the code that can fail; it serves one primary rule, which a receiver enforces, one that
 * the sender breaks, often the same, and any number of others. A failed check yields a fault.
 * Switches bend single checks. Everything here is constant data and pure functions, safe from any
 * thread, except that a struct iw_switches belongs to whoever fills it.
 */
#ifndef IWARP_RULES_H
#define IWARP_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iwarp/checks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Key words of RFC 2119, weakest first. */
enum iw_level {
    IW_LEVEL_MAY,
    IW_LEVEL_SHOULD,
    IW_LEVEL_SHOULD_NOT,
    IW_LEVEL_MUST,
    IW_LEVEL_MUST_NOT
};

/* Whom a rule binds. */
enum iw_subject {
    IW_SUBJECT_SENDER,
    IW_SUBJECT_RECEIVER,
    IW_SUBJECT_BOTH,
    IW_SUBJECT_INITIATOR,
    IW_SUBJECT_RESPONDER,
    IW_SUBJECT_ULP /* the user of the stack: no fault of the stack breaks it */
};

/* The start-up role that a peer must have to show the rule. */
enum iw_rule_side {
    IW_RULE_SIDE_EITHER,
    IW_RULE_SIDE_INITIATOR,
    IW_RULE_SIDE_RESPONDER,
    IW_RULE_SIDE_N_A
};

/* How a rule can be tested: not at all, at the local interface, by watching, by provoking. */
enum iw_testable {
    IW_TESTABLE_NO,
    IW_TESTABLE_API,
    IW_TESTABLE_WIRE_PASSIVE,
    IW_TESTABLE_WIRE_ACTIVE
};

struct iw_rule {
    const char *id;      /* "MPA-4.3-03" */
    uint16_t rfc;        /* 5044 */
    const char *section; /* "4.3" */
    enum iw_level level;
    enum iw_subject subject;
    enum iw_rule_side side;
    enum iw_testable testable;
    bool implied;                /* follows from a table, a figure or prose without a key word */
    const char *text;            /* the requirement in plain words, without the mark "[implied]" */
    const char *how;             /* how to test it */
    const char *expected;        /* what a conforming peer shows */
    const enum iw_check *checks; /* the checks that serve this rule, in table order; NULL if none */
    size_t n_checks;
};

/* The uses of a check: bits of iw_check_info.kinds. Without any, nothing can be switched: the check
 * names a fault of this end's own, or one that no peer can bring about through a socket. */
enum {
    IW_KIND_ENDPOINT = 1, /* the endpoint enforces it on receipt: can be ignored and botched */
    IW_KIND_OBSERVER = 2, /* the observer can find it */
    IW_KIND_LEGAL = 4,    /* legal to receive: refused only when overstrict */
    IW_KIND_VIOLATE = 8   /* this side can break it on purpose */
};

/* What the endpoint does when a check fails. */
enum iw_reaction {
    IW_REACTION_NONE,     /* nothing: the receiving endpoint does not make this check */
    IW_REACTION_LOCAL,    /* reported to the local user only */
    IW_REACTION_CLOSE,    /* TCP closed without a Terminate */
    IW_REACTION_TERMINATE /* Terminate with layer, etype and code */
};

struct iw_check_info {
    const char *name;    /* "mpa-crc" */
    unsigned char kinds; /* IW_KIND_* */
    enum iw_reaction reaction;
    uint8_t layer, etype, code; /* of the Terminate (RFC 5040 §4.8); 0 for other reactions */
    uint16_t rule;              /* index of the primary rule: what a receiver enforces */
    uint16_t sender;            /* index of the rule that the sender breaks */
    const uint16_t *others;     /* indexes of the other rules; NULL if none */
    size_t n_others;
    const char *text; /* what is wrong when the check fails */
};

/* A failed check. */
struct iw_fault {
    enum iw_check check; /* IW_CHECK_NONE: no fault */
    uint64_t pos;        /* of the octet at fault, counted from the first of its direction */
    uint64_t got, want;  /* the value found and the one expected, 0 where the check has none */
};

/* Returns whether a fault has a value found and one expected: without them the two are equal. */
static inline bool iw_fault_has_values(const struct iw_fault *fault)
{
    return fault->got != fault->want;
}

/* Returns the rule at index 0 .. IW_RULE_COUNT - 1 in the order of the catalogue, or NULL outside
 * of that. Static data. */
const struct iw_rule *iw_rule_at(size_t index);

/* Returns the rule with this id ("MPA-4.3-03", exact), or NULL if there is none. */
const struct iw_rule *iw_rule_find(const char *id);

/* Returns the index of a rule that one of these functions returned. */
size_t iw_rule_index(const struct iw_rule *rule);

/*
 * Returns the first rule of one RFC section, and their number in *count; they stand together in the
 * table. The section must match exactly ("4" does not include "4.1"). Returns NULL, with *count 0,
 * if there are none.
 */
const struct iw_rule *iw_rules_of_section(unsigned rfc, const char *section, size_t *count);

/* Returns "MAY", "SHOULD", "SHOULD NOT", "MUST" or "MUST NOT". */
const char *iw_level_name(enum iw_level level);

/* Returns the description of a check; for IW_CHECK_NONE and values that are no check, an entry
 * named "none". */
const struct iw_check_info *iw_check_info(enum iw_check check);

/* Returns the check with this name ("mpa-crc", exact), or IW_CHECK_NONE if there is none. */
enum iw_check iw_check_find(const char *name);

/* Returns the primary rule of a check, or NULL for IW_CHECK_NONE: what a receiver that makes this
 * check enforces. */
const struct iw_rule *iw_check_rule(enum iw_check check);

/*
 * Names the rule of which to accuse a side when a bystander sees the check fail: the one that the
 * side breaks which sent the octets, closed, answered or went on. Returns the primary rule if the
 * check is not one that a sender can fail (neither IW_KIND_OBSERVER nor IW_KIND_VIOLATE), NULL for
 * IW_CHECK_NONE.
 */
const struct iw_rule *iw_check_sender_rule(enum iw_check check);

/* Returns whether a rule is the primary one of a check or another one; false for NULL. */
bool iw_check_serves(enum iw_check check, const struct iw_rule *rule);

/* The four kinds of switches. */
enum iw_switch {
    IW_SWITCH_IGNORE,     /* the check is skipped */
    IW_SWITCH_OVERSTRICT, /* a legal thing is refused */
    IW_SWITCH_VIOLATE,    /* the sender breaks the rule */
    IW_SWITCH_BOTCH       /* the right detection, a wrong reaction */
};

/* Wrong reactions. */
enum iw_botch {
    IW_BOTCH_NONE,
    IW_BOTCH_LAYER,  /* "layer": another layer in the Terminate */
    IW_BOTCH_TYPE,   /* "type": another error type */
    IW_BOTCH_CODE,   /* "code": another error code */
    IW_BOTCH_PLACE,  /* "place": the payload is placed before the check */
    IW_BOTCH_CLOSE,  /* "close": TCP is closed without a Terminate */
    IW_BOTCH_SILENT, /* "silent": the segment is dropped without any answer */
    IW_BOTCH_AGAIN,  /* "again": a second Terminate follows the first */
    IW_BOTCH_COUNT
};

/* Initialise with zeros (= {0}): no switch set. */
struct iw_switches {
    bool any;                      /* some switch is set */
    uint8_t set[IW_CHECK_COUNT];   /* bit 0 ignore, bit 1 overstrict, bit 2 violate */
    uint8_t botch[IW_CHECK_COUNT]; /* enum iw_botch */
};

/*
 * Sets switches. `spec` is a check name or a rule id; a rule means all its checks that allow this
 * kind. For IW_SWITCH_BOTCH it is NAME=REACTION. Returns the number of checks switched (above 0),
 * or -1 with a static text in *error (not NULL); then nothing has changed.
 */
int iw_switches_set(struct iw_switches *switches, enum iw_switch kind, const char *spec,
                    const char **error);

/*
 * Returns whether a switch of this kind makes sense for a check; for IW_SWITCH_BOTCH also with this
 * wrong reaction (otherwise botch is IW_BOTCH_NONE). A check that only closes TCP can be botched to
 * silence alone; one whose reaction is local cannot be botched; one made before any octet could
 * take effect has nothing to place.
 */
bool iw_switch_applies(enum iw_switch kind, enum iw_check check, enum iw_botch botch);

/* Returns the name of a wrong reaction as in specs; "none" for IW_BOTCH_NONE and values that are
 * none. */
const char *iw_botch_name(enum iw_botch botch);

/* Returns the wrong reaction of this name, or IW_BOTCH_NONE if there is none. */
enum iw_botch iw_botch_find(const char *name);

#ifdef IW_PROVE
/* Let a mutant change the answer to a query, in builds that prove the tests (tools/dev prove).
 * Return the answer instead of the right one, which the caller passes where there may be one. */
bool iw_prove_any(void);
bool iw_prove_set(enum iw_switch kind, enum iw_check check, bool set);
enum iw_botch iw_prove_botch(enum iw_check check, enum iw_botch botch);
bool iw_prove_blind(enum iw_check check);
/* Leaves every answer as it is until it is called with false. */
void iw_prove_pause(bool pause);
#endif

/* Queries for the fast path; `switches` may be NULL. */

/* Returns whether any switch is set. */
static inline bool iw_switch_any(const struct iw_switches *switches)
{
#ifdef IW_PROVE
    if (iw_prove_any())
        return true;
#endif
    return switches != NULL && switches->any;
}

/* Returns whether a switch of this kind is set for the check. */
static inline bool iw_switch_is_set(const struct iw_switches *switches, enum iw_switch kind,
                                    enum iw_check check)
{
    bool set = switches != NULL && switches->any && (switches->set[check] & 1u << kind);
#ifdef IW_PROVE
    set = iw_prove_set(kind, check, set);
#endif
    return set;
}

/* Returns whether the check is to be skipped. */
static inline bool iw_switch_ignored(const struct iw_switches *switches, enum iw_check check)
{
    return iw_switch_is_set(switches, IW_SWITCH_IGNORE, check);
}

/* Returns whether the legal thing that the check is about is to be refused. */
static inline bool iw_switch_overstrict(const struct iw_switches *switches, enum iw_check check)
{
    return iw_switch_is_set(switches, IW_SWITCH_OVERSTRICT, check);
}

/* Returns whether the sender is to break the rule of the check. */
static inline bool iw_switch_violated(const struct iw_switches *switches, enum iw_check check)
{
    return iw_switch_is_set(switches, IW_SWITCH_VIOLATE, check);
}

/* Returns the wrong reaction to a failure of the check, IW_BOTCH_NONE for the right one. */
static inline enum iw_botch iw_switch_botched(const struct iw_switches *switches,
                                              enum iw_check check)
{
    enum iw_botch botch =
        switches != NULL && switches->any ? (enum iw_botch)switches->botch[check] : IW_BOTCH_NONE;
#ifdef IW_PROVE
    botch = iw_prove_botch(check, botch);
#endif
    return botch;
}

#ifdef __cplusplus
}
#endif

#endif
