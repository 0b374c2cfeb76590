// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happens in a stream besides kernels and transfers: properties, waiting, events, host functions, words in memory,
// hints. Compiled twice, see kDefaultStream in call.h.
//
// A wait for a word in memory is checked once, when its turn comes: all earlier work is done by then and nobody else
// would write the word later without the program doing so, so an unmet wait would hang a device. Here it fails the call
// with CUDA_ERROR_LAUNCH_TIMEOUT instead.

#include "testsuite/nulldriver/graph_nodes.h"
#include "testsuite/nulldriver/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace streamsan::null {
namespace {

/// A property of the stream's object.
template <auto resolved = resolve, class Value, class Get>
CUresult get(CUstream handle, Value* out, Get property) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUstream stream = nullptr;
  const CUresult refused = resolved(handle, kDefaultStream, &stream);
  if (refused == CUDA_SUCCESS) *out = property(stream);
  return refused;
}

/// One that breaks the capture of the stream that is asked (driver 580): flags, number and device do, context and
/// priority do not.
template <class Value, class Get>
CUresult get_uncaptured(CUstream handle, Value* out, Get property) {
  return get<resolve_uncaptured>(handle, out, property);
}

CUresult record(CUevent event, CUstream handle) {
  const Lock lock = lock_state();
  if (!state().events.alive(event)) return CUDA_ERROR_INVALID_HANDLE;
  CUstream stream = nullptr;
  if (const CUresult refused = resolve_for_work(handle, kDefaultStream, &stream); refused != CUDA_SUCCESS)
    return refused;
  if (stream->capture && stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream->context != event->context) return CUDA_ERROR_INVALID_HANDLE;
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  event->capture = stream->capture;
  event->tail = stream->tail;
  return CUDA_SUCCESS;
}

