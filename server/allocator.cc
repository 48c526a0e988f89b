// How the process's allocator works: jemalloc, which is linked in, reads this when it
// starts. The variable MALLOC_CONF of the environment comes after it, and so counts more.
//
// Pages of 2 MiB: looking a key up, and putting one in, touches memory all over
// RocksDB's tables, and with 4 KiB pages each touch costs a walk through the page tables
// as well; docs/benchmarks.md has what that is. Unused memory goes back after a second, by
// a thread of the allocator's own.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always,background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0";
}
