// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What the core asks of its surroundings. */
#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/random.h>

#include "iwk.h"

static void *env_alloc(void *context, size_t size)
{
	return kvmalloc(size, GFP_KERNEL);
}

static void env_free(void *context, void *memory, size_t size)
{
	kvfree(memory);
}

static void env_random(void *context, void *out, size_t length)
{
	get_random_bytes(out, length);
}

static void env_lock(void *context)
{
	struct iwk_dev *dev = context;

	mutex_lock(&dev->domain_lock);
}

static void env_unlock(void *context)
{
	struct iwk_dev *dev = context;

	mutex_unlock(&dev->domain_lock);
}

static u32 env_crc32c(u32 state, const void *data, size_t length)
{
	return crc32c(state, data, length);
}

int iwk_env_make_domain(struct iwk_dev *dev)
{
	const struct iw_env env = {
		.context = dev,
		.alloc = env_alloc,
		.free = env_free,
		.random = env_random,
		.lock = env_lock,
		.unlock = env_unlock,
		.crc32c = env_crc32c,
	};
	const struct iw_domain_limits limits = {
		.regions = IWK_MRS,
		.buffers = IWK_BUFFERS,
	};

	mutex_init(&dev->domain_lock);
	dev->domain = iw_domain_create(&env, &limits);
	return dev->domain ? 0 : -ENOMEM;
}
