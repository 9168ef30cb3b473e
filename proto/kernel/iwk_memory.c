// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Protection domains and memory regions. */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_umem.h>

#include "iwk.h"

enum {
	IWK_KNOWN_ACCESS = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
			   IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL,
	IWK_STAG_TRIES = 64
};

u32 iwk_rights(int access)
{
	return (access & IB_ACCESS_LOCAL_WRITE ? IW_ACCESS_LOCAL_WRITE : 0) |
	       (access & IB_ACCESS_REMOTE_WRITE ? IW_ACCESS_REMOTE_WRITE : 0) |
	       (access & IB_ACCESS_REMOTE_READ ? IW_ACCESS_REMOTE_READ : 0);
}

int iwk_alloc_pd(struct ib_pd *base, struct ib_udata *udata)
{
	struct iwk_dev *dev = iwk_dev_of(base->device);

	if (!atomic_add_unless(&dev->pds, 1, IWK_QPS))
		return -ENOMEM;
	iwk_pd_of(base)->number = iw_domain_pd(dev->domain);
	return 0;
}

int iwk_dealloc_pd(struct ib_pd *base, struct ib_udata *udata)
{
	atomic_dec(&iwk_dev_of(base->device)->pds);
	return 0;
}

/* ---- memory ---- */

static struct iwk_mem *mem_make(u8 *base, u64 length)
{
	struct iwk_mem *mem = kzalloc(sizeof(*mem), GFP_KERNEL);

	if (!mem)
		return NULL;
	kref_init(&mem->ref);
	mem->base = base;
	mem->length = length;
	return mem;
}

static void mem_free(struct kref *ref)
{
	struct iwk_mem *mem = container_of(ref, struct iwk_mem, ref);

	if (mem->mapped)
		vunmap(mem->mapped);
	if (mem->umem)
		ib_umem_release(mem->umem);
	kfree(mem);
}

void iwk_mem_put(struct iwk_mem *mem)
{
	if (mem)
		kref_put(&mem->ref, mem_free);
}

static bool contiguous(struct page **pages, unsigned int count)
{
	unsigned int i;

	for (i = 1; i < count; i++)
		if (page_to_pfn(pages[i]) != page_to_pfn(pages[0]) + i)
			return false;
	return true;
}

/* The core sees memory in one piece. Returns NULL without memory. */
static struct iwk_mem *mem_of_pages(struct page **pages, unsigned int count, unsigned int offset,
				    u64 length)
{
	struct iwk_mem *mem;
	void *mapped = NULL;
	u8 *base;

	if (contiguous(pages, count)) {
		base = page_address(pages[0]);
	} else {
		mapped = vmap(pages, count, VM_MAP, PAGE_KERNEL);
		if (!mapped)
			return NULL;
		base = mapped;
	}
	mem = mem_make(base + offset, length);
	if (mem)
		mem->mapped = mapped;
	else if (mapped)
		vunmap(mapped);
	return mem;
}

static struct iwk_mem *mem_of_umem(struct ib_umem *umem)
{
	const size_t count = ib_umem_num_pages(umem);
	struct sg_page_iter at;
	struct page **pages;
	struct iwk_mem *mem;
	size_t i = 0;

	pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return NULL;
	for_each_sgtable_page (&umem->sgt_append.sgt, &at, 0) {
		if (i == count)
			break;
		pages[i++] = sg_page_iter_page(&at);
	}
	mem = i == count ? mem_of_pages(pages, count, ib_umem_offset(umem), umem->length) : NULL;
	kvfree(pages);
	if (mem)
		mem->umem = umem;
	return mem;
}

/* ---- regions ---- */

static struct iwk_mr *mr_make(struct ib_pd *pd)
{
	struct iwk_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (mr)
		mr->dev = iwk_dev_of(pd->device);
	return mr;
}

/*
 * The consumer of a fast registration chooses the lower 8 bits of its STag
 * afresh each time: the others belong to one region alone.
 */
