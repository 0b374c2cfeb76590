// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables and code that every launch needs, close together in memory.
//
// A program does other work between two launches, and that drives our code and data out of the caches and out of the
// translation buffers. Then the cost of a launch is that of fetching them again: each cache line, and even more each
// page, counts; instructions hardly do. So the small variables that a launch reads lie in a section of their own, and
// so does the code that it runs (gcc and clang put functions that are marked hot into one); data that lie elsewhere are
// prefetched before the driver is called (prefetch()), and are there when the call is over. Small tables that a launch
// looks into stand behind the variables, each on lines of its own; so does a variable that some programs write often,
// lest it take the line away from all the others.
#pragma once

#define STREAMSAN_HOT_DATA [[gnu::section("streamsan_hot")]]
#define STREAMSAN_HOT_TABLE [[gnu::section("streamsan_hot_tables")]] alignas(streamsan::recorder::kLineBytes)
#define STREAMSAN_HOT_CODE [[gnu::hot]]

namespace streamsan::recorder {

inline constexpr unsigned kLineBytes = 64;

/// The line at the address will be read; it may be any address.
inline void prefetch(const void* address) { __builtin_prefetch(address); }
/// The line at the address will be written.
inline void prefetch_to_write(const void* address) { __builtin_prefetch(address, 1); }

}  // namespace streamsan::recorder
