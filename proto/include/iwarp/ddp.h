/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_DDP_H
#define IWARP_DDP_H

/*
 * ddp/: domains (memory regions and their STags, shared by connections; the pool of
 * buffers), validation and placement of tagged and untagged segments (RFC 5041 §5, §7).
 */

#include "iwarp/crc32c.h"
#include "iwarp/mpa.h"
#include "iwarp/rules.h"
#include "iwarp/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything that the core needs from its environment. All members but lock and unlock are
 * required. */
struct iw_env {
    void *context;
    /* Returns `size` octets aligned for any type, or NULL. Called at set-up only. */
    void *(*alloc)(void *context, size_t size);
    void (*free)(void *context, void *memory, size_t size);
    /* Writes unpredictable octets, for STag values (RFC 5040 §8.1.1). */
    void (*random)(void *context, void *out, size_t length);
    /* Guard a domain that several threads use; NULL if only one thread uses it. Never nested. */
    void (*lock)(void *context);
    void (*unlock)(void *context);
    iw_crc32c_fn crc32c;
};

#define IW_ACCESS_LOCAL_WRITE 0x1u /* may receive Sends and Read Responses */
#define IW_ACCESS_REMOTE_READ 0x2u
#define IW_ACCESS_REMOTE_WRITE 0x4u
#define IW_ACCESS_REMOTE_INVALIDATE 0x8u /* of one stream, whose peer may invalidate it */
#define IW_ACCESS_REMOTE_ATOMIC 0x10u
#define IW_ACCESS_BIND 0x20u /* windows may be bound to it */

/* A memory region. `guard` octets before and after [base, base+length) belong to the caller, too.
 * They are touched only if a check is switched to ignore: an access that the check would have
 * refused then hits the guards, so that the misbehaviour shows and no other memory is harmed. */
struct iw_region {
    uint8_t *base;
    uint64_t length; /* octets; base+length must not wrap */
    uint64_t to;     /* TO of the first octet; to+length must not wrap */
    uint64_t guard;
    uint32_t pd;
    uint32_t access; /* IW_ACCESS_* */
    uint64_t stream; /* 0: any stream of the protection domain, else that stream only */
    uint32_t stag;   /* filled by iw_domain_register */
    bool valid;      /* false once invalidated: the STag is known but dead */
};

struct iw_domain_limits {
    uint32_t regions; /* live regions and windows, dead STags included */
    uint32_t buffers; /* pool: each connection that is mid-FPDU or sending holds up to two */
};

struct iw_domain;

/* Makes a domain with all of its memory: regions * about 100 octets, buffers * IW_DOMAIN_BUFFER
 * octets (for more than 256, in blocks of 64). Memory is not written before it is needed, so a
 * system that commits memory on first touch commits none for unused parts. `env` is copied. Returns
 * NULL if the allocator refuses. */
#define IW_DOMAIN_BUFFER (IW_DEFRAMER_BUFFER + 16384u)
struct iw_domain *iw_domain_create(const struct iw_env *env, const struct iw_domain_limits *limits);
/* Frees the domain. Every endpoint must be gone. NULL is ignored. */
void iw_domain_destroy(struct iw_domain *d);
/* Returns the domain's copy of its environment, which lives as long as the domain. */
const struct iw_env *iw_domain_env(const struct iw_domain *d);

/* Return a fresh protection domain or stream number (never 0). */
uint32_t iw_domain_pd(struct iw_domain *d);
uint64_t iw_domain_stream(struct iw_domain *d);

/* Registers *region (copied; base memory borrowed until deregistered) and stores its STag, never 0,
 * in region->stag. Returns 0, -1 if the table is full, or -2 if a sum wraps. */
int iw_domain_register(struct iw_domain *d, struct iw_region *region);
/* Does the same under an STag of the caller's choice (not 0), for verbs in which the consumer
 * chooses a part of it. Also returns -4 if another region or window has it. */
int iw_domain_register_as(struct iw_domain *d, struct iw_region *region, uint32_t stag);
/* Binds a memory window: a part of a registered region under an STag of its own, with its own
 * rights and stream.
 * In: to and length, within the parent's; access (remote rights only; writing and atomics need
 * IW_ACCESS_LOCAL_WRITE of the parent, which needs IW_ACCESS_BIND in any case); stream; stag: 0 for
 * a new window, else the window to bind anew, whose STag is forgotten at once. Out: a fresh stag,
 * never the previous one; base, guard and pd are the parent's.
 * A window is invalidated like a region. That leaves the parent as it is, as invalidating the
 * parent leaves its windows. iw_domain_deregister unbinds a window.
 * Returns 0, -1 if the table is full, -2 if the range is not within the parent's, or -3 if the STag
 * or rights of the parent or the window do not permit it. If binding anew fails, the window stays
 * as it was. */
