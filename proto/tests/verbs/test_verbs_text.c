/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and rates are those of the distribution's own libibverbs, which programs print and compare.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

enum { BEYOND = 40 /* more than any of the enumerations has */ };

/* The library that lies beside the stock librdmacm, under another name than ours is loaded. */
static void *stock;

static int set_up(void **state)
{
    Dl_info cm;
    char path[4096];
    (void)state;
    assert_int_not_equal(dladdr((void *)(uintptr_t)rdma_create_id, &cm), 0);
    const char *end = strrchr(cm.dli_fname, '/');
    if (end == NULL)
        return 0;
    snprintf(path, sizeof(path), "%.*s/libibverbs.so.1", (int)(end - cm.dli_fname), cm.dli_fname);
    stock = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return 0;
}

/* A function of the stock library that takes and returns a number. */
static int stock_number(const char *name, int argument)
{
    int (*function)(int);
    void *symbol = dlsym(stock, name);
    assert_non_null(symbol);
    memcpy(&function, &symbol, sizeof(function));
    return function(argument);
}

static const char *stock_name(const char *name, int argument)
{
    const char *(*function)(int);
    void *symbol = dlsym(stock, name);
    assert_non_null(symbol);
    memcpy(&function, &symbol, sizeof(function));
    return function(argument);
}

static void names_are_the_stock_librarys(void **state)
{
    (void)state;
    if (stock == NULL)
        skip();
    assert_ptr_not_equal(dlsym(stock, "ibv_wc_status_str"), (void *)(uintptr_t)ibv_wc_status_str);
    for (int i = -2; i < BEYOND; i++) {
        assert_string_equal(ibv_node_type_str((enum ibv_node_type)i),
                            stock_name("ibv_node_type_str", i));
        assert_string_equal(ibv_port_state_str((enum ibv_port_state)i),
                            stock_name("ibv_port_state_str", i));
        assert_string_equal(ibv_event_type_str((enum ibv_event_type)i),
                            stock_name("ibv_event_type_str", i));
        assert_string_equal(ibv_wc_status_str((enum ibv_wc_status)i),
                            stock_name("ibv_wc_status_str", i));
    }
}

static void rates_are_the_stock_librarys(void **state)
{
    (void)state;
    if (stock == NULL)
        skip();
    for (int i = -2; i < BEYOND; i++) {
        const int mbps = ibv_rate_to_mbps((enum ibv_rate)i);
        assert_int_equal(ibv_rate_to_mult((enum ibv_rate)i), stock_number("ibv_rate_to_mult", i));
        assert_int_equal(mbps, stock_number("ibv_rate_to_mbps", i));
        assert_int_equal(mbps_to_ibv_rate(mbps), stock_number("mbps_to_ibv_rate", mbps));
        assert_int_equal(mbps_to_ibv_rate(mbps + 1), stock_number("mbps_to_ibv_rate", mbps + 1));
    }
    for (int multiple = -1; multiple < 500; multiple++)
        assert_int_equal(mult_to_ibv_rate(multiple), stock_number("mult_to_ibv_rate", multiple));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_the_stock_librarys),
        cmocka_unit_test(rates_are_the_stock_librarys),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
