/* SPDX-License-Identifier: BSD-3-Clause */
#include "script_image.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "script_budget.h"
#include "script_chunk.h"
#include "script_memory.h"

/* By what a state is for, and whether it has its file. */
enum { PLAYING = 1, LOADED = 2, IMAGES = 4 };

struct image {
    void *octets; /* NULL: none */
    size_t length;
    lua_State *L;
    char *library, *file;
    size_t used, limit;
    struct iw_script_files files;
};

static struct image images[IMAGES];

static unsigned kind_of(const struct iw_script *s)
{
    return (s->playing != NULL ? PLAYING : 0u) | (s->loaded ? LOADED : 0u);
}

static void forget(struct image *image)
{
    free(image->octets);
    free(image->library);
    free(image->file);
    iw_script_files_clear(&image->files);
    *image = (struct image){0};
}

static bool fits(const struct image *image, const struct iw_script *s)
{
    return image->octets != NULL && image->limit == s->limit &&
           strcmp(image->library, s->options->library) == 0 &&
           (image->file == NULL || strcmp(image->file, s->file) == 0) &&
           iw_script_files_same(&image->files);
}

static bool take(struct iw_script *s, unsigned kind)
{
    const struct image *image = &images[kind];
    if (!fits(image, s) || !iw_script_stretch_restore(image->octets, image->length))
        return false;
    s->L = image->L;
    s->used = image->used;
    s->stretched = true;
    s->loaded = image->file != NULL;
    if (!s->loaded)
        iw_script_files_begin(&image->files);
    lua_setallocf(s->L, iw_script_allocate, s);
    *(struct iw_script **)lua_getextraspace(s->L) = s;
    return true;
}

bool iw_script_image_take(struct iw_script *s)
{
    unsigned kind = kind_of(s);
    return take(s, kind | LOADED) || take(s, kind);
}

void iw_script_image_begin(struct iw_script *s)
{
    s->stretched = iw_script_stretch_take(kind_of(s));
    iw_script_files_begin(&(struct iw_script_files){0});
}

void iw_script_image_keep(struct iw_script *s)
{
    struct image *image = &images[kind_of(s)];
    /* A file is read once, but played case by case. */
    if (!s->stretched || s->asked || (s->loaded && s->playing == NULL))
        return;
    lua_gc(s->L, LUA_GCCOLLECT);
    forget(image);
    image->octets = iw_script_stretch_copy(&image->length);
    if (image->octets == NULL)
        return;
    image->L = s->L;
    image->library = iw_text_copy(s->options->library);
    image->file = s->loaded ? iw_text_copy(s->file) : NULL;
    image->used = s->used;
    image->limit = s->limit;
    image->files = iw_script_files_end();
    iw_script_files_begin(&image->files);
}

void iw_script_image_end(struct iw_script *s)
{
    if (!s->stretched) {
        lua_close(s->L);
        return;
    }
    iw_script_stretch_give();
    s->stretched = false;
    s->used = 0;
}
