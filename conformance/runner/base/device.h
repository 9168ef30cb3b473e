/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_DEVICE_H
#define IW_RUNNER_DEVICE_H

/* What was tested, and by whom: as a target file says, or an agent. */

#include <jansson.h>
#include <stdbool.h>

enum iw_device_field {
    IW_DEVICE_NAME,
    IW_DEVICE_DRIVER,
    IW_DEVICE_FIRMWARE,
    IW_DEVICE_KERNEL,
    IW_DEVICE_OPERATOR,
    IW_DEVICE_FIELDS
};

/* Each is owned; NULL: not known. */
struct iw_device {
    char *is[IW_DEVICE_FIELDS];
};

/* Returns "name", "driver" ... */
const char *iw_device_field_name(enum iw_device_field field);
/* Takes a text, made printable, for a field that has none; NULL is no text. */
void iw_device_say(struct iw_device *d, enum iw_device_field field, const char *text);
/* Takes what `from` has for fields that have none. */
void iw_device_add(struct iw_device *d, const struct iw_device *from);
/* Does the same with an object; members that are no texts count as missing. */
void iw_device_add_json(struct iw_device *d, const json_t *object);
/* Returns a new object with every field; null: not known. */
json_t *iw_device_to_json(const struct iw_device *d);
/* Returns "NAME, driver X, ..." in one line, which the caller frees; NULL if nothing is known. */
char *iw_device_text(const struct iw_device *d);
void iw_device_free(struct iw_device *d);

#endif
