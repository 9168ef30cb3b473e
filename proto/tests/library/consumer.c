/* SPDX-License-Identifier: BSD-3-Clause */
/* A user of an installed libiwarp and libiwarp_host, valid in C and in C++: prints the name of an
 * opcode, and why a capture that is not there cannot be read. check_install.sh compares the output.
 */
#include <stdio.h>

#include <iwarp/capture.h>
#include <iwarp/wire.h>

int main(void)
{
    char error[IW_CAPTURE_ERROR];
    struct iw_capture *capture = iw_capture_open("/nonexistent.pcapng", error);
    printf("%s; %s\n", iw_wire_opcode_name(IW_OP_WRITE),
           capture == NULL ? error : "opened what is not there");
    iw_capture_close(capture);
    return 0;
}
