// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* The size of the sender's window, by trial. See window.h. */
#include "window.h"

#include "util.h"

#define START_BYTES (4 * MIB)
#define START_SLOTS 4
#define GAIN 1.10   /* a larger window has to be worth it */
#define LOSS 0.97   /* a smaller one may cost so much */
#define SETTLED 32  /* measurements between trials */
#define MIN_ACKS 16 /* of a measurement, or: */
#define MIN_TIME (20 * MSEC)

void window_init(struct window *w, unsigned int slots, size_t slot_size)
{
	uint64_t start = START_BYTES / slot_size;

	*w = (struct window){ .max = slots };
	w->size = start > START_SLOTS ? (unsigned int)start : START_SLOTS;
	if (w->size > slots)
		w->size = slots;
	w->base = w->size;
	w->skip = w->size;
}

bool window_has_room(struct window *w, unsigned int in_flight)
{
	if (in_flight < w->size)
		return true;
	w->limited = true;
	return false;
}

static void resize(struct window *w, unsigned int size)
{
	/* What is in flight now was sent at the old size. */
	w->skip = w->size > size ? w->size : size;
	w->size = size;
}

static void start_trial(struct window *w, double rate)
{
	unsigned int size = w->down ? w->size / 2 : w->size * 2;

	if (size > w->max)
		size = w->max;
	w->settled = 0;
	if (size == w->size || size < 2) {
		w->down = !w->down;
		return;
	}
	w->trying = true;
	w->base = w->size;
	w->base_rate = rate;
	resize(w, size);
}

/* A trial up that pays is followed by another; anything else waits a while. */
static void end_trial(struct window *w, double rate)
{
	bool worth = w->down ? rate >= w->base_rate * LOSS : rate >= w->base_rate * GAIN;

	w->trying = false;
	if (!worth)
		resize(w, w->base);
	if (worth && !w->down)
		start_trial(w, rate);
	else
		w->down = !w->down;
}

static void on_measured(struct window *w, double rate)
{
	if (w->trying)
		end_trial(w, rate);
	else if (w->base_rate == 0 || ++w->settled >= SETTLED)
		start_trial(w, rate);
}

void window_on_ack(struct window *w, uint64_t now_ns)
{
	uint64_t elapsed;

	if (w->skip) {
		w->skip--;
		return;
	}
	if (!w->since_ns) {
		w->since_ns = now_ns;
		w->limited = false;
		w->acked = 0;
		return;
	}
	w->acked++;
	elapsed = now_ns - w->since_ns;
	if (w->acked < 2 * w->size || (w->acked < MIN_ACKS && elapsed < MIN_TIME) || !elapsed)
		return;
	/* Where the source or the end of the data was the limit, nothing was learnt about the window. */
	if (w->limited)
		on_measured(w, (double)w->acked * SEC / (double)elapsed);
	w->since_ns = 0;
}
