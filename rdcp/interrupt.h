/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ^C and its like, for a program that ends within two seconds whatever it is doing. A thread takes the signals, so nothing else
 * is ever interrupted by one: it tells the loop through a descriptor, and what the loop does then is the orderly end. When
 * that does not come in time, or the user asks a second time, the thread says how much was copied and lets the signal have
 * its usual effect. Whoever waits sees the same status either way, 128 and the signal's number.
 *
 * Signals are the process's, and so is this: there is one.
 */
#ifndef RDCP_INTERRUPT_H
#define RDCP_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

#define INTERRUPT_ORDERLY_NS 1500000000ULL /* from the signal: an end that takes longer is given up by the loop */

/*
 * Once, before there is any other thread. From here SIGINT, SIGTERM, SIGHUP (those that are not ignored, as by
 * nohup(1)) and SIGUSR1 only come from here. -errno of eventfd(2) or pthread_create(3).
 */
int interrupt_start(void);

/* Whoever asks for the first time listens from then on; before, a signal is the end at once. */
int interrupt_fd(void);     /* becomes readable whenever the answer of one of the next two changes; -1: not started */
int interrupt_signal(void); /* which of them came, or 0 */
bool interrupt_is_asked(void); /* SIGUSR1: how far is it? True once for each time asked, unless they come too fast */

void interrupt_count(uint64_t files); /* so many are copied, should we have to say it */

/* True once: the caller says the last word, and the other one of loop and thread will not. */
bool interrupt_may_speak(void);

#endif
