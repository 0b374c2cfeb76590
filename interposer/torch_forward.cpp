// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/torch_forward.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/hot.h"
#include "interposer/process.h"
#include "interposer/python_stack.h"
#include "interposer/stack.h"
#include "interposer/torch_function.h"

namespace streamsan::recorder {
namespace {

using SetGradientEdge = void(const void* tensor, const void* edge);
using PeekNumber = std::uint64_t();

constexpr const char* kLibrary = "libtorch_cpu.so";
// A fork keeps g_set_gradient_edge, g_peek_number, g_evaluate: the libraries lie where they lay.
constinit TorchFunction<SetGradientEdge> g_set_gradient_edge{
    kLibrary, "_ZN5torch8autograd4impl17set_gradient_edgeERKN2at6TensorENS0_4EdgeE"};
constinit TorchFunction<PeekNumber> g_peek_number{kLibrary, "_ZN2at15sequence_number4peekEv"};
constinit TorchFunction<streamsan_evaluate> g_evaluate{
    kLibrary,
    "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferERKS2_"
    "INS0_10ReadyQueueEE"};

/// Ids of stacks stand in the lower bits of an entry, and in the upper ones what they belong to. 0: free.
constexpr unsigned kIdBits = 21;  // of 2^20 stacks, counted from 1
constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kIdBits) - 1;

/// 0: the entry is another one's.
std::uint32_t id_in(std::uint64_t entry, std::uint64_t key) {
  return ((entry ^ key) & ~kIdMask) == 0 ? static_cast<std::uint32_t>(entry & kIdMask) : 0;
}

std::uint64_t load(std::uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_relaxed); }
void store(std::uint64_t& word, std::uint64_t value) { std::atomic_ref(word).store(value, std::memory_order_relaxed); }

/// By the chain of frames in Python.
constexpr std::size_t kChains = std::size_t{1} << 14;
constinit std::uint64_t g_chains[kChains] = {};

/// By the node, whose address says in which of the sets it is: an allocator hands out the same addresses over and over,
/// so they are found in the processor's caches. In a set the newest comes first, and the oldest falls out.
constexpr std::size_t kSets = std::size_t{1} << 15;
constexpr std::size_t kWays = 8;
struct alignas(kLineBytes) NodeSet {
  std::uint64_t entry[kWays];
};
constinit NodeSet g_nodes[kSets] = {};

/// A node by what it is known by: 16 bits of its address, besides those that choose the set, and 27 of its two words.
class Node {
 public:
  explicit Node(const void* at) : address_(mix_bits(mix_bits(reinterpret_cast<std::uint64_t>(at)))) {
    third_ = static_cast<const std::uint64_t*>(at)[2];
    fourth_ = static_cast<const std::uint64_t*>(at)[3];
  }

  /// Has it one of the last numbers before `next`? Operations may make others before they set the edge of their own.
  [[nodiscard]] bool is_numbered(std::uint64_t next) const {
    constexpr std::uint64_t kLast = 256;
    const std::uint64_t numbers = next < kLast ? next : kLast;
    return next - 1 - third_ < numbers || next - 1 - fourth_ < numbers;
  }

  /// 0: nothing is known of it.
  [[nodiscard]] std::uint32_t stack() const {
    const std::uint64_t key = this->key();
    for (std::uint64_t& entry : set()) {
      if (const std::uint32_t stack = id_in(load(entry), key)) return stack;
    }
    return 0;
  }

  /// Replaces the one that had this address: it has gone. Two threads may change a set at once: then an entry is lost,
  /// or is there twice.
  void remember(std::uint32_t stack) const {
    auto& entry = set();
    std::size_t way = 0;
    while (way + 1 < kWays && (load(entry[way]) & kAddressMask) != (address_ & kAddressMask)) ++way;
    for (; way > 0; --way) store(entry[way], load(entry[way - 1]));
    store(entry[0], key() | stack);
  }

 private:
  static constexpr std::uint64_t kAddressMask = ~std::uint64_t{0} << 48;

  [[nodiscard]] std::uint64_t (&set() const)[kWays] { return g_nodes[address_ % kSets].entry; }
  [[nodiscard]] std::uint64_t key() const {
    const std::uint64_t words = mix_bits(mix_bits(third_) * 31 + fourth_);
    return (address_ & kAddressMask) | (words << kIdBits & ~kAddressMask);
  }

  std::uint64_t address_;  ///< a hash of it
  std::uint64_t third_, fourth_;
};

/// Where this thread is in Python, or else where the operation was called whose gradient it computes; 0: neither.
std::uint32_t forward_stack_here() {
  const std::uint64_t chain = python_chain();
  if (chain == 0) return t_thread.forward_stack;
  std::uint64_t& known = g_chains[chain % kChains];
  if (const std::uint32_t stack = id_in(load(known), chain)) return stack;
  const std::uint32_t stack = capture_python_stack();
  if (stack != 0) store(known, (chain & ~kIdMask) | stack);
  return stack;
}

void note_node(const void* address, const void* caller) {
  if (!address || !recording() || !options().stacks || !may_be_in_python()) return;
  PeekNumber* peek = g_peek_number.get_for(caller);
  if (!peek) return;
  const Node node(address);
  if (!node.is_numbered(peek())) return;
  if (const std::uint32_t stack = forward_stack_here()) node.remember(stack);
}

/// A call of PyTorch's must not be swallowed: what it computes would be wrong.
template <typename Function>
Function* found(Function* function) {
  if (function) [[likely]]
    return function;
  say("a function of PyTorch's, in whose place the recorder stands, cannot be found");
  std::abort();
}

}  // namespace

void in_child::forward() {
  for (std::uint64_t& chain : g_chains) {
    if (chain) chain = 0;
  }
  for (NodeSet& set : g_nodes) {
    for (std::uint64_t& entry : set.entry) {
      if (entry) entry = 0;
    }
  }
  t_thread.forward_stack = 0;
}

}  // namespace streamsan::recorder

void streamsan_begin_evaluation(const void* node, StreamsanEvaluation* evaluation) {
  using namespace streamsan::recorder;
  *evaluation = {.outer = t_thread.forward_stack, .epoch = process_epoch()};
  t_thread.forward_stack = node && recording() && may_be_in_python() ? Node(node).stack() : 0;
}

void streamsan_end_evaluation(const StreamsanEvaluation* evaluation) {
  using namespace streamsan::recorder;
  t_thread.forward_stack = evaluation->epoch == process_epoch() ? evaluation->outer : 0;
}

streamsan_evaluate* streamsan_real_evaluate(const void* caller) {
  using namespace streamsan::recorder;
  return found(g_evaluate.get_for(caller));
}

extern "C" __attribute__((visibility("default"))) void
_ZN5torch8autograd4impl17set_gradient_edgeERKN2at6TensorENS0_4EdgeE(  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming): PyTorch's
    const void* tensor, const void* edge) {
  using namespace streamsan::recorder;
  const void* caller = __builtin_return_address(0);
  note_node(*static_cast<const void* const*>(edge), caller);
  found(g_set_gradient_edge.get_for(caller))(tensor, edge);
}
