// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The device: made on a network device by `rdma link add NAME type iwarp netdev DEV`. */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <net/addrconf.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_netlink.h>

#include "iwk.h"

MODULE_DESCRIPTION("Strict iWARP: RDMAP, DDP and MPA over TCP");
MODULE_AUTHOR("The iWARP toolkit");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS_RDMA_LINK("iwarp");

/*
 * Its driver id is siw's, so that siw's provider serves it. It keeps off what
 * the RDMA core finds by that id, a device by its network device and all
 * devices of a driver: a siw that is loaded, too, would take it for its own.
 */
static DEFINE_MUTEX(devs_lock);
static LIST_HEAD(devs);

/* ---- what it is ---- */

static int query_device(struct ib_device *base, struct ib_device_attr *attr, struct ib_udata *udata)
{
	struct iwk_dev *dev = iwk_dev_of(base);

	if (udata->inlen || udata->outlen)
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_mr_size = -1ull;
	attr->max_qp = IWK_QPS;
	attr->max_qp_wr = IWK_WR;
	attr->max_send_sge = SIW_MAX_SGE;
	attr->max_recv_sge = SIW_MAX_SGE;
	attr->max_sge_rd = 1;
	attr->max_cq = IWK_CQS;
	attr->max_cqe = IWK_CQE;
	attr->max_mr = IWK_MRS;
	attr->max_pd = IWK_QPS;
	attr->max_qp_rd_atom = IWK_READS;
	attr->max_qp_init_rd_atom = IWK_READS;
	attr->max_res_rd_atom = IWK_READS * IWK_QPS;
	attr->max_srq = IWK_SRQS;
	attr->max_srq_wr = IWK_WR;
	attr->max_srq_sge = SIW_MAX_SGE;
	attr->max_fast_reg_page_list_len = IWK_FAST_PAGES;
	attr->atomic_cap = IB_ATOMIC_NONE;
	memcpy(&attr->sys_image_guid, dev->gid, ETH_ALEN);
	return 0;
}

static bool is_up(struct iwk_dev *dev)
{
	return netif_running(dev->netdev) && netif_carrier_ok(dev->netdev);
}

static int query_port(struct ib_device *base, u32 port, struct ib_port_attr *attr)
{
	struct iwk_dev *dev = iwk_dev_of(base);

	memset(attr, 0, sizeof(*attr));
	ib_get_eth_speed(base, port, &attr->active_speed, &attr->active_width);
	attr->gid_tbl_len = 1;
	attr->max_msg_sz = U32_MAX;
	attr->max_mtu = ib_mtu_int_to_enum(dev->netdev->mtu);
	attr->active_mtu = attr->max_mtu;
	attr->state = is_up(dev) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = is_up(dev) ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->port_cap_flags = IB_PORT_CM_SUP | IB_PORT_DEVICE_MGMT_SUP;
	return 0;
}

static int get_port_immutable(struct ib_device *base, u32 port, struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

static int query_gid(struct ib_device *base, u32 port, int index, union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, iwk_dev_of(base)->gid, ETH_ALEN);
	return 0;
}

static struct net_device *get_netdev(struct ib_device *base, u32 port)
{
	struct iwk_dev *dev = iwk_dev_of(base);

	if (READ_ONCE(dev->netdev_gone))
		return NULL;
	dev_hold(dev->netdev);
	return dev->netdev;
}

static void dealloc_driver(struct ib_device *base)
{
	struct iwk_dev *dev = iwk_dev_of(base);

	/* Queue pairs are gone; what their connections still had to say is not waited for. */
	iwk_conns_end(dev);
	debugfs_remove_recursive(dev->debug);
	destroy_workqueue(dev->wq);
	xa_destroy(&dev->qps);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->conns);
	iw_domain_destroy(dev->domain);
	dev_put(dev->netdev);
	mutex_lock(&devs_lock);
	list_del(&dev->entry);
	mutex_unlock(&devs_lock);
}

static const struct ib_device_ops ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_SIW,
	.uverbs_abi_ver = SIW_ABI_VERSION,

	.alloc_hw_port_stats = iwk_alloc_hw_port_stats,
	.alloc_mr = iwk_alloc_mr,
	.alloc_pd = iwk_alloc_pd,
	.alloc_ucontext = iwk_alloc_ucontext,
	.create_cq = iwk_create_cq,
	.create_qp = iwk_create_qp,
	.create_srq = iwk_create_srq,
	.dealloc_driver = dealloc_driver,
	.dealloc_pd = iwk_dealloc_pd,
	.dealloc_ucontext = iwk_dealloc_ucontext,
	.dereg_mr = iwk_dereg_mr,
	.destroy_cq = iwk_destroy_cq,
	.destroy_qp = iwk_destroy_qp,
	.destroy_srq = iwk_destroy_srq,
	.enable_driver = iwk_enable_driver,
	.get_dma_mr = iwk_get_dma_mr,
	.get_hw_stats = iwk_get_hw_stats,
	.get_netdev = get_netdev,
	.get_port_immutable = get_port_immutable,
	.iw_accept = iwk_accept,
	.iw_add_ref = iwk_add_ref,
	.iw_connect = iwk_connect,
	.iw_create_listen = iwk_create_listen,
	.iw_destroy_listen = iwk_destroy_listen,
	.iw_get_qp = iwk_get_qp,
	.iw_reject = iwk_reject,
	.iw_rem_ref = iwk_rem_ref,
	.map_mr_sg = iwk_map_mr_sg,
	.mmap = iwk_mmap,
	.mmap_free = iwk_mmap_free,
	.modify_qp = iwk_modify_qp,
	.modify_srq = iwk_modify_srq,
	.poll_cq = iwk_poll_cq,
	.post_recv = iwk_post_recv,
	.post_send = iwk_post_send,
	.post_srq_recv = iwk_post_srq_recv,
	.query_device = query_device,
	.query_gid = query_gid,
	.query_port = query_port,
	.query_qp = iwk_query_qp,
	.query_srq = iwk_query_srq,
	.reg_user_mr = iwk_reg_user_mr,
	.req_notify_cq = iwk_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, iwk_cq, base),
	INIT_RDMA_OBJ_SIZE(ib_pd, iwk_pd, base),
	INIT_RDMA_OBJ_SIZE(ib_qp, iwk_qp, base),
	INIT_RDMA_OBJ_SIZE(ib_srq, iwk_srq, base),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, iwk_ucontext, base),
};