static int mr_settle(struct iwk_mr *mr, struct iw_region *region)
{
	struct iwk_dev *dev = mr->dev;
	int i, error = -ENOMEM;

	for (i = 0; i < IWK_STAG_TRIES; i++) {
		error = iw_domain_register(dev->domain, region);
		if (error)
			return error == -1 ? -ENOMEM : -EINVAL;
		mr->stag = region->stag;
		error = region->stag >> 8 ? xa_insert(&dev->mrs, region->stag >> 8, mr, GFP_KERNEL)
					  : -EBUSY;
		if (!error) {
			mr->base.lkey = mr->stag;
			mr->base.rkey = mr->stag;
			return 0;
		}
		iw_domain_deregister(dev->domain, region->stag);
		if (error != -EBUSY)
			break;
	}
	return error;
}

/* Makes a region of memory, whose reference it takes over. */
static struct ib_mr *mr_of(struct ib_pd *pd, struct iwk_mem *mem, u64 to, int access)
{
	struct iw_region region = {
		.base = mem->base,
		.length = mem->length,
		.to = to,
		.pd = iwk_pd_of(pd)->number,
		.access = iwk_rights(access),
	};
	struct iwk_mr *mr = mr_make(pd);
	int error;

	if (!mr) {
		iwk_mem_put(mem);
		return ERR_PTR(-ENOMEM);
	}
	mr->mem = mem;
	error = mr_settle(mr, &region);
	if (error) {
		iwk_mem_put(mem);
		kfree(mr);
		return ERR_PTR(error);
	}
	return &mr->base;
}

/* The kernel's own memory, under its addresses. */
struct ib_mr *iwk_get_dma_mr(struct ib_pd *pd, int access)
{
	struct iwk_mem *mem = mem_make((u8 *)PAGE_SIZE, ULONG_MAX - 2 * PAGE_SIZE);

	if (!mem)
		return ERR_PTR(-ENOMEM);
	return mr_of(pd, mem, PAGE_SIZE, access);
}

struct ib_mr *iwk_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			      struct ib_udata *udata)
{
	struct siw_uresp_reg_mr answer = {};
	struct ib_umem *umem;
	struct iwk_mem *mem;
	struct ib_mr *mr;

	if (access & ~IWK_KNOWN_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	if (udata && udata->outlen < sizeof(answer))
		return ERR_PTR(-EINVAL);
	umem = ib_umem_get(pd->device, start, length, access);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	mem = mem_of_umem(umem);
	if (!mem) {
		ib_umem_release(umem);
		return ERR_PTR(-ENOMEM);
	}
	mr = mr_of(pd, mem, iova, access);
	if (IS_ERR(mr) || !udata)
		return mr;
	answer.stag = mr->lkey;
	if (ib_copy_to_udata(udata, &answer, sizeof(answer))) {
		iwk_dereg_mr(mr, NULL);
		return ERR_PTR(-EFAULT);
	}
	return mr;
}

int iwk_dereg_mr(struct ib_mr *base, struct ib_udata *udata)
{
	struct iwk_mr *mr = container_of(base, struct iwk_mr, base);

	xa_erase(&mr->dev->mrs, mr->stag >> 8);
	/* No octet is placed or read through it after this. */
	iw_domain_deregister(mr->dev->domain, mr->stag);
	iwk_mem_put(mr->mem);
	kvfree(mr->pages);
	kfree(mr);
	return 0;
}

/* ---- fast registration ---- */

struct ib_mr *iwk_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg)
{
	struct iw_region region = { .pd = iwk_pd_of(pd)->number };
	struct iwk_mr *mr;
	int error;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (max_sg > IWK_FAST_PAGES)
		return ERR_PTR(-EINVAL);
	mr = mr_make(pd);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = max_sg;
	mr->pages = kvcalloc(max_sg, sizeof(*mr->pages), GFP_KERNEL);
	error = mr->pages ? mr_settle(mr, &region) : -ENOMEM;
	if (error) {
		kvfree(mr->pages);
		kfree(mr);
		return ERR_PTR(error);
	}
	iw_domain_invalidate(mr->dev->domain, mr->stag);
	return &mr->base;
}

