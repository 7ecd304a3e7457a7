/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hostile [-t TRANSPORT] [-k KEYFILE] [-d DIR] [-n COUNT] [-w WIDTH] [-s SEED] ATTACK ADDRESS PORT
 *
 * Runs COUNT hostile connections, WIDTH at a time, and prints what became of them. The same SEED makes the same ones. Exit status 0:
 * all came to an end, whatever it was; 1: the daemon did not answer, or sent what is malformed; 2: usage.
 */
#include <getopt.h>
#include <netdb.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "common/log.h"

static int usage(void)
{
	fprintf(stderr,
		"usage: hostile [-t tcp|rdma] [-k KEYFILE] [-d DIR] [-n COUNT] [-w WIDTH] [-s SEED] ATTACK ADDRESS "
		"PORT\nattacks: %s\n",
		attack_names);
	return 2;
}

static bool read_options(struct crowd *crowd, int argc, char **argv)
{
	int option;

	crowd->transport = endpoint_transport_find("tcp");
	crowd->dir = "";
	crowd->count = 100;
	crowd->width = 4;
	crowd->random = 1;
	while ((option = getopt(argc, argv, "t:k:d:n:w:s:")) != -1) {
		if (option == 't')
			crowd->transport = endpoint_transport_find(optarg);
		else if (option == 'k' && key_load(optarg, &crowd->key, NULL, 0) < 0)
			return false;
		else if (option == 'd')
			crowd->dir = optarg;
		else if (option == 'n')
			crowd->count = strtoul(optarg, NULL, 10);
		else if (option == 'w')
			crowd->width = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 's')
			crowd->random = strtoull(optarg, NULL, 10);
		else if (option == '?')
			return false;
	}
	return crowd->transport && crowd->width && argc - optind == 3;
}

static bool read_address(struct crowd *crowd, const char *address, const char *port)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai;

	if (getaddrinfo(address, port, &hints, &ai))
		return false;
	memcpy(&crowd->addr, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
	return true;
}

static void print_tally(const struct crowd *crowd, const char *attack)
{
	const struct tally *t = &crowd->tally;

	printf("%s: %lu begun, %lu ended, %lu let in, %lu challenged, %lu refused, %lu lost, %lu malformed;", attack,
	       t->begun, t->ended, t->connected, t->challenged, t->refused, t->lost, t->malformed);
	for (unsigned int i = 0; i < WIRE_TYPE_END; i++)
		if (t->heard[i])
			printf(" %lu %s", t->heard[i], wire_type_name(i));
	printf("\n");
}

int main(int argc, char **argv)
{
	static struct crowd crowd;
	const char *attack;
	int r;

	if (!read_options(&crowd, argc, argv) || !read_address(&crowd, argv[optind + 1], argv[optind + 2]))
		return usage();
	attack = argv[optind];
	crowd.attack = attack_find(attack);
	if ((!crowd.attack && strcmp(attack, "strangers")) || sodium_init() < 0)
		return usage();
	r = crowd.attack ? crowd_run(&crowd) : strangers_run(&crowd);
	print_tally(&crowd, attack);
	if (r < 0)
		fprintf(stderr, "hostile: %s\n", strerror(-r));
	return r < 0 || crowd.tally.malformed ? 1 : 0;
}
