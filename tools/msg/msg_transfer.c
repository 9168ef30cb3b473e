/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg_transfer.h"
#include "msg_exchange.h"
#include "msg_folder.h"

#include <stddef.h>
#include <unistd.h>

static struct msg_transfer *find(struct msg_transfers *t, uint64_t tag)
{
    for (unsigned i = 0; i < MSG_TRANSFERS_MOST; i++)
        if (t->list[i].tag == tag)
            return &t->list[i];
    return NULL;
}

static void end(struct msg_transfer *f)
{
    if (f->tag != 0)
        close(f->file);
    *f = (struct msg_transfer){0};
}

static const char *fail(struct msg_transfer *f, const char *why)
{
    end(f);
    return why;
}

static const char *push(struct msg_transfers *t, struct msg_transfer *f)
{
    while (f->left > 0 && f->under_way < MSG_TRANSFER_PARTS) {
        const size_t part = f->left > MSG_PART ? MSG_PART : (size_t)f->left;
        uint8_t *buffer = iw_messages_get(t->m, part);
        if (buffer == NULL) /* its parts that are under way give theirs back */
            return f->under_way > 0 ? NULL : fail(f, "no memory");
        if (!msg_folder_read(f->file, buffer, part)) {
            iw_messages_free(t->m, buffer);
            return fail(f, "cannot be read, or has become shorter");
        }
        if (iw_messages_send(t->s, f->to, &(struct iovec){buffer, part}, 1,
                             IW_MESSAGES_GIVE | IW_MESSAGES_NOWAIT | IW_MESSAGES_NOTIFY,
                             f->tag) != 0) {
            iw_messages_free(t->m, buffer);
            return fail(f, "too much is sent at once");
        }
        f->left -= part;
        f->under_way++;
    }
    if (f->left == 0 && f->under_way == 0)
        end(f);
    return NULL;
}

const char *msg_transfer_begin(struct msg_transfers *t, uint32_t to, int file, uint64_t length)
{
    struct msg_transfer *f = find(t, 0);
    if (f == NULL) {
        close(file);
        return "too many files are read at once";
    }
    *f = (struct msg_transfer){.tag = ++t->tags, .left = length, .to = to, .file = file};
    return push(t, f);
}

const char *msg_transfer_reported(struct msg_transfers *t, const struct iw_message *report,
                                  uint32_t *to)
{
    struct msg_transfer *f = report->tag != 0 ? find(t, report->tag) : NULL;
    if (f == NULL)
        return NULL;
    if (report->kind == IW_MESSAGES_UNDELIVERED) {
        end(f);
        return NULL;
    }
    *to = f->to;
    f->under_way--;
    return push(t, f);
}

void msg_transfer_end_all(struct msg_transfers *t)
{
    for (unsigned i = 0; i < MSG_TRANSFERS_MOST; i++)
        end(&t->list[i]);
}
