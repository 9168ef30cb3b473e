/* SPDX-License-Identifier: BSD-3-Clause */
#include "target_offer.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/places.h"
#include "host/text.h"

static int is_target(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".lua") == 0;
}

void iw_target_offer(const struct iw_offers *to)
{
    char *library = iw_library(), *folder = iw_text_format("%s/../targets", library);
    struct dirent **names;
    int count = scandir(folder, &names, is_target, alphasort);
    iw_offer(to, "embedded", "the reference stack, started for each case");
    iw_offer(to, "tcp:", "tcp:HOST:PORT[,KEY=VALUE...]: any peer on TCP");
    for (int i = 0; i < count; i++) {
        names[i]->d_name[strlen(names[i]->d_name) - 4] = 0;
        iw_offer(to, names[i]->d_name, "a target file");
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    free(folder);
    free(library);
    iw_offer_files(to);
}
