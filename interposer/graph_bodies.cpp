// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/graph_bodies.h"

#include <atomic>

#include "interposer/fork.h"
#include "interposer/handle_table.h"

namespace streamsan::recorder {
namespace {

constexpr std::size_t kMost = 1u << 12;

struct Bodies {
  std::atomic<std::uint64_t> node;
  std::atomic<const CUgraph*> graphs;  ///< the driver's own array, which lives as long as the node
  std::atomic<unsigned> count;
};

/// Where the bodies of a node stand, plus one. Twice as large as what is kept: with little room look-ups give up.
constinit HandleTable<std::uint32_t, 2 * kMost> g_body_places{};
constinit Bodies g_bodies[kMost]{};
constinit std::atomic<std::uint32_t> g_next{0};

/// The node's place, which may have been that of the oldest node.
Bodies* body_place(std::uint64_t node) {
  auto* entry = g_body_places.insert(node);
  if (!entry) return nullptr;
  std::uint32_t place = entry->value.load(std::memory_order_relaxed);
  if (place == 0) {
    place = g_next.fetch_add(1, std::memory_order_relaxed) % kMost + 1;
    const std::uint64_t oldest = g_bodies[place - 1].node.load(std::memory_order_relaxed);
    if (oldest != 0 && oldest != node) g_body_places.erase(oldest);
    entry->value.store(place, std::memory_order_release);
  }
  return &g_bodies[place - 1];
}

}  // namespace

void keep_bodies(std::uint64_t node, const CUDA_CONDITIONAL_NODE_PARAMS& given) {
  Bodies* bodies = given.phGraph_out ? body_place(node) : nullptr;
  if (!bodies) return;
  bodies->node.store(node, std::memory_order_relaxed);
  bodies->graphs.store(given.phGraph_out, std::memory_order_relaxed);
  bodies->count.store(given.size, std::memory_order_release);
}

std::span<const CUgraph> bodies_of(std::uint64_t node) {
  const auto* entry = g_body_places.find(node);
  const std::uint32_t place = entry ? entry->value.load(std::memory_order_acquire) : 0;
  if (place == 0) return {};
  const Bodies& bodies = g_bodies[place - 1];
  const unsigned count = bodies.count.load(std::memory_order_acquire);
  if (bodies.node.load(std::memory_order_relaxed) != node) return {};
  return {bodies.graphs.load(std::memory_order_relaxed), count};
}

void in_child::graph_bodies() {
  g_body_places.clear();
  for (Bodies& bodies : g_bodies) bodies.node.store(0, std::memory_order_relaxed);
  g_next.store(0, std::memory_order_relaxed);
}

}  // namespace streamsan::recorder
