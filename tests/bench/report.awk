# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What tests/bench/guest measured, as tables on the standard output, as JSON and as an SVG chart. Called by
# tests/bench/run: awk -v json=FILE -v svg=FILE -f report.awk kind=KIND FILE... Rates and wall times are medians of the
# rounds but round 0; busy seconds are averages, because the guest counts them in ticks of 10 ms.

BEGIN {
	nways = split("ib_send_bw ib_write_bw cp push pull rcopy rsync nc", ways, " ")
	nfways = split("push pull rsync-push rsync-pull scp-push scp-pull", fways, " ")
	nsets = split("4k source", sets, " ")
}

FNR == 1 {
	kinds[++nkinds] = kind
}
$1 == "sample" && $2 > 0 {
	n = ++count[kind, $3]
	wall[kind, $3, n] = $5
	busy[kind, $3] += $6
	mib[kind] = $4
}
$1 == "memory" {
	who[$2] = 1
	if (!((kind, $2) in small)) {
		small[kind, $2] = $4
		small_mib[kind] = $3
	}
	high[kind, $2] = $4
	pinned[kind, $2] = $5
}
# a set of small files is a way like others
$1 == "files" && $2 > 0 {
	set = $3 " " $4
	n = ++count[kind, set]
	wall[kind, set, n] = $6
	files[kind, $3] = $5
}
$1 == "short" && $2 > 0 {
	set = "short " $3
	n = ++count[kind, set]
	wall[kind, set, n] = $4
}
$1 == "slots" {
	window[kind] = $2 * $3
}

# of the wall times
function median(k, way,    n, i, j, x, a)
{
	n = count[k, way]
	for (i = 1; i <= n; i++) {
		x = wall[k, way, i]
		for (j = i - 1; j > 0 && a[j] > x; j--) a[j + 1] = a[j]
		a[j + 1] = x
	}
	return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
}

# how far apart the rounds are: the longest less the shortest wall time, of the median
function spread(k, way,    i, x, least, most)
{
	for (i = 1; i <= count[k, way]; i++) {
		x = wall[k, way, i]
		if (i == 1 || x < least) least = x
		if (i == 1 || x > most) most = x
	}
	return (most - least) / median(k, way)
}

function rate(k, way)
{
	return mib[k] / median(k, way)
}

function busy_per_gib(k, way)
{
	return busy[k, way] / count[k, way] / mib[k] * 1024
}

# bar WHAT VALUE LIMIT ">="|"<=" UNIT
function bar(what, value, limit, order, unit,    met)
{
	if (value < 0.005 && value > -0.005) value = 0
	met = order == ">=" ? value >= limit : value <= limit
	printf "  %-58s %7.2f %s %5.2f%s  %s\n", what, value, order, limit, unit, met ? "met" : "NOT MET"
	bars[met]++
}

function table(k,    yard, i, w, base)
{
	yard = "ib_send_bw"
	base = rate(k, yard)
	printf "\n%s: %d MiB, medians of %d rounds\n", k, mib[k], count[k, "push"]
	printf "  %-12s %8s %8s %8s %14s %12s\n", "", "MiB/s", "s", "spread", "of " yard, "busy s/GiB"
	for (i = 1; i <= nways; i++) {
		w = ways[i]
		if ((k, w) in count)
			printf "  %-12s %8.0f %8.2f %7.0f%% %14.2f %12.2f\n", w, rate(k, w), median(k, w), spread(k, w) * 100,
				rate(k, w) / base, busy_per_gib(k, w)
	}
}

# of the bars: in event mode where there is one processor, for an end that polls takes the time of the other
function yardstick(k)
{
	return k ~ /^uml/ ? "ib_send_bw" : "ib_write_bw"
}

function print_bars(k,    i, w, yard, want, parts, i2, two)
{
	split("push pull", two, " ")
	yard = yardstick(k)
	want = k == "uml-rxe" ? 0.70 : k == "uml-siw" ? 0.40 : 0.85
	for (i = 1; i <= 2; i++)
		bar(two[i] " / " yard, rate(k, two[i]) / rate(k, yard), want, ">=", "")
	if (k !~ /^uml/)
		return
	for (i = 1; i <= 2; i++)
		bar("(" yard " + cp) / " two[i] ", seconds", (median(k, yard) + median(k, "cp")) / median(k, two[i]), 0.75, ">=", "")
	parts = busy_per_gib(k, yard) + busy_per_gib(k, "cp")
	for (i = 1; i <= 2; i++)
		bar("busy seconds of " two[i] " / (" yard " + cp)", busy_per_gib(k, two[i]) / parts, 1.35, "<=", "")
}

