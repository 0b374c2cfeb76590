// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects behind the opaque handles, and the one lock that guards them.
//
// cuda.h leaves struct CUstream_st and the others incomplete; here they are completed, so a handle is the pointer to
// its object and needs no cast. A destroyed handle is the next one to be handed out (Handles), as in the real driver: a
// tool that takes a handle for an identity is found out at once. Objects are never returned to the C++ heap, so a stale
// handle can be recognised instead of crashing.
//
// LOCK. State::mutex guards everything in this header. It is never held while a host function runs, while bytes are
// copied, or while a call blocks.
//
// EXECUTION. There is no device: submit() runs the work at once in the calling thread, or stores it in the graph when
// the stream is being captured. So every program behaves as if the device were infinitely fast; two threads that submit
// to one stream may run their work side by side.
#pragma once

#include "testsuite/nulldriver/call.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace streamsan::null {
using Work = std::function<void()>;
struct Capture;
struct Code;
}  // namespace streamsan::null

struct CUctx_st {
  CUdevice device = 0;
  bool primary = false;
  unsigned flags = 0;
  std::uint64_t id = 0;
  std::map<int, std::size_t> limits;
  CUstream_st* legacy = nullptr;
  std::map<std::uint64_t, CUstream_st*> per_thread;  ///< by thread_number()
  std::set<CUcontext> peers;                         ///< whose memory it may use
};

/// The parameters of a node: those of its type.
struct NodeParameters {
  CUDA_KERNEL_NODE_PARAMS kernel{};            ///< kernelParams points into `arguments`
  std::shared_ptr<std::vector<void*>> values;  ///< what kernelParams points to
  std::shared_ptr<std::vector<std::byte>> arguments;
  CUDA_MEMCPY3D copy{};
  CUDA_MEMSET_NODE_PARAMS fill{};
  CUDA_HOST_NODE_PARAMS host{};
  CUgraph child = nullptr;  ///< the node's own
  CUevent event = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
  CUdeviceptr freed = 0;
  std::vector<CUstreamBatchMemOpParams> operations;
  struct {
    CUgraphConditionalHandle handle = 0;
    CUgraphConditionalNodeType type{};
  } condition;
  std::vector<CUgraph> bodies;  ///< of a conditional node, its own
};

struct CUgraphNode_st {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  streamsan::null::Work work;
  NodeParameters parameters;
  std::vector<CUgraphNode> after;
  CUgraphNode original = nullptr;  ///< of a node of a clone
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  ///< in the order they were made
};

struct CUgraphExec_st {
  struct Node {
    CUgraphNode made_of = nullptr;  ///< by which it is named
    CUgraphNodeType type{};
    streamsan::null::Work work;
    bool enabled = true;
    std::vector<CUgraphNodeType> inside{};  ///< of a conditional node: what its bodies hold
  };
  std::vector<Node> nodes;  ///< in an order that the edges allow
  unsigned long long flags = 0;
};

struct CUstream_st {
  CUcontext context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  std::shared_ptr<streamsan::null::Capture> capture;
  std::vector<CUgraphNode> tail;  ///< while captured: what the next node comes after
};

struct CUevent_st {
  CUcontext context = nullptr;
  unsigned flags = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<streamsan::null::Capture> capture;  ///< recorded in a capture, not in real time
  std::vector<CUgraphNode> tail;
};

struct CUmemPoolHandle_st {
  CUdevice device = 0;
  bool is_default = false;
  std::uint64_t release_threshold = 0;
  int reuse_follow_event_dependencies = 1;
  int reuse_allow_opportunistic = 1;
  int reuse_allow_internal_dependencies = 1;
  std::uint64_t used = 0;
  std::uint64_t used_high = 0;
};

/// An array, or a level of a mipmapped one. Its memory is that of the device, row behind row.
struct CUarray_st {
  CUDA_ARRAY3D_DESCRIPTOR is{};
  std::uintptr_t base = 0;
  CUmipmappedArray whole = nullptr;  ///< of a level
};

struct CUmipmappedArray_st {
  CUDA_ARRAY3D_DESCRIPTOR is{};
  std::uintptr_t base = 0;
  std::vector<CUarray> levels;
};

struct CUfunc_st {
  streamsan::null::Code* code = nullptr;
  std::string name;
  CUmodule module = nullptr;
  CUcontext context = nullptr;
};

struct CUkern_st {
  streamsan::null::Code* code = nullptr;
  std::string name;
  CUlibrary library = nullptr;
  std::map<CUcontext, CUfunction> functions;  ///< each made when first asked for
};

struct CUmod_st {
  streamsan::null::Code* code = nullptr;
  CUcontext context = nullptr;
  std::map<std::string, CUfunction, std::less<>> functions;
};

struct CUlib_st {
  streamsan::null::Code* code = nullptr;
  std::map<std::string, CUkernel, std::less<>> kernels;
};

