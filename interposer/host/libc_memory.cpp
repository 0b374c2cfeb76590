// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of libc that free, map or protect memory.
//
// A block that free() or munmap() gives back while a copy may still use it is recorded before it goes. Only the result
// of realloc() and mremap() shows whether the old memory is gone, so these are recorded after the call, and only if it
// is. An allocation that does not move is not recorded.
//
// The protection (guards.h) is taken away in all cases and first. The kernel moves and splits mappings together with
// what protects them, and a page that we protect after the guest has unmapped or re-protected it is not ours.
//
// The guest's allocator may be another than libc's. If it comes after us in the search order, its free() is the next
// definition. If it comes before us (linked into the program, preloaded first), nobody calls ours, and frees are not
// seen. This file never allocates or frees. reallocarray(), operator delete and strings freed inside of libc come
// through free() and realloc().
#include <dlfcn.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interposer/host/freeable.h"
#include "interposer/host/libc_call.h"
#include "trace/pages.h"

namespace {

using streamsan::recorder::find_next;
using streamsan::recorder::HostCall;
using streamsan::recorder::may_be_freeable;
using streamsan::recorder::may_reach_freeable;
using streamsan::trace::HostFreeWay;

using UsableSize = std::size_t (*)(void*);
/// Of the allocator that free() goes to; null if that has none.
// A fork keeps g_usable_size: a function of libc.
constinit std::atomic<UsableSize> g_usable_size{nullptr};

bool are_in_one_object(void* one, void* other) {
  Dl_info unused{};
  void* first = nullptr;
  void* second = nullptr;
  return dladdr1(one, &unused, &first, RTLD_DL_LINKMAP) != 0 &&
         dladdr1(other, &unused, &second, RTLD_DL_LINKMAP) != 0 && first == second;
}

/// libc's malloc_usable_size, asked about another allocator's block, would read what is no header of a block.
[[gnu::constructor]] void find_usable_size() {
  void* function = find_next("malloc_usable_size");
  void* free_function = find_next("free");
  if (function && free_function && are_in_one_object(function, free_function))
    g_usable_size.store(reinterpret_cast<UsableSize>(function), std::memory_order_relaxed);
}

/// At least 1: without malloc_usable_size() no more is known of a block.
std::size_t block_size(void* block) {
  UsableSize function = g_usable_size.load(std::memory_order_relaxed);
  std::size_t bytes = function ? function(block) : 1;
  return bytes ? bytes : 1;
}

/// What the kernel makes of a length.
std::size_t whole_pages(std::size_t bytes) { return streamsan::page_above(bytes); }

bool is_page(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return streamsan::page_below(at) == at;
}

/// Called for each block of the guest while something is lent, and mostly for one that is not (freeable.h).
struct FreeRow {
  static constexpr const char* kName = "free";

  static void instead(const HostCall& call, SS_SIGNATURE(free) next, void* block) {
    if (block && may_reach_freeable(block)) {
      const std::size_t bytes = block_size(block);
      if (may_be_freeable(block, bytes)) call.frees(block, bytes, HostFreeWay::Heap);
    }
    next(block);
  }
};

struct ReallocRow {
  static constexpr const char* kName = "realloc";

  static void* instead(const HostCall& call, SS_SIGNATURE(realloc) next, void* block, std::size_t bytes) {
    if (!block) return next(block, bytes);
    const std::size_t had = block_size(block);
    if (!may_be_freeable(block, had)) return next(block, bytes);
    const auto was_at = reinterpret_cast<std::uintptr_t>(block);
    call.remaps(block, had);
    void* now = next(block, bytes);
    const bool moved = now && reinterpret_cast<std::uintptr_t>(now) != was_at;
    // To no bytes: glibc frees the block; allocators that keep one return it.
    if (moved || (!now && bytes == 0)) call.frees(reinterpret_cast<void*>(was_at), had, HostFreeWay::Heap);
    return now;
  }
};

using Mremap = void* (*)(void*, std::size_t, std::size_t, int, void*);

/// The fifth argument is read by the kernel only with MREMAP_FIXED or MREMAP_DONTUNMAP, and passed on as it is.
struct MremapRow {
  static constexpr const char* kName = "mremap";

  static void* instead(const HostCall& call, Mremap next, void* old, std::size_t had, std::size_t bytes, int flags,
                       void* where) {
    call.remaps(old, whole_pages(had));
    if (flags & MREMAP_FIXED) {
      call.remaps(where, whole_pages(bytes));
      call.replaces(where, whole_pages(bytes));
    }
    void* now = next(old, had, bytes, flags, where);
    if (now == MAP_FAILED) return now;
    if (now != old) {
      call.frees(old, whole_pages(had), HostFreeWay::Unmap);
      call.replaces(old, whole_pages(had));
    } else if (whole_pages(bytes) < whole_pages(had)) {
      char* const end = static_cast<char*>(old) + whole_pages(bytes);
      call.frees(end, whole_pages(had) - whole_pages(bytes), HostFreeWay::Unmap);
      call.replaces(end, whole_pages(had) - whole_pages(bytes));
    }
    return now;
  }
};

}  // namespace

SS_LIBC_EXPORT(free, SS_SIGNATURE(free), FreeRow);
SS_LIBC_EXPORT(realloc, SS_SIGNATURE(realloc), ReallocRow);

// The kernel refuses an address that begins no page, and then nothing goes away.
// Looked at also while nothing is lent: memory that is unmapped before it is unregistered must not be taken for the
// registered one when other memory comes to its place.
SS_LIBC_WHILE(
    10g_mappings, munmap, SS_SIGNATURE(munmap), (void* begin, size_t bytes), if (is_page(begin)) {
      call.frees(begin, whole_pages(bytes), HostFreeWay::Unmap);
      call.replaces(begin, whole_pages(bytes));
    });
SS_LIBC_EXPORT_WHILE(10g_mappings, mremap, Mremap, MremapRow);

// ---- mapped or protected anew: the guest's protection replaces ours

SS_LIBC_WHILE(
    10g_mappings, mmap, SS_SIGNATURE(mmap), (void* begin, size_t bytes, int, int flags, int, off_t),
    if (flags & MAP_FIXED) {
      call.remaps(begin, whole_pages(bytes));
      call.replaces(begin, whole_pages(bytes));
    });
SS_LIBC_WHILE(
    10g_mappings, mmap64, SS_SIGNATURE(mmap64), (void* begin, size_t bytes, int, int flags, int, off_t),
    if (flags & MAP_FIXED) {
      call.remaps(begin, whole_pages(bytes));
      call.replaces(begin, whole_pages(bytes));
    });
// mprotect() is in libc_signals.cpp: the guest's own protections count also while nothing is lent.
// These fail on pages that cannot be read; they say nothing about the bytes.
SS_LIBC(madvise, SS_SIGNATURE(madvise), (void* begin, size_t bytes, int), call.remaps(begin, whole_pages(bytes)));
SS_LIBC(mlock, SS_SIGNATURE(mlock), (const void* begin, size_t bytes), call.remaps(begin, bytes));
SS_LIBC(mlock2, SS_SIGNATURE(mlock2), (const void* begin, size_t bytes, unsigned), call.remaps(begin, bytes));
