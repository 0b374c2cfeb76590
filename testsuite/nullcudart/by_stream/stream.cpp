// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What names a stream: waiting, events, stream-ordered memory, hints, capture, graph launch, and the look-up of driver
// functions, which follows the flavour too. Compiled twice, see runtime.h.

#include "testsuite/nullcudart/runtime.h"

using streamsan::nullcudart::get_proc_address;
using streamsan::nullcudart::load_driver;
using streamsan::nullcudart::remember;

NC_EXPORT cudaStreamSynchronize(cudaStream_t stream) { NC_RETURN(cuStreamSynchronize(stream)); }
NC_EXPORT cudaStreamQuery(cudaStream_t stream) { NC_RETURN(cuStreamQuery(stream)); }
NC_EXPORT cudaStreamGetDevice(cudaStream_t stream, int* device) { NC_RETURN(cuStreamGetDevice(stream, device)); }
NC_EXPORT cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) { NC_RETURN(cuStreamGetFlags(stream, flags)); }
NC_EXPORT cudaStreamGetId(cudaStream_t stream, unsigned long long* id) { NC_RETURN(cuStreamGetId(stream, id)); }
NC_EXPORT cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  NC_RETURN(cuStreamGetPriority(stream, priority));
}

NC_EXPORT cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  NC_RETURN(cuStreamWaitEvent(stream, event, flags));
}

NC_EXPORT cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { NC_RETURN(cuEventRecord(event, stream)); }

NC_EXPORT cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  NC_RETURN(cuEventRecordWithFlags(event, stream, flags));
}

NC_EXPORT cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags) {
  // Both callbacks take a stream, an error number and a pointer.
  const auto driver_callback = reinterpret_cast<CUstreamCallback>(reinterpret_cast<void*>(callback));
  NC_RETURN(cuStreamAddCallback(stream, driver_callback, data, flags));
}

NC_EXPORT cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes, unsigned flags) {
  NC_RETURN(cuStreamAttachMemAsync(stream, reinterpret_cast<CUdeviceptr>(pointer), bytes, flags));
}

NC_EXPORT cudaMallocAsync(void** out, size_t bytes, cudaStream_t stream) {
  NC_RETURN(cuMemAllocAsync(reinterpret_cast<CUdeviceptr*>(out), bytes, stream));
}

NC_EXPORT cudaMallocFromPoolAsync(void** out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  NC_RETURN(cuMemAllocFromPoolAsync(reinterpret_cast<CUdeviceptr*>(out), bytes, pool, stream));
}

NC_EXPORT cudaFreeAsync(void* pointer, cudaStream_t stream) {
  NC_RETURN(cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(pointer), stream));
}

NC_EXPORT cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location, unsigned flags,
                               cudaStream_t stream) {
  const CUmemLocation driver_location{static_cast<CUmemLocationType>(location.type), location.id};
  NC_RETURN(cuMemPrefetchAsync(reinterpret_cast<CUdeviceptr>(pointer), bytes, driver_location, flags, stream));
}

NC_EXPORT cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  NC_RETURN(cuStreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(mode)));
}

NC_EXPORT cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                        const cudaGraphEdgeData* edges, size_t count, cudaStreamCaptureMode mode) {
  NC_RETURN(cuStreamBeginCaptureToGraph(stream, graph, dependencies, reinterpret_cast<const CUgraphEdgeData*>(edges),
                                        count, static_cast<CUstreamCaptureMode>(mode)));
}

NC_EXPORT cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  NC_RETURN(cuStreamEndCapture(stream, graph));
}

NC_EXPORT cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  NC_RETURN(cuStreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status)));
}

NC_EXPORT cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                   cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                   const cudaGraphEdgeData** edges, size_t* count) {
  NC_RETURN(cuStreamGetCaptureInfo(stream, reinterpret_cast<CUstreamCaptureStatus*>(status),
                                   reinterpret_cast<cuuint64_t*>(id), graph, dependencies,
                                   reinterpret_cast<const CUgraphEdgeData**>(edges), count));
}

NC_EXPORT cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                              const cudaGraphEdgeData* edges, size_t count, unsigned flags) {
  NC_RETURN(cuStreamUpdateCaptureDependencies(stream, dependencies, reinterpret_cast<const CUgraphEdgeData*>(edges),
                                              count, flags));
}

NC_EXPORT cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) { NC_RETURN(cuGraphLaunch(exec, stream)); }
NC_EXPORT cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) { NC_RETURN(cuGraphUpload(exec, stream)); }

NC_EXPORT cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                         cudaGraphInstantiateParams* parameters) {
  NC_RETURN(cuGraphInstantiateWithParams(exec, graph, reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(parameters)));
}

NC_EXPORT cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                           unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  if (const cudaError_t unready = load_driver(); unready != cudaSuccess) return remember(unready);
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  if (flags == cudaEnableDefault) flags = cudaEnablePerThreadDefaultStream;
#endif
  CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SUCCESS;
  const CUresult code = get_proc_address(symbol, function, static_cast<int>(version), flags, &result);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(result);
  // Not to have a function is an answer here, not an error.
  return remember(code == CUDA_ERROR_NOT_FOUND ? cudaSuccess : static_cast<cudaError_t>(code));
}
