# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# rdcp and rdcpd. Sources are found by wildcard, objects and programs land under build/; every combination of
# CC=clang, SAN= and FAULTS=1 has a folder of its own there, so they never mix. `make help` lists the targets.

RDCP_VERSION ?= 0.1.0

PREFIX ?= /usr/local
DESTDIR ?=
BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
MANDIR ?= $(PREFIX)/share/man
SYSCONFDIR ?= /etc
# units, sysusers.d, tmpfiles.d and modules-load.d live below it
LIBDIR ?= $(PREFIX)/lib
DATADIR ?= $(PREFIX)/share/rdcp
# Debian's zsh looks for those of packages in vendor-completions
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d

PKG_CONFIG ?= pkg-config
CLANG ?= clang
CFLAGS ?= -O2 -g

empty :=
space := $(empty) $(empty)

# ---- where: build, build/clang, build/asan, build/tsan, build/asan-faults, ...

SAN ?=
FAULTS ?=
variant := $(strip $(if $(findstring clang,$(CC)),clang) \
	$(if $(findstring address,$(SAN)),asan,$(if $(findstring thread,$(SAN)),tsan,$(if $(SAN),san))) \
	$(if $(FAULTS),faults))
B ?= build$(if $(variant),/$(subst $(space),-,$(variant)))

# ---- how

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -Wformat=2 \
	-Wno-unused-parameter $(if $(WERROR),-Werror)

