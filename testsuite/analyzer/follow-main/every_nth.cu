// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// What is done each 64th time is done: a counter of the caller's is given just before that.
#include <cuda_runtime.h>

#include <unistd.h>

__global__ void count(int* table) { atomicAdd(&table[threadIdx.x % 8], 1); }

class Exporter {
 public:
  explicit Exporter(int file) : file_(file) {}
  void operator()(const void* data, long bytes) const {
    const char* at = static_cast<const char*>(data);
    for (long sent = 0; sent < bytes;) {
      const long some = ::write(file_, at + sent, bytes - sent);
// CHECK-MESSAGES: :[[@LINE-1]]:25: warning: the host may read 'report_' while cudaMemcpyAsync on stream 'stream_' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE+44]]:18: note: in the call to 'operator()' here
// CHECK-NOTES: :[[@LINE+38]]:5: note: in the call to 'print' here
// CHECK-NOTES: :[[@LINE+41]]:18: note: 'report_' is written here, on stream 'stream_'
// CHECK-NOTES: :[[@LINE+32]]:5: note: in the call to 'fetch' here
// CHECK-NOTES: :[[@LINE+18]]:5: note: stream 'stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+16]]:47: note: in the call to 'Table' here
// CHECK-NOTES: :[[@LINE+18]]:5: note: 'report_' is allocated here
// CHECK-NOTES: :[[@LINE-9]]:25: note: wait for stream 'stream_' with cudaStreamSynchronize before the read
// CHECK-NOTES: :[[@LINE-10]]:25: note: a call with arguments that were made up (--dump-ir shows them) was followed to here, with zeros for what the GPU computes
// CHECK-NOTES: :[[@LINE+44]]:33: note: in the call to 'flush' here
      if (some <= 0) break;
      sent += some;
    }
  }

 private:
  int file_;
};

class Table {
 public:
  explicit Table(Exporter sink) : sink_(sink) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&counts_, 8 * sizeof(int));
    cudaMallocHost(&report_, 8 * sizeof(int));
    cudaMemsetAsync(counts_, 0, 8 * sizeof(int), stream_);
  }
  ~Table() {
    cudaStreamSynchronize(stream_);
    cudaFree(counts_);
    cudaFreeHost(report_);
    cudaStreamDestroy(stream_);
  }
  void add() { count<<<1, 64, 0, stream_>>>(counts_); }
  void flush() {
    fetch();
#ifdef FIXED
    cudaStreamSynchronize(stream_);
#endif
    print();
  }

 private:
  void fetch() { cudaMemcpyAsync(report_, counts_, 8 * sizeof(int), cudaMemcpyDeviceToHost, stream_); }
  void print() { sink_(report_, 8 * sizeof(int)); }
  Exporter sink_;
  cudaStream_t stream_ = nullptr;
  int* counts_ = nullptr;
  int* report_ = nullptr;
};

void on_burst(Table& table, int& bursts) {
  table.add();
  if (++bursts % 64 == 0) table.flush();
}
