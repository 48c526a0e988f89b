# Draws what onced_bench has measured. It is given: csv (its --csv), and base (the
# figures' names without their endings).
set terminal svg size 900,480 font "sans-serif,13" background "white"
set datafile separator ","
set grid ytics lc rgb "#dddddd"
# Of the columns: 1 table, 2 server, 3 workload, 5 callers, 6 connections, 9 per second,
# 10 p50, 12 p99. A single caller has one connection; the others' rows are those of two.
fresh(server) = sprintf("< awk -F, '$1 == \"fresh\" && $2 == \"%s\" && ($5 == 1 || $6 == 2)' %s", server, csv)
servers = "echo onced-unary redis-aof-always redis-no-persistence postgres"

set logscale x 2
set xlabel "callers, over two connections"
set key outside right top

set output base."-throughput.svg"
set title "Reserve, every key a new one, one operation a call"
set ylabel "operations a second"
set logscale y 10
set yrange [100:*]
plot for [i = 1:words(servers)] fresh(word(servers, i)) using 5:9 with linespoints lw 2 pt 7 title word(servers, i)

set output base."-latency.svg"
set title "Reserve, every key a new one: p50 (solid) and p99 (dashed)"
set ylabel "milliseconds"
set yrange [0.01:*]
plot for [i = 1:words(servers)] fresh(word(servers, i)) using 5:($10 / 1000) with linespoints lw 2 pt 7 lc i title word(servers, i), \
     for [i = 1:words(servers)] fresh(word(servers, i)) using 5:($12 / 1000) with lines lw 1 dt 2 lc i notitle

set output base."-batch.svg"
set title "Messages of 64 reserves, every key a new one, 16 callers"
unset logscale
unset key
unset xlabel
set ylabel "operations a second"
set yrange [0:*]
set xtics rotate by -20
set style fill solid 0.6
set boxwidth 0.6
plot sprintf("< awk -F, '$1 == \"batch\"' %s", csv) using 0:9:xtic(2) with boxes lc rgb "#1f77b4"
