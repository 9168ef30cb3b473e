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

/* Everything that the core needs from outside. All members but lock and unlock are required. */
struct iw_env {
    void *context;
    /* `size` octets aligned for any type, or NULL. Called at set-up only. */
    void *(*alloc)(void *context, size_t size);
    void (*free)(void *context, void *memory, size_t size);
    /* Unpredictable octets, for STag values (RFC 5040 §8.1.1). */
    void (*random)(void *context, void *out, size_t length);
    /* Guards a domain that several threads use; NULL if one thread does. Never nested. */
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

/* A memory region. `guard` octets before and after [base, base+length) belong to the caller too.
 * They are touched only where a check is switched to ignore: what it would have refused happens
 * there, so that the misbehaviour shows and no other memory is harmed. */
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

/* Makes a domain with all of its memory: regions * about 100 octets, buffers *
 * IW_DOMAIN_BUFFER octets (for more than 256, in blocks of 64). What is not needed is not written,
 * so that a system that gives memory when it is touched gives none for it. `env` is copied. NULL if
 * the allocator refuses. */
#define IW_DOMAIN_BUFFER (IW_DEFRAMER_BUFFER + 16384u)
struct iw_domain *iw_domain_create(const struct iw_env *env, const struct iw_domain_limits *limits);
/* Every endpoint must be gone. NULL is ignored. */
void iw_domain_destroy(struct iw_domain *d);
const struct iw_env *iw_domain_env(const struct iw_domain *d);

/* A fresh protection domain or stream number (never 0). */
uint32_t iw_domain_pd(struct iw_domain *d);
uint64_t iw_domain_stream(struct iw_domain *d);

/* Registers *region (copied; base memory borrowed until deregistered) and stores its STag,
 * never 0, in region->stag. Returns 0, -1 if the table is full, -2 if a sum wraps. */
int iw_domain_register(struct iw_domain *d, struct iw_region *region);
/* Binds a memory window: a part of a registered region under an STag of its own, with rights and
 * a stream of its own. In: to and length, within the parent's; access (remote rights only;
 * writing and atomics need IW_ACCESS_LOCAL_WRITE of the parent, which needs IW_ACCESS_BIND in any
 * case); stream; stag, 0 for a new window, else the window that is bound anew: that STag is
 * forgotten at once. Out: a fresh stag, never the one before; base, guard and pd are the parent's.
 * A window is invalidated like a region, which leaves the parent as it is, as an invalidated parent
 * leaves its windows; iw_domain_deregister unbinds it. Returns 0, -1 if the table is full, -2 if
 * the range is not the parent's, -3 if the parent's or the window's STag or rights do not permit
 * it; a window that fails to be bound anew stays as it was. */
int iw_domain_bind(struct iw_domain *d, uint32_t parent, struct iw_region *window);
/* The STag is dead at once: no octet is placed or read through it after the return
 * (RFC 5040 §8.1.1). Returns 0, or -1 if it is not valid. */
int iw_domain_invalidate(struct iw_domain *d, uint32_t stag);
/* Forgets the STag altogether: its memory is the caller's again. Returns 0, -1 if there is none, or
 * -2 if windows are bound to it: then it stays. */
int iw_domain_deregister(struct iw_domain *d, uint32_t stag);
/* Copies what is known of an STag, dead ones included; false if there is none. */
bool iw_domain_lookup(struct iw_domain *d, uint32_t stag, struct iw_region *out);

/* One pool buffer of IW_DOMAIN_BUFFER octets, or NULL if all are lent. */
void *iw_domain_borrow(struct iw_domain *d);
void iw_domain_return(struct iw_domain *d, void *buffer);

/* Who touches a region. */
struct iw_ddp_stream {
    struct iw_domain *domain;
    uint32_t pd;
    uint64_t stream;
    const struct iw_switches *switches;
};

enum iw_ddp_use { IW_USE_WRITE, IW_USE_READ_RESPONSE, IW_USE_READ_SOURCE };

/* Validates and places a tagged segment's payload (RFC 5041 §7.1 in its order: STag valid,
 * associated, access, base, bounds, wrap; nothing is examined when `length` is 0).
 * `payload` is the ULPDU's pieces; `skip` octets (the header) are passed over.
 * Returns IW_CHECK_NONE after placing, or the check that failed with nothing placed.
 * Where a check is switched to ignore, the access is cut to the region and its guards. */
enum iw_check iw_ddp_place_tagged(const struct iw_ddp_stream *s, enum iw_ddp_use use, uint32_t stag,
                                  uint64_t to, const struct iw_iov *payload, size_t pieces,
                                  size_t skip, uint32_t length);

/* Validates a read source the same way with the RDMAP checks (RFC 5040 §7.2): all of `size`
 * octets; `size` 0 examines nothing. On success the first `room` octets of them or fewer (if a
 * check was ignored) are copied to `out`, and *copied tells how many; `out` may be NULL if `room`
 * is 0. A copy, as the source may change or be deregistered while it is on its way. */
enum iw_check iw_ddp_read_source(const struct iw_ddp_stream *s, uint32_t stag, uint64_t to,
                                 uint32_t size, uint8_t *out, uint32_t room, uint32_t *copied);

/* The same for a source that is used where it lies, in a domain without lock and without switches:
 * *at is its first octet, valid until a call on the domain ends the registration. `size` is not 0.
 */
enum iw_check iw_ddp_lend_source(const struct iw_ddp_stream *s, uint32_t stag, uint64_t to,
                                 uint32_t size, void **at);
/* The same for the sink of `length` octets of tagged payload, as iw_ddp_place_tagged examines it.
 * Where an ignored check leaves no memory to lend, *at stays as it was. */
enum iw_check iw_ddp_lend_sink(const struct iw_ddp_stream *s, enum iw_ddp_use use, uint32_t stag,
                               uint64_t to, uint32_t length, void **at);

/* An atomic of RFC 7306 §5.1 on the 8 octets at request->remote_stag/remote_to: a number in this
 * machine's own order of octets ("the endian format of the target memory"). Validated in this
 * order: AOpCode, then as a read source with the right IW_ACCESS_REMOTE_ATOMIC, then that the
 * address of the first octet (base + TO - to, OP-85) is 64-bit aligned. If `original` is NULL that
 * is all. Else the operation is carried out and *original is the value before it. All of it happens
 * under the domain's lock: no other connection's placement, read or atomic comes between. Returns
 * IW_CHECK_NONE, or the check that failed with memory unchanged. */
enum iw_check iw_ddp_atomic(const struct iw_ddp_stream *s,
                            const struct iw_rdmap_atomic_request *request, uint64_t *original);

/* Copies `length` octets that follow `skip` octets of a piece list. Returns the octets copied
 * (less than length only if the list ends). */
size_t iw_ddp_gather(void *out, const struct iw_iov *pieces, size_t count, size_t skip,
                     size_t length);
/* Copies out of a piece list into a scatter list, `offset` octets into the latter. Returns
 * the octets copied. */
size_t iw_ddp_scatter(const struct iw_iov *to, size_t to_count, size_t offset,
                      const struct iw_iov *from, size_t from_count, size_t skip, size_t length);

#ifdef __cplusplus
}
#endif

#endif