# `others` times as fast: where the other's wall time is that much longer
function print_files(k,    i, j, o, set, w, two, others, limit)
{
	split("push pull", two, " ")
	split("rsync scp", others, " ")
	limit["rsync"] = 1.5
	limit["scp"] = 8
	for (i = 1; i <= nsets; i++) {
		set = sets[i]
		if (!((k, set) in files)) continue
		printf "\n%s: %d files, %s, medians of %d rounds (scp: 1)\n", k, files[k, set], set == "4k" ? "4 KiB each" : "a source tree", count[k, set " push"]
		printf "  %-12s %8s %8s %8s\n", "", "files/s", "s", "spread"
		for (j = 1; j <= nfways; j++) {
			w = set " " fways[j]
			if ((k, w) in count)
				printf "  %-12s %8.0f %8.2f %7.0f%%\n", fways[j], files[k, set] / median(k, w), median(k, w), spread(k, w) * 100
		}
		for (o = 1; o <= 2 && set == "4k"; o++)
			for (j = 1; j <= 2; j++)
				bar(set ": " two[j] " / " others[o] ", files per second", median(k, set " " others[o] "-" two[j]) / median(k, set " " two[j]), limit[others[o]], ">=", "")
	}
	for (j = 1; j <= 2; j++)
		if ((k, "short rping") in count)
			bar("8 bytes: " two[j] " / rping -C 1 (" sprintf("%.1f", median(k, "short rping") * 1000) " ms)", median(k, "short " two[j]) / median(k, "short rping"), 3, "<=", "")
}

function print_memory(k,    i, w, limit, list)
{
	split("push-client push-daemon pull-client pull-daemon", list, " ")
	limit = window[k] / 1048576 + 2
	for (i = 1; i <= 4; i++) {
		w = list[i]
		if (!((k, w) in high)) continue
		if (pinned[k, w] > 0) bar("pinned by " w, pinned[k, w] / 1024, limit, "<=", " MiB")
		else printf "  pinned by %s: the kernel does not say\n", w
		bar("resident, " w ": " mib[k] " MiB more than " small_mib[k] " MiB", (high[k, w] - small[k, w]) / 1024, 2, "<=", " MiB")
	}
}

function write_json(    i, j, k, w, set, sep, memory)
{
	printf "{" >json
	for (i = 1; i <= nkinds; i++) {
		k = kinds[i]
		w = (k, "push") in count ? count[k, "push"] : 0
		printf "%s\n\t\"%s\": {\n\t\t\"mib\": %d, \"rounds\": %d", (i > 1 ? "," : ""), k, mib[k], w >json
		for (j = 1; j <= nways; j++)
			if ((k, ways[j]) in count) printf ",\n\t\t\"%s\": %.1f", ways[j], rate(k, ways[j]) >json
		printf ",\n\t\t\"busy_s_per_gib\": {" >json
		sep = ""
		for (j = 1; j <= nways; j++) {
			if (!((k, ways[j]) in count)) continue
			printf "%s\"%s\": %.2f", sep, ways[j], busy_per_gib(k, ways[j]) >json
			sep = ", "
		}
		printf "},\n\t\t\"files_per_s\": {" >json
		sep = ""
		for (j = 1; j <= nsets * nfways; j++) {
			set = sets[int((j - 1) / nfways) + 1]
			w = set " " fways[(j - 1) % nfways + 1]
			if (!((k, w) in count)) continue
			printf "%s\"%s\": %.0f", sep, w, files[k, set] / median(k, w) >json
			sep = ", "
		}
		printf "},\n\t\t\"resident_kib\": {%s},\n\t\t\"pinned_kib\": {%s}\n\t}", members(k, high), members(k, pinned) >json
	}
	printf "\n}\n" >json
	close(json)
}

function members(k, of,    w, out)
{
	for (w in who)
		if ((k, w) in of) out = out (out == "" ? "" : ", ") "\"" w "\": " of[k, w]
	return out
}

# One group of horizontal bars a kind, each with a scale of its own: rates of different guests do not compare.
function write_svg(    i, j, k, w, y, most, width, color)
{
	y = 30
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n", 30 + nkinds * (nways * 22 + 50) >svg
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>" >svg
	for (i = 1; i <= nkinds; i++) {
		k = kinds[i]
		printf "<text x=\"20\" y=\"%d\" font-weight=\"bold\">%s: MiB/s, %d MiB from tmpfs to tmpfs, medians of %d rounds</text>\n", y, k, mib[k], count[k, "push"] >svg
		y += 10
		most = 0
		for (j = 1; j <= nways; j++)
			if (((k, ways[j]) in count) && rate(k, ways[j]) > most) most = rate(k, ways[j])
		for (j = 1; j <= nways; j++) {
			w = ways[j]
			if (!((k, w) in count)) continue
			width = rate(k, w) / most * 500
			color = w ~ /^pu/ ? "#d2541b" : w ~ /^ib_|^cp/ ? "#8a8a8a" : "#4a78b5"
			printf "<text x=\"110\" y=\"%d\" text-anchor=\"end\">%s</text>", y + 14, w ~ /^pu/ ? "rdcp " w : w >svg
			printf "<rect x=\"120\" y=\"%d\" width=\"%.1f\" height=\"18\" fill=\"%s\"/>", y, width, color >svg
			printf "<text x=\"%.1f\" y=\"%d\">%.0f</text>\n", 126 + width, y + 14, rate(k, w) >svg
			y += 22
		}
		y += 30
	}
	print "</svg>" >svg
	close(svg)
}

END {
	for (i = 1; i <= nkinds; i++) {
		if ((kinds[i], "push") in count) {
			table(kinds[i])
			print_bars(kinds[i])
			print_memory(kinds[i])
		}
		print_files(kinds[i])
	}
	write_json()
	write_svg()
	printf "\nbench: %d bars met, %d NOT MET\n", bars[1], bars[0]
}