int iw_domain_bind(struct iw_domain *d, uint32_t parent, struct iw_region *window);
/* Does the same under an STag of the caller's choice (0: as iw_domain_bind), which may be the
 * window's own. Also returns -4 if another region or window has it. */
int iw_domain_bind_as(struct iw_domain *d, uint32_t parent, struct iw_region *window,
                      uint32_t stag);
/* Invalidates an STag at once: no octet is placed or read through it after the return (RFC 5040
 * §8.1.1). Returns 0, or -1 if it is not valid. */
int iw_domain_invalidate(struct iw_domain *d, uint32_t stag);
/* Forgets the STag altogether: its memory is the caller's again. Returns 0, -1 if there is none, or
 * -2 if windows are bound to it (then it stays). */
int iw_domain_deregister(struct iw_domain *d, uint32_t stag);
/* Copies what is known of an STag, dead ones included. Returns false if there is none. */
bool iw_domain_lookup(struct iw_domain *d, uint32_t stag, struct iw_region *out);

/* Returns one pool buffer of IW_DOMAIN_BUFFER octets, or NULL if all are lent. */
void *iw_domain_borrow(struct iw_domain *d);
/* Puts a borrowed buffer (not NULL) back into the pool. */
void iw_domain_return(struct iw_domain *d, void *buffer);

/* The stream that accesses a region. */
struct iw_ddp_stream {
    struct iw_domain *domain;
    uint32_t pd;
    uint64_t stream;
    const struct iw_switches *switches;
    uint32_t withheld; /* see iw_endpoint_withhold */
};

enum iw_ddp_use { IW_USE_WRITE, IW_USE_READ_RESPONSE, IW_USE_READ_SOURCE };

/* Validates a tagged segment and places its payload. Checks in the order of RFC 5041 §7.1: STag
 * valid, associated, access, base, bounds; but wrap before base, as its code could not be seen
 * otherwise (OP-47). Checks nothing when `length` is 0. `payload` is
 * the ULPDU's pieces; `skip` octets (the header) are passed over. If a check is switched to ignore,
 * the access is cut to the region and its guards.
 * Returns IW_CHECK_NONE after placing, or the check that failed; then nothing is placed. */
enum iw_check iw_ddp_place_tagged(const struct iw_ddp_stream *s, enum iw_ddp_use use, uint32_t stag,
                                  uint64_t to, const struct iw_iov *payload, size_t pieces,
                                  size_t skip, uint32_t length);

/* Validates a read source in the same way with the RDMAP checks (RFC 5040 §7.2): all of `size`
 * octets; checks nothing when `size` is 0. On success, copies the first `room` octets of them, or
 * fewer if a check was ignored, to `out` and stores their number in *copied; `out` may be NULL if
 * `room` is 0. It copies because the source may change or be deregistered while it is on its way.
 * Returns IW_CHECK_NONE, or the check that failed; *copied is then 0. */
enum iw_check iw_ddp_read_source(const struct iw_ddp_stream *s, uint32_t stag, uint64_t to,
                                 uint32_t size, uint8_t *out, uint32_t room, uint32_t *copied);

/* Validates a use, with the checks of the function above that makes it, of memory that is used in
 * place, in a domain without lock and without switches: *at is its first octet, valid until a call
 * on the domain ends the registration. `length` is not 0. Returns IW_CHECK_NONE, or the check that
 * failed. Then, and if an ignored check leaves no memory to lend, *at stays as it was. */
enum iw_check iw_ddp_lend(const struct iw_ddp_stream *s, enum iw_ddp_use use, uint32_t stag,
                          uint64_t to, uint32_t length, void **at);

/* Carries out an atomic operation of RFC 7306 §5.1 on the 8 octets at
 * request->remote_stag/remote_to, a number in the octet order of this machine ("the endian format
 * of the target memory"). Validates in this order: AOpCode; the checks of a read source with the
 * right IW_ACCESS_REMOTE_ATOMIC; that the address of the first octet (base + TO - to, OP-85) is
 * 64-bit aligned. If `original` is NULL, it only validates; else *original is the value before the
 * operation. Everything happens under the domain's lock: no other connection's placement, read or
 * atomic comes between.
 * Returns IW_CHECK_NONE, or the check that failed with memory unchanged. */
enum iw_check iw_ddp_atomic(const struct iw_ddp_stream *s,
                            const struct iw_rdmap_atomic_request *request, uint64_t *original);

/* Copies the `length` octets that follow `skip` octets of a piece list. Returns the number of
 * octets copied (less than length only if the list ends). */
size_t iw_ddp_gather(void *out, const struct iw_iov *pieces, size_t count, size_t skip,
                     size_t length);
/* Copies from a piece list into a scatter list, starting `offset` octets into the latter. Returns
 * the number of octets copied. */
size_t iw_ddp_scatter(const struct iw_iov *to, size_t to_count, size_t offset,
                      const struct iw_iov *from, size_t from_count, size_t skip, size_t length);

#ifdef __cplusplus
}
#endif

#endif
