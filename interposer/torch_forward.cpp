// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where in Python the operation was called whose gradient a thread computes.
//
// In a backward pass of PyTorch's, the engine of autograd calls CUDA from threads of its own, which Python does not
// know (python_stack.h). What it evaluates are the nodes of a graph. Each was made by one operation of the forward
// pass, and a line of the user's has called that. So that line is remembered for each node that is made, and belongs to
// all calls that the engine makes while it evaluates the node:
//
//     void torch::autograd::impl::set_gradient_edge(const at::Tensor&, Edge)
//         the node of the edge has made this tensor. The edge comes by reference, and begins with the node's address.
//     void torch::autograd::Engine::evaluate_function(std::shared_ptr<GraphTask>&, Node*, InputBuffer&,
//                                                     const std::shared_ptr<ReadyQueue>&)
//         the node is evaluated, and what it gives is added to the gradients that the next nodes have by now.
//
// Both are exported by libtorch_cpu.so and called through the procedure linkage table, within that library, too
// (library_function.h), in the wheels of 2.4.0, 2.9.1 and 2.15.0. A PyTorch in which they have other names or
// parameters never calls us, and nothing is said.
//
// WHICH NODE. An address alone does not do: a node that ends leaves its own to the next one, and of some no edge is set
// (those that add up the gradients of parameters, and those that views are given later). So the third and the fourth
// word of a node are a part of what it is known by. One of them is its sequence number, given by its thread in the
// order in which nodes are made: the fourth as long as nodes were kept by std::shared_ptr (behind the table of virtual
// functions and a std::weak_ptr), the third since they are kept by c10::intrusive_ptr (behind that table and a count).
// The other is part of the std::weak_ptr, or says how far the node is from the leaves of the graph; neither changes
// once the edge is set.
//
// That there is such a number is not taken for granted: a node is remembered only if one of the two words is one of the
// last that this thread has given (at::sequence_number::peek()), so of a PyTorch that keeps it elsewhere nothing is
// said. Numbers of two threads may be equal, addresses of two nodes that live are not.
//
// WHAT IS SAID OF OTHERS. A node that is made while another one is evaluated (for a second derivative) and not by a
// line of Python gets the line of that one. One that lines of Python make there (again, from a checkpoint) gets these.
// A node that was made before recording began, or by C++ alone, has none.
//
// EXCEPTIONS. An evaluation may throw: a hook in Python fails, memory runs out. The engine catches that, in a thread
// that goes on, so what began with the evaluation has to end with it. Code at the end of a scope (a destructor,
// __attribute__((cleanup))) is run by functions of libgcc's that read and resume the unwinding, and the recorder has a
// copy of libgcc of its own. The unwinding may be that of another one, or of a library that has nothing in common with
// it (libunwind, which some allocators bring); even one of the same version aborts the process if it has not unwound
// anything itself before (_Unwind_SetGR()). So nothing of an unwinding is touched here. While it passes our frame it
// calls a function of ours, the frame's personality, which ends the evaluation and says that there is nothing to run.
//
// COST. Nothing in a process without PyTorch. For each node that is made a hash of the thread's frames in Python, and
// for each that is evaluated a look-up. Nodes are forgotten when too many newer ones have come.
#include <unwind.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/hot.h"
#include "interposer/library_function.h"
#include "interposer/process.h"
#include "interposer/python_stack.h"
#include "interposer/stack.h"

namespace streamsan::recorder {
namespace {

using SetGradientEdge = void(const void* tensor, const void* edge);
using PeekNumber = std::uint64_t();
using EvaluateFunction = void(void* engine, void* graph_task, void* node, void* inputs, const void* ready_queue);

constexpr const char* kLibrary = "libtorch_cpu.so";
// A fork keeps g_set_gradient_edge, g_peek_number, g_evaluate_function: the libraries lie where they lay.
constinit LibraryOriginal<SetGradientEdge> g_set_gradient_edge{
    kLibrary, "_ZN5torch8autograd4impl17set_gradient_edgeERKN2at6TensorENS0_4EdgeE"};
constinit LibraryOriginal<PeekNumber> g_peek_number{kLibrary, "_ZN2at15sequence_number4peekEv"};
constinit LibraryOriginal<EvaluateFunction> g_evaluate_function{
    kLibrary,
    "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferERKS2_"
    "INS0_10ReadyQueueEE"};

/// Ids of stacks stand in the lower bits of an entry, and in the upper ones what they belong to. 0: free.
constexpr unsigned kStackIdBits = 21;  // of 2^20 stacks, counted from 1
constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kStackIdBits) - 1;

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
    return (address_ & kAddressMask) | (words << kStackIdBits & ~kAddressMask);
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

/// The personality of the frame of an evaluation: an unwinding passes it. (Where one backward pass has started another
/// one that fails, and goes on, its own line is lost as well.)
extern "C" __attribute__((visibility("hidden"), used)) _Unwind_Reason_Code
streamsan_evaluation_fails(int, _Unwind_Action actions, std::uint64_t, _Unwind_Exception*, _Unwind_Context*) {
  if (actions & _UA_CLEANUP_PHASE) streamsan::recorder::t_thread.forward_stack = 0;
  return _URC_CONTINUE_UNWIND;
}

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): PyTorch's
// clang-format off
extern "C" __attribute__((visibility("default"))) void
_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE(
    // clang-format on
    void* engine, void* graph_task, void* node, void* inputs, const void* ready_queue) {
  using namespace streamsan::recorder;
  asm volatile(".cfi_personality 0x1b, streamsan_evaluation_fails");  // 0x1b: by 32 bits, relative to where they stand
  EvaluateFunction* evaluate = found(g_evaluate_function.get_for(__builtin_return_address(0)));
  // One is inside of another where a backward pass starts another one. After a fork in between a stack's id means
  // nothing.
  const std::uint32_t outer = t_thread.forward_stack;
  const std::uint32_t epoch = process_epoch();
  t_thread.forward_stack = node && recording() && may_be_in_python() ? Node(node).stack() : 0;
  evaluate(engine, graph_task, node, inputs, ready_queue);
  t_thread.forward_stack = epoch == process_epoch() ? outer : 0;
}

extern "C" __attribute__((visibility("default"))) void
_ZN5torch8autograd4impl17set_gradient_edgeERKN2at6TensorENS0_4EdgeE(const void* tensor, const void* edge) {
  using namespace streamsan::recorder;
  const void* caller = __builtin_return_address(0);
  note_node(*static_cast<const void* const*>(edge), caller);
  found(g_set_gradient_edge.get_for(caller))(tensor, edge);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
