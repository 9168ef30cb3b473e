/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_OFFERS_H
#define IW_HOST_OFFERS_H

/*
 * What a program offers to a shell that completes its command line. The shell runs the program with
 * the variable IWARP_COMPLETE and the words up to the one at the cursor; the program carries
 * nothing out and prints a line for each word that may stand there, "WORD<TAB>HELP". Other lines
 * ask the shell for what it knows better: ":files", ":folders", and ":command N": word N, from 0,
 * begins another command line.
 */

struct iw_offers {
    const char *typed;  /* what is there of the word */
    const char *before; /* stands before it in the same word: "--crc=", "send,"; `length` octets */
    int length;
};

/* Offers a word if it begins with what was typed; `help`, its first line is printed, may be NULL.
 */
void iw_offer(const struct iw_offers *to, const char *word, const char *help);
/* Offers each word of a list that ends with NULL. */
void iw_offer_words(const struct iw_offers *to, const char *const *words);
/* Offers files, or folders. */
void iw_offer_files(const struct iw_offers *to);
void iw_offer_folders(const struct iw_offers *to);

#endif