/// A stream that waits for an event of a capture takes part in the capture from then on.
CUresult join_capture(CUstream stream, CUevent event) {
  if (event->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream->capture && stream->capture != event->capture) {
    stream->capture->invalid = true;
    event->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (!stream->capture) {
    stream->capture = event->capture;
    stream->capture->streams.push_back(stream);
    stream->tail.clear();
  }
  for (CUgraphNode node : event->tail) {
    if (std::find(stream->tail.begin(), stream->tail.end(), node) == stream->tail.end()) stream->tail.push_back(node);
  }
  return CUDA_SUCCESS;
}

CUresult discard(const CUdeviceptr* pointers, const std::size_t* sizes, std::size_t count, unsigned long long flags,
                 CUstream handle) {
  if (flags != 0 || count == 0 || handle == nullptr || handle == CU_STREAM_LEGACY) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = find_allocation(pointers[i]);
    if (found == allocations().end() || found->second.kind != MemoryKind::Managed ||
        !device_accessible(pointers[i], sizes[i])) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  CUstream stream = nullptr;
  return resolve_uncaptured(handle, kDefaultStream, &stream);
}

/// One operation, of which only the kind is kept.
NodeParameters operation_node(CUstreamBatchMemOpType what) {
  NodeParameters node;
  node.operations.resize(1);
  node.operations[0].operation = what;
  return node;
}

template <class Word>
CUresult write_word(CUstream stream, CUdeviceptr address, Word value, unsigned flags) {
  if (flags != CU_STREAM_WRITE_VALUE_DEFAULT && flags != CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  {
    const Lock lock = lock_state();
    if (address % sizeof(Word) != 0 || !device_accessible(address, sizeof(Word))) return CUDA_ERROR_INVALID_VALUE;
  }
  return submit(
      stream, kDefaultStream, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
      [address, value] { std::memcpy(reinterpret_cast<void*>(address), &value, sizeof(value)); },
      operation_node(sizeof(Word) == 4 ? CU_STREAM_MEM_OP_WRITE_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_64));
}

template <class Word>
bool met(Word now, Word value, unsigned condition) {
  switch (condition) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<std::make_signed_t<Word>>(now - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & value) != 0;
    default:
      return static_cast<Word>(~(now | value)) != 0;
  }
}

template <class Word>
CUresult wait_word(CUstream handle, CUdeviceptr address, Word value, unsigned flags) {
  const Lock lock = lock_state();
  if (address % sizeof(Word) != 0 || !device_accessible(address, sizeof(Word))) return CUDA_ERROR_INVALID_VALUE;
  CUstream stream = nullptr;
  if (const CUresult refused = resolve_for_work(handle, kDefaultStream, &stream); refused != CUDA_SUCCESS)
    return refused;
  if (stream->capture) {
    return add_captured(
        stream, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, {},
        operation_node(sizeof(Word) == 4 ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WAIT_VALUE_64));
  }
  Word now;
  std::memcpy(&now, reinterpret_cast<const void*>(address), sizeof(now));
  return met(now, value, flags & ~CU_STREAM_WAIT_VALUE_FLUSH) ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_TIMEOUT;
}

/// `each(what the semaphore holds, the value of the call)`, until one is refused.
template <class Parameters, class Each>
CUresult for_each_semaphore(const CUexternalSemaphore* semaphores, const Parameters* parameters, unsigned count,
                            CUstream handle, Each each) {
  const Lock lock = lock_state();
  CUstream stream = nullptr;
  if (const CUresult refused = resolve_uncaptured(handle, kDefaultStream, &stream); refused != CUDA_SUCCESS)
    return refused;
  for (unsigned i = 0; i < count; ++i) {
    const auto found = semaphore_values().find(semaphores[i]);
    if (found == semaphore_values().end()) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult refused = each(found->second, parameters[i].params.fence.value); refused != CUDA_SUCCESS)
      return refused;
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuStreamGetFlags(CUstream stream, unsigned* flags) {
  SS_CALL(cuStreamGetFlags);
  return get_uncaptured(stream, flags, [](CUstream s) { return s->flags; });
}

SS_EXPORT cuStreamGetPriority(CUstream stream, int* priority) {
  SS_CALL(cuStreamGetPriority);
  return get(stream, priority, [](CUstream s) { return s->priority; });
}

SS_EXPORT cuStreamGetId(CUstream stream, unsigned long long* id) {
  SS_CALL(cuStreamGetId);
  return get_uncaptured(stream, id, [](CUstream s) { return s->id; });
}

SS_EXPORT cuStreamGetDevice(CUstream stream, CUdevice* device) {
  SS_CALL(cuStreamGetDevice);
  return get_uncaptured(stream, device, [](CUstream s) { return s->context->device; });
}

SS_EXPORT cuStreamGetCtx(CUstream stream, CUcontext* context) {
  SS_CALL(cuStreamGetCtx);
  return get(stream, context, [](CUstream s) { return s->context; });
}

SS_EXPORT cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  SS_CALL(cuStreamGetCtx_v2);
  if (green == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *green = nullptr;
  return get(stream, context, [](CUstream s) { return s->context; });
}

SS_EXPORT cuStreamQuery(CUstream handle) {
  SS_CALL(cuStreamQuery);
  const Lock lock = lock_state();
  CUstream stream = nullptr;
  return resolve_for_waiting(handle, kDefaultStream, &stream);
}

SS_EXPORT cuStreamSynchronize(CUstream handle) {
  SS_CALL(cuStreamSynchronize);
  {
    const Lock lock = lock_state();
    CUstream stream = nullptr;
    if (const CUresult refused = resolve_for_waiting(handle, kDefaultStream, &stream); refused != CUDA_SUCCESS) {
      return refused;
    }
  }
  block();
  return CUDA_SUCCESS;
}

SS_EXPORT cuEventRecord(CUevent event, CUstream stream) {
  SS_CALL(cuEventRecord);
  return record(event, stream);
}

/// An external record in a capture (CU_EVENT_RECORD_EXTERNAL) becomes a node of the graph; outside it is a plain
/// record.
SS_EXPORT cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned flags) {
  SS_CALL(cuEventRecordWithFlags);
  if ((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags == CU_EVENT_RECORD_EXTERNAL) {
    const Lock lock = lock_state();
    CUstream stream = nullptr;
    if (!state().events.alive(event)) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult refused = resolve_for_work(handle, kDefaultStream, &stream); refused != CUDA_SUCCESS) {
      return refused;
    }
    if (stream->capture) {
      NodeParameters node;
      node.event = event;
      return add_captured(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, plan_record(event), std::move(node));
    }
  }
  return record(event, handle);
}

SS_EXPORT cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  SS_CALL(cuStreamWaitEvent);
  if ((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) != 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().events.alive(event)) return CUDA_ERROR_INVALID_HANDLE;
  CUstream stream = nullptr;
  if (const CUresult refused = resolve_for_work(handle, kDefaultStream, &stream); refused != CUDA_SUCCESS)
    return refused;
  if (event->capture) return join_capture(stream, event);
  if (!stream->capture) return CUDA_SUCCESS;
  if (flags == CU_EVENT_WAIT_EXTERNAL) {
    NodeParameters node;
    node.event = event;
    return add_captured(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, {}, std::move(node));
  }
  stream->capture->invalid = true;
  return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

SS_EXPORT cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  SS_CALL(cuLaunchHostFunc);
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeParameters node;
  node.host = {.fn = function, .userData = data};
  return submit(stream, kDefaultStream, CU_GRAPH_NODE_TYPE_HOST, [function, data] { function(data); }, std::move(node));
}