namespace streamsan::null {

struct Capture {
  CUstream origin = nullptr;
  CUgraph graph = nullptr;
  bool owns_graph = true;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::uint64_t thread = 0;
  std::uint64_t id = 0;
  bool invalid = false;
  std::vector<CUstream> streams;
};

/// The live handles of one type.
template <class Object>
class Handles {
 public:
  Object* create() {
    Object* object = nullptr;
    if (free_.empty()) {
      object = new Object;
    } else {
      object = free_.back();
      free_.pop_back();
    }
    live_.insert(object);
    return object;
  }
  void destroy(Object* object) {
    live_.erase(object);
    *object = Object{};
    free_.push_back(object);
  }
  [[nodiscard]] bool alive(const Object* object) const { return live_.count(const_cast<Object*>(object)) != 0; }
  /// A copy, so that the caller may destroy what it finds.
  [[nodiscard]] std::vector<Object*> all() const { return {live_.begin(), live_.end()}; }

 private:
  std::vector<Object*> free_;
  std::unordered_set<Object*> live_;
};

constexpr CUdevice kMostDevices = 8;

struct Device {
  CUcontext primary = nullptr;
  unsigned primary_references = 0;
  unsigned primary_flags = 0;
  CUmemoryPool default_pool = nullptr;
  CUmemoryPool current_pool = nullptr;
};

struct State {
  std::mutex mutex;
  bool initialised = false;
  std::uint64_t next_id = 1;
  Device devices[kMostDevices];

  Handles<CUctx_st> contexts;
  Handles<CUstream_st> streams;  ///< those made by the program; the default streams belong to their context
  Handles<CUevent_st> events;
  Handles<CUmemPoolHandle_st> pools;
  Handles<CUmod_st> modules;
  Handles<CUfunc_st> functions;
  Handles<CUlib_st> libraries;
  Handles<CUkern_st> kernels;
  Handles<CUgraph_st> graphs;
  Handles<CUgraphExec_st> execs;
  Handles<CUarray_st> arrays;
  Handles<CUmipmappedArray_st> mipmapped_arrays;

  std::vector<Capture*> captures;  ///< those that have not ended
};

/// Never destroyed: exit handlers of the program still call the driver.
State& state();
using Lock = std::unique_lock<std::mutex>;
inline Lock lock_state() { return Lock(state().mutex); }

/// From 1, one for each host thread, never used again.
std::uint64_t thread_number();

/// STREAMSAN_NULL_DEVICES. Both need no lock; cuInit is the first to ask.
int device_count();
inline bool is_device(CUdevice device) { return device >= 0 && device < device_count(); }

// ---- everything below needs the lock, unless it says otherwise
// --------------------------------------------------------

/// CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_DEVICE or CUDA_SUCCESS.
CUresult check_device(CUdevice device);
CUcontext make_context(CUdevice device, unsigned flags);
/// The calling thread's current context or nullptr; one that was destroyed counts as none.
CUcontext current_context();
/// CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_CONTEXT or CUDA_SUCCESS.
CUresult require_context(CUcontext* context);
/// Ends the context's streams, events, allocations and the access of others to them. Modules stay until they are
/// unloaded; their variables get new memory when next asked for.
void clear_context(CUcontext context);

/// The stream a handle means; 0 is `default_stream`. `legacy` and per-thread streams are made when first named.
CUresult resolve(CUstream handle, CUstream default_stream, CUstream* stream);
void destroy_stream(CUstream stream);

// Captures, see captures.cpp. What is refused invalidates the captures that refuse it.

/// External semaphores, and their values. Needs the lock.
std::map<CUexternalSemaphore, std::uint64_t>& semaphore_values();

/// The legacy stream, while a blocking stream is being captured.
bool is_held_back(CUstream stream);
/// As resolve(), for work: refuses a stream that is held back.
CUresult resolve_for_work(CUstream handle, CUstream default_stream, CUstream* stream);
/// As resolve_for_work(), for work that no capture takes: graph launches, callbacks, synchronous copies.
CUresult resolve_uncaptured(CUstream handle, CUstream default_stream, CUstream* stream);
/// As resolve_uncaptured(), for calls that wait or ask.
CUresult resolve_for_waiting(CUstream handle, CUstream default_stream, CUstream* stream);
/// For calls that are "potentially unsafe" in the words of cuThreadExchangeStreamCaptureMode.
CUresult check_unsafe();
CUresult check_context_wait(CUcontext context);
/// The stream's end invalidates its capture, and ends it if the stream is its first.
void leave_capture(CUstream stream);

/// Runs or captures `work`. Takes the lock itself and runs the work without it.
CUresult submit(CUstream handle, CUstream default_stream, CUgraphNodeType type, Work work,
                NodeParameters parameters = {});
/// Appends to the graph of the stream's capture, or returns CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.
CUresult add_captured(CUstream stream, CUgraphNodeType type, Work work, NodeParameters parameters = {});
/// Appends to the graph.
CUgraphNode add_node(CUgraph graph, CUgraphNodeType type, std::vector<CUgraphNode> after, Work work,
                     NodeParameters parameters);
bool is_live_node(CUgraphNode wanted);
/// A copy with nodes of its own.
CUgraph clone_graph(CUgraph graph);
void destroy_graph(CUgraph graph);

/// A graph made ready: its works in an order that its edges allow.
CUresult instantiate(CUgraphExec* out, CUgraph graph, unsigned long long flags);

}  // namespace streamsan::null
