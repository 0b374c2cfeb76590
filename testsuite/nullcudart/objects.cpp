// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, events and graphs as objects, and what else has no flavour among them.

#include "testsuite/nullcudart/runtime.h"

NC_EXPORT cudaStreamCreate(cudaStream_t* stream) { NC_RETURN(cuStreamCreate(stream, CU_STREAM_DEFAULT)); }

NC_EXPORT cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) { NC_RETURN(cuStreamCreate(stream, flags)); }

NC_EXPORT cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  NC_RETURN(cuStreamCreateWithPriority(stream, flags, priority));
}

NC_EXPORT cudaStreamDestroy(cudaStream_t stream) { NC_RETURN(cuStreamDestroy(stream)); }

NC_EXPORT cudaEventCreate(cudaEvent_t* event) { NC_RETURN(cuEventCreate(event, CU_EVENT_DEFAULT)); }

NC_EXPORT cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) { NC_RETURN(cuEventCreate(event, flags)); }

NC_EXPORT cudaEventDestroy(cudaEvent_t event) { NC_RETURN(cuEventDestroy(event)); }
NC_EXPORT cudaEventQuery(cudaEvent_t event) { NC_RETURN(cuEventQuery(event)); }
NC_EXPORT cudaEventSynchronize(cudaEvent_t event) { NC_RETURN(cuEventSynchronize(event)); }

NC_EXPORT cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  NC_RETURN(cuEventElapsedTime(milliseconds, start, end));
}

NC_EXPORT cudaGraphCreate(cudaGraph_t* graph, unsigned flags) { NC_RETURN(cuGraphCreate(graph, flags)); }
NC_EXPORT cudaGraphDestroy(cudaGraph_t graph) { NC_RETURN(cuGraphDestroy(graph)); }
NC_EXPORT cudaGraphExecDestroy(cudaGraphExec_t exec) { NC_RETURN(cuGraphExecDestroy(exec)); }

NC_EXPORT cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  NC_RETURN(cuGraphExecGetFlags(exec, reinterpret_cast<cuuint64_t*>(flags)));
}

NC_EXPORT cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  NC_RETURN(cuGraphGetNodes(graph, nodes, count));
}

NC_EXPORT cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  NC_RETURN(cuGraphInstantiateWithFlags(exec, graph, flags));
}

NC_EXPORT cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  NC_RETURN(cuGraphInstantiateWithFlags(exec, graph, flags));
}

NC_EXPORT cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  NC_RETURN(cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode)));
}
