// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The device's files in debugfs, which is root's: the switches that make it
 * break rules on purpose, and what its peers have broken.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "iwk.h"

/* Of a file that is written. */
enum { IWK_WORDS = 8192 };

static struct dentry *root;

static const char *const kinds[] = {
	[IW_SWITCH_IGNORE] = "ignore",
	[IW_SWITCH_OVERSTRICT] = "overstrict",
	[IW_SWITCH_VIOLATE] = "violate",
	[IW_SWITCH_BOTCH] = "botch",
};

/* ---- switches ---- */

static int switches_show(struct seq_file *file, void *unused)
{
	const struct iwk_switch_file *f = file->private;
	const struct iw_switches *switches = &f->dev->switches;
	enum iw_check check;

	mutex_lock(&f->dev->switches_lock);
	for (check = IW_CHECK_NONE + 1; check < IW_CHECK_COUNT; check++) {
		const char *name = iw_check_info(check)->name;

		if (f->kind == IW_SWITCH_BOTCH && switches->botch[check])
			seq_printf(file, "%s=%s\n", name, iw_botch_name(switches->botch[check]));
		else if (f->kind != IW_SWITCH_BOTCH && switches->set[check] & BIT(f->kind))
			seq_printf(file, "%s\n", name);
	}
	mutex_unlock(&f->dev->switches_lock);
	return 0;
}

static void clear_kind(struct iw_switches *switches, enum iw_switch kind)
{
	int i;

	switches->any = false;
	for (i = 0; i < IW_CHECK_COUNT; i++) {
		if (kind == IW_SWITCH_BOTCH)
			switches->botch[i] = IW_BOTCH_NONE;
		else
			switches->set[i] &= ~BIT(kind);
		switches->any |= switches->set[i] || switches->botch[i];
	}
}

/* The words take the place of what was switched in this way. */
static int set_kind(struct iwk_dev *dev, enum iw_switch kind, char *words)
{
	struct iw_switches next;
	const char *error;
	char *word;
	int result = 0;

	mutex_lock(&dev->switches_lock);
	next = dev->switches;
	clear_kind(&next, kind);
	while (!result && (word = strsep(&words, " \t\n,"))) {
		if (!*word || iw_switches_set(&next, kind, word, &error) > 0)
			continue;
		ibdev_warn(&dev->base, "%s %s: %s\n", kinds[kind], word, error);
		result = -EINVAL;
	}
	if (!result)
		dev->switches = next;
	mutex_unlock(&dev->switches_lock);
	return result;
}

static int switches_open(struct inode *inode, struct file *file)
{
	return single_open(file, switches_show, inode->i_private);
}

static ssize_t switches_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	const struct iwk_switch_file *f = file_inode(file)->i_private;
	char *words;
	int error;

	if (*at || length > IWK_WORDS)
		return -EINVAL;
	words = memdup_user_nul(from, length);
	if (IS_ERR(words))
		return PTR_ERR(words);
	error = set_kind(f->dev, f->kind, words);
	kfree(words);
	return error ? error : length;
}

static const struct file_operations switches_fops = {
	.owner = THIS_MODULE,
	.open = switches_open,
	.read = seq_read,
	.write = switches_write,
	.llseek = seq_lseek,
	.release = single_release,
};

void iwk_switches_copy(struct iwk_dev *dev, struct iw_switches *out)
{
	mutex_lock(&dev->switches_lock);
	*out = dev->switches;
	mutex_unlock(&dev->switches_lock);
}

/* ---- faults ---- */

static int faults_show(struct seq_file *file, void *unused)
{
	struct iwk_dev *dev = file->private;
	enum iw_check check;

	for (check = IW_CHECK_NONE + 1; check < IW_CHECK_COUNT; check++) {
		const u64 count = atomic64_read(&dev->faults[check]);

		if (count)
			seq_printf(file, "%s %s %llu\n", iw_check_sender_rule(check)->id,
				   iw_check_info(check)->name, count);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(faults);

/* ---- the files ---- */

int iwk_enable_driver(struct ib_device *base)
{
	struct iwk_dev *dev = iwk_dev_of(base);
	int i;

	/* What debugfs cannot do is not missed, by its own rules. */
	dev->debug = debugfs_create_dir(dev_name(&base->dev), root);
	for (i = 0; i < ARRAY_SIZE(dev->switch_files); i++) {
		dev->switch_files[i] = (struct iwk_switch_file){ dev, i };
		debugfs_create_file(kinds[i], 0600, dev->debug, &dev->switch_files[i],
				    &switches_fops);
	}
	debugfs_create_file("faults", 0400, dev->debug, dev, &faults_fops);
	return 0;
}

void iwk_debug_init(void)
{
	root = debugfs_create_dir("iwarp", NULL);
}

void iwk_debug_exit(void)
{
	debugfs_remove_recursive(root);
}
