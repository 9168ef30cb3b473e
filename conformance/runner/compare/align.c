/* SPDX-License-Identifier: BSD-3-Clause */
/* The longest common subsequence of the kinds of messages. */
#include "align.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/json_values.h"
#include "host/text.h"
#include "run_file.h"

/* Messages of a case beyond these stand alone: no case has as many, and the table is their square.
 */
enum { MOST = 4096 };

/* Returns the length of the words that say what a message is: "terminate", "mpa request". One that
 * is described by its length only ("24 octets") has none. */
static size_t kind(const char *text)
{
    size_t n = strcspn(text, " ");
    if (isdigit((unsigned char)*text))
        return 0;
    return strncmp(text, "mpa ", 4) == 0 ? n + 1 + strcspn(text + n + 1, " ") : n;
}

static bool same_kind(const json_t *a, const json_t *b)
{
    const char *ours = iw_json_get_text(a, "text"), *theirs = iw_json_get_text(b, "text");
    return json_integer_value(json_object_get(a, "conn")) ==
               json_integer_value(json_object_get(b, "conn")) &&
           strcmp(iw_json_get_text(a, "from"), iw_json_get_text(b, "from")) == 0 &&
           kind(ours) == kind(theirs) && strncmp(ours, theirs, kind(ours)) == 0;
}

static size_t bounded(const json_t *list)
{
    size_t n = json_array_size(list);
    return n < MOST ? n : MOST;
}

struct iw_message_pair *iw_align(const json_t *a, const json_t *b, size_t *count)
{
    size_t all_a = json_array_size(a), all_b = json_array_size(b);
    size_t n = bounded(a), m = bounded(b), width = m + 1, i = 0, k = 0;
    struct iw_message_pair *pairs = iw_got(calloc(all_a + all_b + 1, sizeof(*pairs)));
    /* common[i * width + k]: of what is left from i and k on. */
    uint16_t *common = iw_got(calloc((n + 1) * width, sizeof(*common)));
    for (i = n; i-- > 0;)
        for (k = m; k-- > 0;) {
            uint16_t without_a = common[(i + 1) * width + k], without_b = common[i * width + k + 1];
            common[i * width + k] = same_kind(json_array_get(a, i), json_array_get(b, k))
                                        ? (uint16_t)(common[(i + 1) * width + k + 1] + 1)
                                    : without_a > without_b ? without_a
                                                            : without_b;
        }
    *count = 0;
    for (i = 0, k = 0; i < n || k < m;) {
        bool same = i < n && k < m && same_kind(json_array_get(a, i), json_array_get(b, k));
        bool from_a = k == m || (i < n && common[(i + 1) * width + k] >= common[i * width + k + 1]);
        pairs[(*count)++] =
            same     ? (struct iw_message_pair){json_array_get(a, i++), json_array_get(b, k++)}
            : from_a ? (struct iw_message_pair){json_array_get(a, i++), NULL}
                     : (struct iw_message_pair){NULL, json_array_get(b, k++)};
    }
    while (i < all_a)
        pairs[(*count)++].a = json_array_get(a, i++);
    while (k < all_b)
        pairs[(*count)++].b = json_array_get(b, k++);
    free(common);
    return pairs;
}
