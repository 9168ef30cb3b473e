// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* User contexts, and queues that programs map. */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "iwk.h"

int iwk_alloc_ucontext(struct ib_ucontext *base, struct ib_udata *udata)
{
	struct siw_uresp_alloc_ctx answer = {};

	if (udata->outlen < sizeof(answer))
		return -EINVAL;
	return ib_copy_to_udata(udata, &answer, sizeof(answer));
}

void iwk_dealloc_ucontext(struct ib_ucontext *base)
{
}

struct rdma_user_mmap_entry *iwk_mmap_offer(struct ib_ucontext *base, void *memory, size_t length)
{
	struct iwk_mmap *entry = kzalloc(sizeof(*entry), GFP_KERNEL);

	if (!entry)
		return NULL;
	entry->memory = memory;
	/* The provider takes one offset, of the 144th page, for none at all: begin after it. */
	if (rdma_user_mmap_entry_insert_range(base, &entry->base, PAGE_ALIGN(length),
					      (SIW_INVAL_UOBJ_KEY >> PAGE_SHIFT) + 1, U32_MAX)) {
		kfree(entry);
		return NULL;
	}
	return &entry->base;
}

void iwk_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct iwk_mmap *mine = container_of(entry, struct iwk_mmap, base);

	/* Whoever still maps it keeps the pages themselves. */
	vfree(mine->memory);
	kfree(mine);
}

int iwk_mmap(struct ib_ucontext *base, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	size_t length = vma->vm_end - vma->vm_start;
	int error;

	entry = rdma_user_mmap_entry_get(base, vma);
	if (!entry)
		return -EINVAL;
	if (length > entry->npages * PAGE_SIZE)
		error = -EINVAL;
	else
		error = remap_vmalloc_range(vma, container_of(entry, struct iwk_mmap, base)->memory,
					    0);
	rdma_user_mmap_entry_put(entry);
	return error;
}
