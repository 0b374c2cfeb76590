// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stream capture and graph launch. Compiled twice, see kDefaultStream in call.h.
//
// A captured call becomes a node with the work it would have done and the nodes it comes after. Checked as the driver
// does: who may end a capture, work that never came back to the first stream, use of an invalidated capture. What a
// capture refuses besides is in captures.cpp.

#include "testsuite/nulldriver/objects.h"

#include <algorithm>
#include <set>

namespace streamsan::null {
namespace {

CUresult begin(CUstream handle, CUgraph graph, CUstreamCaptureMode mode) {
  if (handle == nullptr) handle = kDefaultStream;
  if (handle == CU_STREAM_LEGACY) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  CUstream stream = nullptr;
  if (const CUresult unknown = resolve(handle, kDefaultStream, &stream); unknown != CUDA_SUCCESS) return unknown;
  if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->owns_graph = graph == nullptr;
  capture->graph = graph != nullptr ? graph : state().graphs.create();
  capture->mode = mode;
  capture->thread = thread_number();
  capture->id = state().next_id++;
  capture->streams = {stream};
  state().captures.push_back(capture.get());
  stream->capture = std::move(capture);
  stream->tail.clear();
  return CUDA_SUCCESS;
}

/// Everything captured must come before what the first stream would do next.
bool all_joined(const Capture& capture) {
  std::set<CUgraphNode> seen;
  std::vector<CUgraphNode> open = capture.origin->tail;
  while (!open.empty()) {
    CUgraphNode node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    open.insert(open.end(), node->after.begin(), node->after.end());
  }
  return std::all_of(capture.streams.begin(), capture.streams.end(), [&](CUstream stream) {
    return std::all_of(stream->tail.begin(), stream->tail.end(),
                       [&](CUgraphNode node) { return seen.count(node) != 0; });
  });
}

CUresult end(CUstream handle, CUgraph* out) {
  CUstream stream = nullptr;
  if (const CUresult unknown = resolve(handle, kDefaultStream, &stream); unknown != CUDA_SUCCESS) return unknown;
  if (!stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != thread_number()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  CUresult result = CUDA_SUCCESS;
  if (capture->invalid) {
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!all_joined(*capture)) {
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  for (CUstream member : capture->streams) {
    member->capture.reset();
    member->tail.clear();
  }
  std::erase(state().captures, capture.get());
  // Events recorded in this capture still point to it; a wait for one must not join it again.
  capture->invalid = true;
  if (result == CUDA_SUCCESS) {
    *out = capture->graph;
  } else {
    *out = nullptr;
    if (capture->owns_graph) state().graphs.destroy(capture->graph);
  }
  return result;
}

CUstreamCaptureStatus status_of(CUstream stream) {
  if (!stream->capture) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult info(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
              const CUgraphNode** dependencies, size_t* count) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUstream stream = nullptr;
  if (const CUresult unknown = resolve(handle, kDefaultStream, &stream); unknown != CUDA_SUCCESS) return unknown;
  // Documented: the capture stays valid.
  if (is_held_back(stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *status = status_of(stream);
  if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = stream->capture->graph;
  if (dependencies != nullptr) *dependencies = stream->tail.data();
  if (count != nullptr) *count = stream->tail.size();
  return CUDA_SUCCESS;
}

/// No graph can be launched into a capture, or uploaded for one.
CUresult check_exec(CUgraphExec exec, CUstream handle) {
  const Lock lock = lock_state();
  if (!state().execs.alive(exec)) return CUDA_ERROR_INVALID_VALUE;
  CUstream stream = nullptr;
  return resolve_uncaptured(handle, kDefaultStream, &stream);
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  SS_CALL(cuStreamBeginCapture);
  const Lock lock = lock_state();
  return begin(stream, nullptr, mode);
}

SS_EXPORT cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                      const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  SS_CALL(cuStreamBeginCaptureToGraph);
  const Lock lock = lock_state();
  if (!state().graphs.alive(graph)) return CUDA_ERROR_INVALID_VALUE;
  if (edges != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  const CUresult result = begin(stream, graph, mode);
  if (result != CUDA_SUCCESS) return result;
  CUstream object = nullptr;
  resolve(stream, kDefaultStream, &object);
  object->tail.assign(dependencies, dependencies + count);
  return CUDA_SUCCESS;
}

SS_EXPORT cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  SS_CALL(cuStreamEndCapture);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  return end(stream, graph);
}

SS_EXPORT cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  SS_CALL(cuStreamIsCapturing);
  return info(handle, status, nullptr, nullptr, nullptr, nullptr);
}

SS_EXPORT cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                 const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count) {
  SS_CALL(cuStreamGetCaptureInfo);
  if (edges != nullptr) *edges = nullptr;
  return info(stream, status, id, graph, dependencies, count);
}

#define SS_CAPTURE_INFO_V2 __CUDA_API_PTSZ(cuStreamGetCaptureInfo_v2)
SS_EXPORT SS_CAPTURE_INFO_V2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                             const CUgraphNode** dependencies, size_t* count) {
  SS_CALL(SS_CAPTURE_INFO_V2);
  return info(stream, status, id, graph, dependencies, count);
}

SS_EXPORT cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                                            size_t count, unsigned flags) {
  SS_CALL(cuStreamUpdateCaptureDependencies);
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  if (edges != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  const Lock lock = lock_state();
  CUstream stream = nullptr;
  if (const CUresult unknown = resolve(handle, kDefaultStream, &stream); unknown != CUDA_SUCCESS) return unknown;
  if (!stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream->tail.clear();
  stream->tail.insert(stream->tail.end(), dependencies, dependencies + count);
  return CUDA_SUCCESS;
}

SS_EXPORT cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  SS_CALL(cuGraphLaunch);
  if (const CUresult wrong = check_exec(exec, stream); wrong != CUDA_SUCCESS) return wrong;
  const auto run = [nodes = exec->nodes] {
    for (const CUgraphExec_st::Node& node : nodes) {
      if (node.enabled && node.work) node.work();
    }
  };
  return submit(stream, kDefaultStream, CU_GRAPH_NODE_TYPE_GRAPH, run);
}

/// Nothing to do in advance.
SS_EXPORT cuGraphUpload(CUgraphExec exec, CUstream stream) {
  SS_CALL(cuGraphUpload);
  return check_exec(exec, stream);
}

SS_EXPORT cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  SS_CALL(cuGraphInstantiateWithParams);
  if (exec == nullptr || parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  const CUresult result = instantiate(exec, graph, parameters->flags);
  parameters->hErrNode_out = nullptr;
  parameters->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}
