// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/graph_memory.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>

#include "interposer/fork.h"
#include "interposer/graph_image.h"
#include "interposer/handle_table.h"
#include "interposer/host/host_memory.h"
#include "interposer/pointer_regions.h"
#include "trace/format.h"

namespace streamsan::recorder {
namespace {

struct List {
  static constexpr std::size_t kBytes = 4096;
  static constexpr std::size_t kRanges = 96;
  static constexpr std::size_t kPointers = 192;
  std::atomic<std::uint32_t> ranges;
  std::atomic<std::uint32_t> pointers;
  GraphRange range[kRanges];
  std::uint64_t pointer[kPointers];
};
static_assert(sizeof(List) <= List::kBytes);

constinit HandleTable<List*, 1u << 12> g_lists{};

/// The list of the executable graph, made if there is none; nullptr: no room.
List* list_of(std::uint64_t exec) {
  auto* entry = g_lists.insert(exec);
  if (!entry) return nullptr;
  List* list = entry->value.load(std::memory_order_acquire);
  if (list) return list;
  void* page = mmap(nullptr, List::kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  list = static_cast<List*>(page);
  entry->value.store(list, std::memory_order_release);
  return list;
}

}  // namespace

void keep_range_of_graph(std::uint64_t exec, const GraphRange& range) {
  const bool pageable = range.pageable && !may_be_pointer(range.begin);
  if (range.begin == 0 || range.bytes == 0 || !(pageable || near_host_memory(range.begin))) return;
  List* list = list_of(exec);
  const std::uint32_t count = list ? list->ranges.load(std::memory_order_relaxed) : List::kRanges;
  if (count >= List::kRanges) return;
  list->range[count] = range;
  list->range[count].pageable = pageable;
  list->ranges.store(count + 1, std::memory_order_release);
}

void keep_pointer_of_graph(std::uint64_t exec, std::uint64_t pointer) {
  if (!near_host_memory(trace::word_address(pointer))) return;
  List* list = list_of(exec);
  const std::uint32_t count = list ? list->pointers.load(std::memory_order_relaxed) : List::kPointers;
  if (count >= List::kPointers) return;
  list->pointer[count] = pointer;
  list->pointers.store(count + 1, std::memory_order_release);
}

void forget_memory_of_graph(std::uint64_t exec) {
  auto* entry = g_lists.find(exec);
  List* list = entry ? entry->value.load(std::memory_order_acquire) : nullptr;
  if (!list) return;
  list->ranges.store(0, std::memory_order_relaxed);
  list->pointers.store(0, std::memory_order_relaxed);
}

void lend_to_graph(std::uint64_t exec, StreamArgument stream, std::uint64_t position) {
  auto* entry = g_lists.find(exec);
  List* list = entry ? entry->value.load(std::memory_order_acquire) : nullptr;
  if (!list) return;
  const std::uint32_t ranges = list->ranges.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < ranges; ++i) {
    const GraphRange& range = list->range[i];
    lend(range.begin, range.bytes, range.use, stream, range.pageable,
         {.position = position, .touches_all = !range.gaps});
  }
  lend_from(list->pointer, list->pointers.load(std::memory_order_acquire), stream, position);
}

void in_child::graphs() { g_lists.clear(); }

}  // namespace streamsan::recorder
