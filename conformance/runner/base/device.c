/* SPDX-License-Identifier: BSD-3-Clause */
#include "device.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "host/text_tools.h"
#include "result.h"

const char *iw_device_field_name(enum iw_device_field field)
{
    static const char *const names[IW_DEVICE_FIELDS] = {"name", "driver", "firmware", "kernel",
                                                        "operator"};
    return names[field];
}

void iw_device_say(struct iw_device *d, enum iw_device_field field, const char *text)
{
    if (d->is[field] != NULL || text == NULL || *text == '\0')
        return;
    d->is[field] = iw_text_clean(text);
    for (char *end; (end = strchr(d->is[field], '\n')) != NULL;)
        *end = ' ';
}

void iw_device_add(struct iw_device *d, const struct iw_device *from)
{
    for (int i = 0; i < IW_DEVICE_FIELDS; i++)
        iw_device_say(d, (enum iw_device_field)i, from->is[i]);
}

void iw_device_add_json(struct iw_device *d, const json_t *object)
{
    for (int i = 0; i < IW_DEVICE_FIELDS; i++) {
        enum iw_device_field field = (enum iw_device_field)i;
        iw_device_say(d, field,
                      json_string_value(json_object_get(object, iw_device_field_name(field))));
    }
}

json_t *iw_device_to_json(const struct iw_device *d)
{
    json_t *object = iw_got(json_object());
    for (int i = 0; i < IW_DEVICE_FIELDS; i++)
        json_object_set_new(object, iw_device_field_name((enum iw_device_field)i),
                            iw_json_text(d->is[i]));
    return object;
}

char *iw_device_text(const struct iw_device *d)
{
    char *text = NULL;
    for (int i = 0; i < IW_DEVICE_FIELDS; i++) {
        if (d->is[i] == NULL)
            continue;
        if (i != IW_DEVICE_NAME) {
            iw_text_join(&text, ", ", iw_device_field_name((enum iw_device_field)i));
            iw_text_join(&text, " ", d->is[i]);
        } else {
            text = iw_text_copy(d->is[i]);
        }
    }
    return text;
}

void iw_device_free(struct iw_device *d)
{
    for (int i = 0; i < IW_DEVICE_FIELDS; i++)
        free(d->is[i]);
    *d = (struct iw_device){{NULL}};
}