/* ---- making it ---- */

/* rdma_cm finds the device by the address of the network device. */
static void set_gid(struct iwk_dev *dev)
{
	if (dev->netdev->addr_len && !is_zero_ether_addr(dev->netdev->dev_addr))
		memcpy(dev->gid, dev->netdev->dev_addr,
		       min_t(u16, dev->netdev->addr_len, ETH_ALEN));
	else
		eth_random_addr(dev->gid);
	addrconf_addr_eui48((u8 *)&dev->base.node_guid, dev->gid);
}

static struct iwk_dev *dev_make(struct net_device *netdev)
{
	struct iwk_dev *dev = ib_alloc_device(iwk_dev, base);

	if (!dev)
		return NULL;
	dev->netdev = netdev;
	dev->base.node_type = RDMA_NODE_RNIC;
	dev->base.phys_port_cnt = 1;
	dev->base.num_comp_vectors = num_possible_cpus();
	dev->base.uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND);
	dev->base.iw_driver_flags = IW_F_NO_PORT_MAP;
	memcpy(dev->base.node_desc, SIW_NODE_DESC_COMMON, sizeof(SIW_NODE_DESC_COMMON));
	memcpy(dev->base.iw_ifname, netdev->name, sizeof(dev->base.iw_ifname));
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1);
	xa_init(&dev->mrs);
	xa_init_flags(&dev->conns, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	init_waitqueue_head(&dev->conns_gone);
	mutex_init(&dev->switches_lock);
	set_gid(dev);
	dev->wq = alloc_workqueue("iwarp", WQ_MEM_RECLAIM | WQ_HIGHPRI, 0);
	if (!dev->wq)
		goto dealloc;
	if (iwk_env_make_domain(dev))
		goto destroy;
	dev_hold(netdev);
	mutex_lock(&devs_lock);
	list_add(&dev->entry, &devs);
	mutex_unlock(&devs_lock);
	/* From here on, ib_dealloc_device ends all this. */
	ib_set_device_ops(&dev->base, &ops);
	return dev;
destroy:
	destroy_workqueue(dev->wq);
dealloc:
	ib_dealloc_device(&dev->base);
	return NULL;
}

/* Finds the device on a network device, with a reference; any one if that is NULL. */
static struct iwk_dev *dev_find(const struct net_device *netdev)
{
	struct iwk_dev *dev, *found = NULL;

	mutex_lock(&devs_lock);
	list_for_each_entry (dev, &devs, entry)
		if ((!netdev || dev->netdev == netdev) && ib_device_try_get(&dev->base)) {
			found = dev;
			break;
		}
	mutex_unlock(&devs_lock);
	return found;
}

static int newlink(const char *name, struct net_device *netdev)
{
	struct iwk_dev *dev = dev_find(netdev);
	int error;

	if (dev) {
		ib_device_put(&dev->base);
		return -EEXIST;
	}
	dev = dev_make(netdev);
	if (!dev)
		return -ENOMEM;
	error = ib_register_device(&dev->base, name, NULL);
	if (error)
		ib_dealloc_device(&dev->base);
	return error;
}

static struct rdma_link_ops link_ops = { .type = "iwarp", .newlink = newlink };

/* ---- the network device's changes ---- */

static void port_event(struct iwk_dev *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->base,
		.event = type,
		.element.port_num = 1,
	};

	ib_dispatch_event(&event);
}

static int netdev_event(struct notifier_block *block, unsigned long type, void *data)
{
	struct iwk_dev *dev = dev_find(netdev_notifier_info_to_dev(data));

	if (!dev)
		return NOTIFY_DONE;
	if (type == NETDEV_UP) {
		port_event(dev, IB_EVENT_PORT_ACTIVE);
	} else if (type == NETDEV_DOWN) {
		port_event(dev, IB_EVENT_PORT_ERR);
	} else if (type == NETDEV_UNREGISTER) {
		WRITE_ONCE(dev->netdev_gone, true);
		ib_unregister_device_queued(&dev->base);
	}
	ib_device_put(&dev->base);
	return NOTIFY_OK;
}

static struct notifier_block netdev_block = { .notifier_call = netdev_event };

static int __init iwarp_init(void)
{
	int error;

	iwk_debug_init();
	error = register_netdevice_notifier(&netdev_block);
	if (error)
		iwk_debug_exit();
	else
		rdma_link_register(&link_ops);
	return error;
}

static bool all_gone(void)
{
	bool gone;

	mutex_lock(&devs_lock);
	gone = list_empty(&devs);
	mutex_unlock(&devs_lock);
	return gone;
}

static void __exit iwarp_exit(void)
{
	struct iwk_dev *dev;

	rdma_link_unregister(&link_ops);
	unregister_netdevice_notifier(&netdev_block);
	while ((dev = dev_find(NULL)))
		ib_unregister_device_and_put(&dev->base);
	/* Others may be about to unregister one. */
	while (!all_gone())
		msleep(20);
	iwk_debug_exit();
}

module_init(iwarp_init);
module_exit(iwarp_exit);
