// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams as handles, and submission. See objects.h.

#include "testsuite/nulldriver/objects.h"

#include <atomic>
#include <utility>

namespace streamsan::null {
namespace {

CUstream make_default_stream(CUcontext context) {
  auto* stream = new CUstream_st;
  stream->context = context;
  stream->id = state().next_id++;
  return stream;
}

}  // namespace

State& state() {
  static State& instance = *new State;
  return instance;
}

std::uint64_t thread_number() {
  static std::atomic<std::uint64_t> next{1};
  thread_local const std::uint64_t number = next.fetch_add(1);
  return number;
}

CUresult resolve(CUstream handle, CUstream default_stream, CUstream* stream) {
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (handle == nullptr) handle = default_stream;
  if (handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
    if (!state().streams.alive(handle)) return CUDA_ERROR_INVALID_HANDLE;
    *stream = handle;
    return CUDA_SUCCESS;
  }
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  CUstream& slot = handle == CU_STREAM_LEGACY ? context->legacy : context->per_thread[thread_number()];
  if (slot == nullptr) slot = make_default_stream(context);
  *stream = slot;
  return CUDA_SUCCESS;
}

void destroy_stream(CUstream stream) {
  leave_capture(stream);
  state().streams.destroy(stream);
}

CUgraphNode add_node(CUgraph graph, CUgraphNodeType type, std::vector<CUgraphNode> after, Work work,
                     NodeParameters parameters) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->type = type;
  node->work = std::move(work);
  node->parameters = std::move(parameters);
  node->after = std::move(after);
  graph->nodes.push_back(std::move(node));
  return graph->nodes.back().get();
}

CUresult add_captured(CUstream stream, CUgraphNodeType type, Work work, NodeParameters parameters) {
  Capture& capture = *stream->capture;
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  stream->tail.assign(1, add_node(capture.graph, type, stream->tail, std::move(work), std::move(parameters)));
  return CUDA_SUCCESS;
}

CUresult submit(CUstream handle, CUstream default_stream, CUgraphNodeType type, Work work, NodeParameters parameters) {
  CUstream stream = nullptr;
  {
    const Lock lock = lock_state();
    if (const CUresult refused = resolve_for_work(handle, default_stream, &stream); refused != CUDA_SUCCESS) {
      return refused;
    }
    if (stream->capture) return add_captured(stream, type, std::move(work), std::move(parameters));
  }
  const bool on_device =
      type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_GRAPH;
  if (on_device) submitted(stream);
  if (work) work();
  return CUDA_SUCCESS;
}

}  // namespace streamsan::null
