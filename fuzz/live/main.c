/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-fuzz: fuzzes a live iWARP peer. */
#include "hunt.h"

int main(int argc, char **argv)
{
    return iw_hunt_main(argc, argv);
}
