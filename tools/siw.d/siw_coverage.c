/* SPDX-License-Identifier: BSD-3-Clause */
/* /dev/siw-coverage: a map with an octet for each place of siw that has run, whatever it ran in
 * (kcov leaves out soft interrupts, which is where siw receives). */
#include <linux/hash.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#define PLACES_BITS 16

void __sanitizer_cov_trace_pc(void);

static u8 *map;

void __sanitizer_cov_trace_pc(void)
{
    u8 *m = READ_ONCE(map);

    if (m)
        WRITE_ONCE(m[hash_long(_RET_IP_, PLACES_BITS)], 1);
}
EXPORT_SYMBOL(__sanitizer_cov_trace_pc);

static int coverage_mmap(struct file *file, struct vm_area_struct *area)
{
    return remap_vmalloc_range(area, map, area->vm_pgoff);
}

static const struct file_operations coverage_operations = {
    .owner = THIS_MODULE,
    .mmap = coverage_mmap,
};

static struct miscdevice coverage_device = {
    .minor = MISC_DYNAMIC_MINOR,
    .name = "siw-coverage",
    .mode = 0600,
    .fops = &coverage_operations,
};

static int __init coverage_begin(void)
{
    u8 *m = vmalloc_user(1 << PLACES_BITS);
    int error = m ? misc_register(&coverage_device) : -ENOMEM;

    if (error)
        vfree(m);
    else
        map = m; /* nobody has the device open before init runs */
    return error;
}
device_initcall(coverage_begin);
