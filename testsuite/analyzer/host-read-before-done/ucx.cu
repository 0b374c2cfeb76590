// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// UCX sends memory of the GPU and knows no stream: its caller waits for the kernel first, on the host.
#include <cuda_runtime.h>

#include <vector>

extern "C" {
typedef struct ucp_ep* ucp_ep_h;
typedef struct ucp_worker* ucp_worker_h;
typedef struct ucp_rkey* ucp_rkey_h;
typedef struct ucp_request_param ucp_request_param_t;
void* ucp_put_nbx(ucp_ep_h, const void*, size_t, unsigned long, ucp_rkey_h, const ucp_request_param_t*);
unsigned ucp_worker_progress(ucp_worker_h);
int ucp_request_check_status(void*);
void ucp_request_free(void*);
void* ucp_am_send_nbx(ucp_ep_h, unsigned, const void*, size_t, const void*, size_t, const ucp_request_param_t*);
int ucp_worker_set_am_recv_handler(ucp_worker_h, int (*)(void*), void*);
}

__global__ void pack(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

class Sender {
 public:
  Sender(ucp_ep_h peer, ucp_worker_h worker, ucp_rkey_h key, int count)
      : peer_(peer), worker_(worker), key_(key), count_(count) {
    cudaMalloc(&packed_, count * sizeof(float));
    cudaEventCreateWithFlags(&done_, cudaEventDisableTiming);
  }
  ~Sender() {
    finish();
    cudaEventDestroy(done_);
    cudaFree(packed_);
  }
  void send(const float* values, unsigned long to, cudaStream_t stream) {
    finish();
    pack<<<(count_ + 255) / 256, 256, 0, stream>>>(values, packed_, count_);
    cudaEventRecord(done_, stream);
#ifdef FIXED
    cudaEventSynchronize(done_);
#else
    cudaStreamWaitEvent(stream, done_, 0);
#endif
    void* const request = ucp_put_nbx(peer_, packed_, count_ * sizeof(float), to, key_, nullptr);
// CHECK-MESSAGES: :[[@LINE-1]]:27: warning: the host may read 'this->packed_' while kernel 'pack' on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-9]]:5: note: 'this->packed_' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-5]]:5: note: another stream waits for event 'this->done_' here, not the host
// CHECK-NOTES: :[[@LINE-21]]:5: note: 'this->packed_' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:27: note: wait for event 'this->done_' with cudaEventSynchronize, or for all of stream 'stream' with cudaStreamSynchronize, before the read
    if (request != nullptr) pending_.push_back(request);
  }

 private:
  void finish() {
    for (void* const request : pending_) {
      while (ucp_request_check_status(request) > 0) ucp_worker_progress(worker_);
      ucp_request_free(request);
    }
    pending_.clear();
  }
  ucp_ep_h peer_;
  ucp_worker_h worker_;
  ucp_rkey_h key_;
  int count_;
  float* packed_ = nullptr;
  cudaEvent_t done_ = nullptr;
  std::vector<void*> pending_;
};

// A header alone: no memory of the GPU is sent.
void announce(ucp_ep_h peer, const float* values, float* packed, int n, cudaStream_t stream) {
  pack<<<(n + 255) / 256, 256, 0, stream>>>(values, packed, n);
  const int tag = 7;
  ucp_am_send_nbx(peer, 1, &tag, sizeof(tag), packed, 0, nullptr);
}

/// What makes progress calls back, and that waits.
class Receiver {
 public:
  Receiver(ucp_worker_h worker, int n) : worker_(worker), n_(n) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&in_, n * sizeof(float));
    cudaMalloc(&sum_, n * sizeof(float));
    cudaMallocHost(&total_, n * sizeof(float));
    ucp_worker_set_am_recv_handler(worker, &Receiver::arrive, this);
  }
  ~Receiver() { cudaStreamSynchronize(stream_); }
  float next() {
    arrived_ = false;
    pack<<<(n_ + 255) / 256, 256, 0, stream_>>>(in_, sum_, n_);
    cudaMemcpyAsync(total_, sum_, n_ * sizeof(float), cudaMemcpyDeviceToHost, stream_);
    while (!arrived_) ucp_worker_progress(worker_);
    return total_[0];
  }

 private:
  static int arrive(void* object) {
    Receiver& self = *static_cast<Receiver*>(object);
    cudaStreamSynchronize(self.stream_);
    self.arrived_ = true;
    return 0;
  }
  ucp_worker_h worker_;
  int n_;
  bool arrived_ = false;
  cudaStream_t stream_ = nullptr;
  float *in_ = nullptr, *sum_ = nullptr, *total_ = nullptr;
};
