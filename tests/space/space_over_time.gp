# Draws what space_over_time.sh has measured. It gives: base (the files' name without
# its ending), keys, retention, grace, interval, filled and expired (seconds).
set terminal svg size 900,480 font "sans-serif,13" background "white"
set output base.".svg"
set datafile separator ","
set title sprintf("%d records, retention %d s, reclaim\\_grace %d s, sweep\\_interval %d s", keys, retention, grace, interval)
set xlabel "seconds since the first write"
set ylabel "MiB on the disk (du)"
set yrange [0:*]
set grid ytics lc rgb "#dddddd"
set key top left
set arrow from filled, graph 0 to filled, graph 1 nohead dt 2 lc rgb "#888888"
set label "last write" at filled, graph 0.96 right offset -0.5,0 tc rgb "#555555"
set arrow from expired, graph 0 to expired, graph 1 nohead dt 2 lc rgb "#888888"
set label "all expired" at expired, graph 0.96 left offset 0.5,0 tc rgb "#555555"
plot base.".csv" skip 1 using 1:($2 / 1048576) with lines lw 2 lc rgb "#1f77b4" title "store", \
     base.".csv" skip 1 using 1:($3 / 1048576) with lines lw 2 dt 3 lc rgb "#d62728" title "empty store"