static int set_page(struct ib_mr *base, u64 address)
{
	struct iwk_mr *mr = container_of(base, struct iwk_mr, base);

	if (mr->num_pages == mr->max_pages)
		return -ENOMEM;
	mr->pages[mr->num_pages++] = address;
	return 0;
}

int iwk_map_mr_sg(struct ib_mr *base, struct scatterlist *sg, int nents, unsigned int *offset)
{
	struct iwk_mr *mr = container_of(base, struct iwk_mr, base);

	mr->num_pages = 0;
	if (base->page_size != PAGE_SIZE)
		return -EINVAL;
	return ib_sg_to_pages(base, sg, nents, offset, set_page);
}

/* The addresses are the kernel's: this is a device of virtual DMA. */
static struct iwk_mem *mem_of_mr(struct iwk_mr *mr)
{
	struct page **pages;
	struct iwk_mem *mem;
	u32 i;

	if (!mr->num_pages ||
	    offset_in_page(mr->base.iova) + mr->base.length > (u64)mr->num_pages * PAGE_SIZE)
		return NULL;
	pages = kvmalloc_array(mr->num_pages, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return NULL;
	for (i = 0; i < mr->num_pages; i++)
		pages[i] = virt_to_page((void *)(uintptr_t)mr->pages[i]);
	mem = mem_of_pages(pages, mr->num_pages, offset_in_page(mr->base.iova), mr->base.length);
	kvfree(pages);
	return mem;
}

bool iwk_mr_register(struct iwk_mr *mr, u8 key, u32 access, u64 stream)
{
	struct iw_domain *domain = mr->dev->domain;
	struct iwk_mem *mem, *old;
	struct iw_region region;

	/* Only one that has been invalidated may be registered anew. */
	if (!mr->pages || !iw_domain_lookup(domain, mr->stag, &region) || region.valid)
		return false;
	mem = mem_of_mr(mr);
	if (!mem)
		return false;
	region = (struct iw_region){
		.base = mem->base,
		.length = mem->length,
		.to = mr->base.iova,
		.pd = region.pd,
		.access = iwk_rights(access) | IW_ACCESS_REMOTE_INVALIDATE,
		.stream = stream,
	};
	iw_domain_deregister(domain, mr->stag);
	if (iw_domain_register_as(domain, &region, (mr->stag & ~0xffu) | key)) {
		iwk_mem_put(mem);
		return false;
	}
	xa_lock(&mr->dev->mrs);
	old = mr->mem;
	mr->mem = mem;
	mr->stag = region.stag;
	xa_unlock(&mr->dev->mrs);
	iwk_mem_put(old);
	return true;
}

/* ---- pieces of local memory ---- */

static struct iwk_mem *mem_get(struct iwk_dev *dev, u32 stag)
{
	struct iwk_mem *mem = NULL;
	struct iwk_mr *mr;

	xa_lock(&dev->mrs);
	mr = xa_load(&dev->mrs, stag >> 8);
	if (mr && mr->stag == stag && mr->mem) {
		mem = mr->mem;
		kref_get(&mem->ref);
	}
	xa_unlock(&dev->mrs);
	return mem;
}

bool iwk_mem_find(struct iwk_dev *dev, u32 pd, const struct siw_sge *sge, bool writes,
		  struct iw_iov *out, struct iwk_mem **mem)
{
	const u64 to = sge->laddr;
	struct iw_region region;

	*mem = mem_get(dev, sge->lkey);
	if (!*mem)
		return false;
	/* Between the two it may have been registered anew. */
	if (iw_domain_lookup(dev->domain, sge->lkey, &region) && region.valid &&
	    region.base == (*mem)->base && region.pd == pd &&
	    (!writes || region.access & IW_ACCESS_LOCAL_WRITE) && to >= region.to &&
	    to - region.to <= region.length && sge->length <= region.length - (to - region.to)) {
		out->base = region.base + (to - region.to);
		out->length = sge->length;
		return true;
	}
	iwk_mem_put(*mem);
	*mem = NULL;
	return false;
}
