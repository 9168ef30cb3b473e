/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <sys/mman.h>

/* Nothing is read or written for a payload without octets: neither its source nor its sink need
 * exist (RFC 5041 §5.2, RFC 5040 §5.2.1). Both lie in a page that nobody may touch. */

enum { PAGE = 4096 };

struct rig {
    struct pair pair; /* for the allocator */
    struct iw_domain *domain;
    struct iw_switches switches;
    struct iw_ddp_stream stream;
    uint8_t *forbidden;
    struct iw_region region; /* all of it, at TO 0x1000 */
};

static void open_rig(struct rig *r)
{
    memset(r, 0, sizeof(*r));
    r->pair.allocations_left = -1;
    struct iw_env env = {&r->pair, pair_alloc, pair_free,         pair_random,
                         NULL,     NULL,       iw_crc32c_portable};
    struct iw_domain_limits limits = {2, 1};
    r->domain = iw_domain_create(&env, &limits);
    assert_non_null(r->domain);
    r->stream = (struct iw_ddp_stream){r->domain, iw_domain_pd(r->domain),
                                       iw_domain_stream(r->domain), &r->switches, 0};
    void *page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    r->forbidden = page;
    r->region = (struct iw_region){.base = page,
                                   .length = PAGE,
                                   .to = 0x1000,
                                   .pd = r->stream.pd,
                                   .access = IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_READ};
    assert_int_equal(iw_domain_register(r->domain, &r->region), 0);
}

static void close_rig(struct rig *r)
{
    assert_int_equal(munmap(r->forbidden, PAGE), 0);
    iw_domain_destroy(r->domain);
    assert_int_equal(r->pair.allocations_live, 0);
}

static void test_copying_nothing(void **state)
{
    (void)state;
    struct rig r;
    open_rig(&r);
    uint8_t kept = 0x5a;
    struct iw_iov nowhere = {r.forbidden, PAGE}, here = {&kept, 1}, none = {r.forbidden, 0};
    assert_int_equal(iw_ddp_scatter(&nowhere, 1, 0, &nowhere, 1, 0, 0), 0);
    assert_int_equal(iw_ddp_scatter(&here, 1, 0, &nowhere, 1, 0, 0), 0);
    assert_int_equal(iw_ddp_scatter(&nowhere, 1, 0, &here, 1, 0, 0), 0);
    assert_int_equal(iw_ddp_scatter(&here, 1, 0, &nowhere, 1, PAGE - 1, 0), 0);
    /* A source or a sink that ends before octets are due. */
    assert_int_equal(iw_ddp_scatter(&here, 1, 0, &nowhere, 1, PAGE, 1), 0);
    assert_int_equal(iw_ddp_scatter(&nowhere, 1, PAGE, &here, 1, 0, 1), 0);
    assert_int_equal(iw_ddp_scatter(&here, 1, 0, &none, 1, 0, 1), 0);
    assert_int_equal(iw_ddp_scatter(&none, 1, 0, &here, 1, 0, 1), 0);
    assert_int_equal(iw_ddp_scatter(NULL, 0, 0, NULL, 0, 0, 0), 0);
    assert_int_equal(iw_ddp_scatter(&here, 1, 0, NULL, 0, 0, 1), 0);
    assert_int_equal(iw_ddp_gather(&kept, &nowhere, 1, 0, 0), 0);
    assert_int_equal(iw_ddp_gather(NULL, &nowhere, 1, 0, 0), 0);
    assert_int_equal(kept, 0x5a);
    close_rig(&r);
}

static enum iw_check place(struct rig *r, enum iw_ddp_use use, uint32_t stag, uint64_t to)
{
    struct iw_iov payload = {r->forbidden, PAGE};
    return iw_ddp_place_tagged(&r->stream, use, stag, to, &payload, 1, 14, 0);
}

static void test_placing_nothing(void **state)
{
    (void)state;
    struct rig r;
    open_rig(&r);
    const uint32_t stag = r.region.stag, no = stag ^ 1;
    for (int use = IW_USE_WRITE; use <= IW_USE_READ_RESPONSE; use++) {
        assert_int_equal(place(&r, (enum iw_ddp_use)use, stag, 0x1000), IW_CHECK_NONE);
        assert_int_equal(place(&r, (enum iw_ddp_use)use, no, 0), IW_CHECK_NONE);
        assert_int_equal(
            iw_ddp_place_tagged(&r.stream, (enum iw_ddp_use)use, stag, 0x1000, NULL, 0, 0, 0),
            IW_CHECK_NONE);
    }
    /* --overstrict looks at STag and TO, but at no octet either. */
    r.switches.any = true;
    r.switches.set[IW_CHECK_DDP_ZERO_TAGGED] = 1u << IW_SWITCH_OVERSTRICT;
    assert_int_equal(place(&r, IW_USE_WRITE, stag, 0x1000), IW_CHECK_NONE);
    assert_int_equal(place(&r, IW_USE_WRITE, no, 0x1000), IW_CHECK_DDP_ZERO_TAGGED);
    assert_int_equal(place(&r, IW_USE_WRITE, stag, 0x2000), IW_CHECK_DDP_ZERO_TAGGED);
    close_rig(&r);
}

static void test_reading_nothing(void **state)
{
    (void)state;
    struct rig r;
    open_rig(&r);
    const uint32_t stag = r.region.stag, no = stag ^ 1;
    uint8_t out[8] = "kept";
    uint32_t copied = 1;
    assert_int_equal(iw_ddp_read_source(&r.stream, stag, 0x1000, 0, out, sizeof(out), &copied),
                     IW_CHECK_NONE);
    assert_int_equal(copied, 0);
    copied = 1;
    assert_int_equal(iw_ddp_read_source(&r.stream, no, 0, 0, NULL, 0, &copied), IW_CHECK_NONE);
    assert_int_equal(copied, 0);
    /* Only the checks: no room, so no octet. */
    copied = 1;
    assert_int_equal(iw_ddp_read_source(&r.stream, stag, 0x1000, PAGE, NULL, 0, &copied),
                     IW_CHECK_NONE);
    assert_int_equal(copied, 0);
    r.switches.any = true;
    r.switches.set[IW_CHECK_RDMAP_READ_ZERO] = 1u << IW_SWITCH_OVERSTRICT;
    copied = 1;
    assert_int_equal(iw_ddp_read_source(&r.stream, stag, 0x1000, 0, out, sizeof(out), &copied),
                     IW_CHECK_NONE);
    assert_int_equal(copied, 0);
    assert_int_equal(iw_ddp_read_source(&r.stream, no, 0x1000, 0, out, sizeof(out), &copied),
                     IW_CHECK_RDMAP_READ_ZERO);
    assert_string_equal((char *)out, "kept");
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copying_nothing),
        cmocka_unit_test(test_placing_nothing),
        cmocka_unit_test(test_reading_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