SS_EXPORT cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data, unsigned flags) {
  SS_CALL(cuStreamAddCallback);
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  {
    const Lock lock = lock_state();
    CUstream stream = nullptr;
    if (const CUresult refused = resolve_uncaptured(handle, kDefaultStream, &stream); refused != CUDA_SUCCESS) {
      return refused;
    }
  }
  callback(handle, CUDA_SUCCESS, data);
  return CUDA_SUCCESS;
}

SS_EXPORT cuStreamAttachMemAsync(CUstream stream, CUdeviceptr pointer, size_t bytes, unsigned flags) {
  SS_CALL(cuStreamAttachMemAsync);
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  {
    const Lock lock = lock_state();
    const auto found = allocations().find(pointer);
    if (found == allocations().end() || found->second.kind != MemoryKind::Managed ||
        (bytes != 0 && bytes != found->second.bytes)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return submit(stream, kDefaultStream, CU_GRAPH_NODE_TYPE_EMPTY, {});
}

SS_EXPORT cuMemPrefetchAsync(CUdeviceptr pointer, size_t bytes, CUmemLocation, unsigned flags, CUstream stream) {
  SS_CALL(cuMemPrefetchAsync);
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  {
    const Lock lock = lock_state();
    const auto found = find_allocation(pointer);
    if (found == allocations().end() || found->second.kind != MemoryKind::Managed ||
        !device_accessible(pointer, bytes)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return submit(stream, kDefaultStream, CU_GRAPH_NODE_TYPE_EMPTY, {});
}

/// Of managed memory only, as the real ones. What is discarded keeps its contents.
SS_EXPORT cuMemDiscardBatchAsync(CUdeviceptr* pointers, size_t* sizes, size_t count, unsigned long long flags,
                                 CUstream stream) {
  SS_CALL(cuMemDiscardBatchAsync);
  return discard(pointers, sizes, count, flags, stream);
}

SS_EXPORT cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* pointers, size_t* sizes, size_t count, CUmemLocation*,
                                            size_t* location_indices, size_t locations, unsigned long long flags,
                                            CUstream stream) {
  SS_CALL(cuMemDiscardAndPrefetchBatchAsync);
  if (locations == 0 || locations > count || location_indices[0] != 0) return CUDA_ERROR_INVALID_VALUE;
  return discard(pointers, sizes, count, flags, stream);
}

SS_EXPORT cuSignalExternalSemaphoresAsync(const CUexternalSemaphore* semaphores,
                                          const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS* parameters, unsigned count,
                                          CUstream handle) {
  SS_CALL(cuSignalExternalSemaphoresAsync);
  return for_each_semaphore(semaphores, parameters, count, handle, [](auto& holds, auto value) {
    holds = value;
    return CUDA_SUCCESS;
  });
}

/// An unmet wait fails, as that for a word does.
SS_EXPORT cuWaitExternalSemaphoresAsync(const CUexternalSemaphore* semaphores,
                                        const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* parameters, unsigned count,
                                        CUstream handle) {
  SS_CALL(cuWaitExternalSemaphoresAsync);
  return for_each_semaphore(semaphores, parameters, count, handle, [](auto& holds, auto value) {
    return holds < value ? CUDA_ERROR_LAUNCH_TIMEOUT : CUDA_SUCCESS;
  });
}

SS_EXPORT cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  SS_CALL(cuStreamWriteValue32);
  return write_word(stream, address, value, flags);
}

SS_EXPORT cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  SS_CALL(cuStreamWriteValue64);
  return write_word(stream, address, value, flags);
}

SS_EXPORT cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  SS_CALL(cuStreamWaitValue32);
  return wait_word(stream, address, value, flags);
}

SS_EXPORT cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  SS_CALL(cuStreamWaitValue64);
  return wait_word(stream, address, value, flags);
}
