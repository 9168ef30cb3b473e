/* SPDX-License-Identifier: BSD-3-Clause */
#include "conform.h"

int main(int argc, char **argv)
{
    return iw_conform(argc, argv);
}
