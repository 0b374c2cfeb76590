// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED -DGIVES_EVENT
// RUN: %check event-wait-without-record %s -- -DFIXED -DIN_TEMPLATE
// RUN: %check event-wait-without-record %s -- -DFIXED -DIN_OTHER_FILE
// RUN: %check event-wait-without-record %s -- -DFIXED -DBY_NODE
// RUN: %check event-wait-without-record %s -- -DFIXED -DIMPLEMENTED_ELSEWHERE
//
// No main(): a channel whose event nobody records in the code that is made of this file. It may be recorded all the same:
// by who asks for the event, in a template that others instantiate, in a function of another file, by a node of a graph,
// by who implements an interface.
#include <cuda_runtime.h>

#include <memory>
#include <vector>

__global__ void decode(const float* packet, float* sound) { sound[threadIdx.x] = packet[threadIdx.x]; }

void receive_into(float* packet, cudaStream_t stream, cudaEvent_t received);

class Source {
 public:
  virtual ~Source() = default;
#ifdef IMPLEMENTED_ELSEWHERE
  virtual void receive(float* packet, cudaStream_t stream, cudaEvent_t received) = 0;
#endif
};

class Channel {
 public:
  Channel() {
    cudaStreamCreateWithFlags(&receive_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&play_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&received_, cudaEventDisableTiming);
    cudaMalloc(&packet_, 256 * sizeof(float));
    cudaMalloc(&sound_, 256 * sizeof(float));
  }
  ~Channel() {
    cudaDeviceSynchronize();
    cudaFree(packet_);
    cudaFree(sound_);
  }
  Channel(const Channel&) = delete;

#ifdef GIVES_EVENT
  cudaEvent_t received() const { return received_; }
#endif
#ifdef IN_TEMPLATE
  template <typename Receive>
  void receive(Receive receive) {
    receive(packet_, receive_);
    cudaEventRecord(received_, receive_);
  }
#endif
#ifdef BY_NODE
  void receive(cudaGraph_t graph) {
    cudaGraphNode_t node;
    cudaGraphAddEventRecordNode(&node, graph, nullptr, 0, received_);
  }
#endif
#ifdef IMPLEMENTED_ELSEWHERE
  void receive(Source& source) { source.receive(packet_, receive_, received_); }
#endif

  void play() {
#ifdef IN_OTHER_FILE
    receive_into(packet_, receive_, received_);
#endif
    cudaStreamWaitEvent(play_, received_, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: stream 'this->play_' waits for event 'this->received_', which nothing ever records: the wait does nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-2]]:5: note: record event 'this->received_' with cudaEventRecord behind the work that is to be waited for
// CHECK-NOTES: :[[@LINE-38]]:5: note: event 'received_' is created here, for its class alone
    decode<<<1, 256, 0, play_>>>(packet_, sound_);
  }

 private:
  cudaStream_t receive_ = nullptr, play_ = nullptr;
  cudaEvent_t received_ = nullptr;
  float *packet_ = nullptr, *sound_ = nullptr;
};