# What this compiler and machine have of it, asked once. It comes behind the flags of a distribution, whose level of
# _FORTIFY_SOURCE may be lower.
has = $(shell $(CC) -O2 -Werror $(1) -include features.h -x c -c -o /dev/null /dev/null 2>/dev/null && echo '$(1)')
ifeq ($(SAN),)
HARDENING = $(eval HARDENING := -fstack-protector-strong \
	$(or $(call has,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2) \
	$(foreach f,-fstack-clash-protection -ftrivial-auto-var-init=zero -fcf-protection,$(call has,$(f))))$(HARDENING)
else
# fortified libc calls hide bugs from the sanitizers
HARDENING := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS := -O1 -g
endif

# Asked once and only when something is compiled, so that `make help` or `make deps` works on a bare machine.
pkg = $(shell $(PKG_CONFIG) --cflags --libs $(1))
lazy = $(eval $(1) := $$(call pkg,$(2)))$($(1))
PKG_COMMON = $(call lazy,PKG_COMMON,libibverbs librdmacm uuid libxxhash libsodium)
PKG_DAEMON = $(call lazy,PKG_DAEMON,libsystemd)
PKG_CHECK = $(call lazy,PKG_CHECK,check)
cflags = $(filter-out -l% -L%,$(1))
libs = $(filter -l% -L% -pthread,$(1))

ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -I. $(if $(FAULTS),-DRDCP_FAULTS) $(WARNINGS) -fPIE -pthread \
	$(call cflags,$(PKG_COMMON)) $(CPPFLAGS) $(CFLAGS) $(HARDENING)
ALL_LDFLAGS = -pie -pthread -Wl,-z,relro,-z,now -Wl,--as-needed $(HARDENING) $(CFLAGS) $(LDFLAGS)
VERSION_FLAG := -DRDCP_VERSION='"$(RDCP_VERSION)"'

ifneq ($(V),1)
Q := @
say = @printf '  %-7s %s\n' $(1) '$(2)'
else
say = @:
endif

# ---- what

COMMON := $(sort $(wildcard common/*.c))
RDCP := $(sort $(wildcard rdcp/*.c))
RDCPD := $(sort $(wildcard rdcpd/*.c))
FAULT := $(if $(FAULTS),$(wildcard tests/fault.c))
UNIT := $(sort $(wildcard tests/unit/*.c tests/fuzz/*.c))
HOSTILE := $(sort $(wildcard tests/hostile/*.c))
SUITES := $(patsubst tests/unit/test_%.c,%,$(filter tests/unit/test_%.c,$(UNIT)))
FUZZ := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))

objects = $(patsubst %.c,$(B)/obj/%.o,$(1))
PROGRAMS := $(if $(filter rdcp/main.c,$(RDCP)),$(B)/rdcp) $(if $(filter rdcpd/main.c,$(RDCPD)),$(B)/rdcpd)
ARCHIVES := $(B)/obj/rdcp.a $(B)/obj/rdcpd.a $(B)/obj/common.a

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: dist deb rpm package-deps check-packages check-system check-long chaos install-rdcp install-rdcpd all programs check unit format lint bench demo fuzz deps install uninstall clean help FORCE

all: $(PROGRAMS) $(B)/unit $(B)/hostile ## build both programs and what tests them

programs: $(PROGRAMS)

$(B)/rdcp: $(call objects,rdcp/main.c $(FAULT)) $(B)/obj/rdcp.a $(B)/obj/common.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call libs,$(PKG_COMMON))

$(B)/rdcpd: $(call objects,rdcpd/main.c $(FAULT)) $(B)/obj/rdcpd.a $(B)/obj/common.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call libs,$(PKG_COMMON) $(PKG_DAEMON))

$(B)/unit: $(call objects,$(UNIT) $(FAULT)) $(ARCHIVES)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call libs,$(PKG_CHECK) $(PKG_COMMON) $(PKG_DAEMON))

$(B)/hostile: $(call objects,$(HOSTILE) $(FAULT)) $(B)/obj/common.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call libs,$(PKG_COMMON))

# Archives, so that a test binary takes what its tests use and the two programs' main.c stay out.
$(B)/obj/common.a: $(call objects,$(COMMON))
$(B)/obj/rdcp.a: $(call objects,$(filter-out rdcp/main.c,$(RDCP)))
$(B)/obj/rdcpd.a: $(call objects,$(filter-out rdcpd/main.c,$(RDCPD)))
$(ARCHIVES): $(B)/flags
	$(call say,AR,$@)
	@mkdir -p $(@D) && rm -f $@
	$(Q)$(AR) rcs $@ $(filter %.o,$^)

$(B)/obj/rdcpd/%.o $(B)/obj/tests/unit/%.o: EXTRA = $(call cflags,$(PKG_DAEMON) $(PKG_CHECK))
$(B)/obj/rdcp/%.o $(B)/obj/rdcpd/%.o: EXTRA += $(VERSION_FLAG)
$(B)/obj/tests/unit/%.o: EXTRA += -I$(B)/obj $(VERSION_FLAG)
$(B)/obj/tests/unit/main.o: $(B)/obj/suites.h

$(B)/obj/%.o: %.c $(B)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(EXTRA) -MMD -MP -c -o $@ $<

# Rewritten only when its text changes: another compiler, flag or version rebuilds, another test file relinks.
define keep
	@mkdir -p $(@D)
	@printf '%s\n' $(1) >$@.$$$$ && if cmp -s $@.$$$$ $@; then rm $@.$$$$; else mv $@.$$$$ $@; fi
endef

$(B)/flags: FORCE
	$(call keep,'$(CC) $(subst ','\'',$(ALL_CFLAGS) $(ALL_LDFLAGS) $(VERSION_FLAG))' '$(sort $(COMMON) $(RDCP) $(RDCPD))')

$(B)/obj/suites.h: FORCE
	$(call keep,'/* every tests/unit/test_*.c; written by the Makefile */' $(patsubst %,'SUITE(%)',$(SUITES)))

-include $(patsubst %.o,%.d,$(call objects,$(COMMON) $(RDCP) $(RDCPD) $(UNIT) $(HOSTILE) $(FAULT)))

# ---- tests

check: $(if $(filter 0,$(shell id -u)),$(if $(STAGES),package-deps,deps)) ## everything: unit tests, sanitizers, copies, the RDMA labs, lint (under 30 minutes); STAGES=all with the two below
	@tests/run $(STAGES)

check-long: $(if $(filter 0,$(shell id -u)),deps) ## what takes long: chaos, crowds of 128, fuzzers, slow connections (2 hours; MINUTES=10 of chaos a transport, FUZZ_TIME=60)
	@MINUTES=$(MINUTES) FUZZ_TIME=$(if $(filter command line environment,$(origin FUZZ_TIME)),$(FUZZ_TIME)) tests/run long

# of faults: see `tests/chaos/run --help`
chaos: $(if $(filter 0,$(shell id -u)),deps) ## copies while processes die and stop, packets get lost, disks fill up (MINUTES=1 for each of TRANSPORTS='tcp rxe siw'; SEED= KINDS=)
	@$(MAKE) --no-print-directory programs
	@RDCP_BUILD=$(B) tests/chaos/run $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) \
		$(if $(TRANSPORTS),--transports '$(TRANSPORTS)') $(if $(KINDS),--kinds '$(KINDS)')

unit: $(B)/unit ## unit tests; T="wire key" picks suites, SAN= and FAULTS=1 pick a variant
	$(Q)$< $(T)

format: ## reformat all C files in place
	clang-format -i $(wildcard */*.[ch] tests/*/*.[ch])

lint: ## style, layers, sizes, shellcheck, man pages, clean builds with gcc and clang
	@tests/lint

bench: $(if $(filter 0,$(shell id -u)),deps) ## measure copies against perftest, cp, rcopy, rsync, scp, nc in the lab (25 minutes)
	@$(MAKE) --no-print-directory programs
	@B=$(B) CC="$(CC)" tests/bench/run $(ARGS)

demo: $(if $(filter 0,$(shell id -u)),deps) ## a file there and back over real RDMA, shown step by step
	@$(MAKE) --no-print-directory programs
	@B=$(B) tests/demo $(ARGS)

# libFuzzer needs clang; each entry runs FUZZ_TIME seconds from its committed corpus and keeps what it finds under build/.
# FUZZ_SAN=thread looks for races instead. RDCP_FUZZ_DIR= has another place than memory for the files of whole sessions.
FUZZ_TIME ?= 5
FUZZ_SAN ?= address,undefined
E ?= $(FUZZ:fuzz_%=%)
F := build/fuzz$(if $(filter thread,$(FUZZ_SAN)),-tsan)
FUZZ_FLAGS := -fsanitize=$(FUZZ_SAN) -fno-sanitize-recover=all
# Threads share the counters of coverage without a lock: ThreadSanitizer sees them only in the entries, which have one thread.
FUZZ_COVERAGE = $(if $(filter-out thread,$(FUZZ_SAN))$(filter tests/fuzz/fuzz_%,$<),-fsanitize=fuzzer-no-link)
fuzz: $(E:%=$(F)/fuzz_%) ## fuzz decoders and whole sessions for FUZZ_TIME (5) seconds each; E="copy record" picks entries
	@tests/fuzz/run $(F) $(FUZZ_TIME) $(E)

FUZZ_PROGRAM := $(COMMON) $(filter-out %/main.c,$(RDCP) $(RDCPD)) $(filter-out tests/fuzz/fuzz_%,$(wildcard tests/fuzz/*.c))
FUZZ_OBJECTS := $(patsubst %.c,$(F)/obj/%.o,$(FUZZ_PROGRAM) $(FUZZ:%=tests/fuzz/%.c))
$(F)/fuzz_%: $(F)/obj/tests/fuzz/fuzz_%.o $(F)/obj/program.a
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) -fsanitize=fuzzer $(FUZZ_FLAGS) -pthread -o $@ $^ $(call libs,$(PKG_COMMON) $(PKG_DAEMON))

$(F)/obj/program.a: $(FUZZ_PROGRAM:%.c=$(F)/obj/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(F)/obj/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -std=gnu11 -D_GNU_SOURCE -I. -O1 -g -DFUZZ_MAIN $(FUZZ_FLAGS) $(FUZZ_COVERAGE) -pthread $(VERSION_FLAG) \
		$(call cflags,$(PKG_COMMON) $(PKG_DAEMON)) -MMD -MP -c -o $@ $<
.SECONDARY: $(FUZZ_OBJECTS)
-include $(FUZZ_OBJECTS:.o=.d)

# Debian's names. Nothing is touched when all are there; elsewhere than on Debian it only says what is needed.
DEPS := gcc libc6-dev clang libclang-rt-14-dev make pkg-config libibverbs-dev librdmacm-dev libsystemd-dev uuid-dev libxxhash-dev libsodium-dev check \
	clang-format universal-ctags shellcheck mandoc zsh fish \
	acl attr e2fsprogs rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest rsync netcat-openbsd openssh-client iproute2 util-linux procps strace valgrind \
	busybox-static cpio kmod qemu-system-x86 linux-source-6.1 flex bison bc libelf-dev libssl-dev xz-utils
deps: ## install the Debian packages that the build and the tests need and that are missing
	@command -v dpkg-query >/dev/null || { echo "not a Debian system; needed: $(DEPS)"; exit 0; }; \
	missing=; for p in $(DEPS); do \
		dpkg-query -W -f='$${db:Status-Status}' $$p 2>/dev/null | grep -qx installed || missing="$$missing $$p"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	echo "installing missing packages:$$missing"; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing >/dev/null

# ---- install

# What belongs to which package is said here and nowhere else: packaging/ runs these two and takes what they put there.
# PACKAGE=1 adds the drop-in whose key a package makes when it is installed.

PACKAGE ?=
UNITDIR ?= $(LIBDIR)/systemd/system
I = $(DESTDIR)
CONFDIR = $(SYSCONFDIR)/rdcp

MAN_RDCP := $(wildcard rdcp/*.1)
MAN_RDCPD := $(wildcard rdcpd/*.[578] common/*.7)
UNITS := $(wildcard systemd/*.service systemd/*.socket)
# drop-ins of the unit that are not enabled
EXTRAS := $(wildcard systemd/*.conf)
DROPINS := $(wildcard systemd/sysusers.d/*.conf systemd/tmpfiles.d/*.conf systemd/modules-load.d/*.conf)
CATALOGS := $(wildcard systemd/*.catalog)

# their places below a prefix: rdcp/rdcp.1 -> man1/rdcp.1, systemd/tmpfiles.d/x.conf -> tmpfiles.d/x.conf
man_places = $(foreach m,$(1),man$(patsubst .%,%,$(suffix $(m)))/$(notdir $(m)))
FILES_RDCP = $(BINDIR)/rdcp $(addprefix $(MANDIR)/,$(call man_places,$(MAN_RDCP))) \
	$(BASHDIR)/rdcp $(ZSHDIR)/_rdcp $(FISHDIR)/rdcp.fish
FILES_RDCPD = $(SBINDIR)/rdcpd $(addprefix $(MANDIR)/,$(call man_places,$(MAN_RDCPD))) \
	$(addprefix $(UNITDIR)/,$(notdir $(UNITS))) $(patsubst systemd/%,$(LIBDIR)/%,$(DROPINS)) \
	$(patsubst systemd/%,$(LIBDIR)/systemd/catalog/%,$(CATALOGS)) $(patsubst systemd/%,$(DATADIR)/%,$(EXTRAS))

install: install-rdcp install-rdcpd ## install below PREFIX (/usr/local), staged in DESTDIR; a configuration file that exists is kept

install-rdcp: $(B)/rdcp
	install -D -m 0755 $(B)/rdcp $(I)$(BINDIR)/rdcp
	for m in $(MAN_RDCP); do install -D -m 0644 $$m $(I)$(MANDIR)/man$${m##*.}/$${m##*/} || exit; done
	install -D -m 0644 rdcp/completion/rdcp.bash $(I)$(BASHDIR)/rdcp
	install -D -m 0644 rdcp/completion/_rdcp $(I)$(ZSHDIR)/_rdcp
	install -D -m 0644 rdcp/completion/rdcp.fish $(I)$(FISHDIR)/rdcp.fish

install-rdcpd: $(B)/rdcpd
	install -D -m 0755 $(B)/rdcpd $(I)$(SBINDIR)/rdcpd
	for m in $(MAN_RDCPD); do install -D -m 0644 $$m $(I)$(MANDIR)/man$${m##*.}/$${m##*/} || exit; done
	install -d $(I)$(UNITDIR) $(I)$(CONFDIR)
	for u in $(UNITS); do sed 's|/usr/sbin/rdcpd|$(SBINDIR)/rdcpd|g' $$u >$(I)$(UNITDIR)/$${u##*/} && \
		chmod 0644 $(I)$(UNITDIR)/$${u##*/} || exit; done
	for e in $(EXTRAS); do install -D -m 0644 $$e $(I)$(DATADIR)/$${e##*/} || exit; done
	for d in $(DROPINS); do install -D -m 0644 $$d $(I)$(LIBDIR)/$${d#systemd/} || exit; done
	for c in $(CATALOGS); do install -D -m 0644 $$c $(I)$(LIBDIR)/systemd/catalog/$${c##*/} || exit; done
	[ -e $(I)$(CONFDIR)/rdcpd.conf ] || install -m 0644 rdcpd/rdcpd.conf $(I)$(CONFDIR)/rdcpd.conf
	[ -z "$(PACKAGE)" ] || install -D -m 0644 packaging/00-default.conf $(I)$(CONFDIR)/rdcpd.conf.d/00-default.conf

uninstall: ## remove what install put there, except the configuration
	rm -f $(addprefix $(I),$(FILES_RDCP) $(FILES_RDCPD))

# ---- packages: build/packages/

dist: ## a source archive of the committed and changed files
	@packaging/build dist $(RDCP_VERSION)

deb: $(if $(filter 0,$(shell id -u)),package-deps) ## Debian packages
	@packaging/build deb $(RDCP_VERSION)

rpm: $(if $(filter 0,$(shell id -u)),package-deps) ## RPM packages
	@packaging/build rpm $(RDCP_VERSION)

package-deps:
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS) $(PACKAGE_DEPS)"

check-packages: $(if $(filter 0,$(shell id -u)),package-deps) ## packages: lintian, rpmlint, contents, and two builds that are the same
	@packaging/check $(RDCP_VERSION)

check-system: $(if $(filter 0,$(shell id -u)),package-deps) ## two Debian systems in QEMU: install, copy, reload, restart, upgrade, remove, purge (10 minutes)
	@tests/system/run $(RDCP_VERSION)

PACKAGE_DEPS := debhelper dpkg-dev fakeroot lintian rpm rpmlint mmdebstrap e2fsprogs

clean: ## remove build/
	rm -rf build

help: ## this list
	@echo "targets:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' Makefile | while IFS='	' read -r t d; do printf '  %-10s %s\n' "$$t" "$$d"; done
	@echo "variables: V=1 WERROR=1 CC=clang SAN=address,undefined SAN=thread FAULTS=1 T='suite ...' FUZZ_TIME=s FUZZ_SAN=thread E='entry ...'"
	@echo "           PREFIX DESTDIR CFLAGS LDFLAGS RDCP_VERSION"
