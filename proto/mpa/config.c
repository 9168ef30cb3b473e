/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "mpa/startup.h"

#define RTR_ALL (IW_MPA_RTR_SEND | IW_MPA_RTR_WRITE | IW_MPA_RTR_READ)

void iw_mpa_config_default(struct iw_mpa_config *config)
{
    memset(config, 0, sizeof(*config));
    config->revision = 2;
    config->crc = true;
    config->enhanced = true;
    config->rtr = RTR_ALL;
    config->ird = 16;
    config->ord = 16;
}

bool iw_mpa_config_valid(enum iw_mpa_role role, const struct iw_mpa_config *config)
{
    if (config->revision > 2 || (config->rtr & ~RTR_ALL))
        return false;
    if (config->ird > IW_MPA_DEPTH_UNSPECIFIED || config->ord > IW_MPA_DEPTH_UNSPECIFIED)
        return false;
    if (role == IW_MPA_RESPONDER) /* RFC 6581 §9.2: an enhanced responder has at least one form */
        return config->revision < 2 || config->rtr;
    if (config->enhanced && config->revision < 2)
        return false;
    return !config->peer_to_peer || (config->enhanced && config->rtr);
}
