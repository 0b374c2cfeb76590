// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// No main(): a function throws unless the registry that it is given knows the table. Nobody in this file adds one, so
// the caller does.
#include <cuda_runtime.h>

#include <map>
#include <vector>

__global__ void spread(const float* table, float* out) { out[threadIdx.x] = table[threadIdx.x]; }

class Registry {
 public:
  Registry() { cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking); }
  Registry(const Registry&) = delete;

  void add(int id, const std::vector<float>& values) {
    Table table;
    table.bytes = values.size() * sizeof(float);
    cudaMallocHost(&table.host, table.bytes);
    cudaMalloc(&table.device, table.bytes);
    cudaEventCreateWithFlags(&table.uploaded, cudaEventDisableTiming);
    for (size_t i = 0; i < values.size(); ++i) table.host[i] = values[i];
    tables_.emplace(id, table);
  }
  const float* upload(int id, cudaStream_t user) {
    const Table& table = tables_.at(id);
    cudaMemcpyAsync(table.device, table.host, table.bytes, cudaMemcpyHostToDevice, upload_);
    cudaEventRecord(table.uploaded, upload_);
#ifdef FIXED
    cudaStreamWaitEvent(user, table.uploaded, 0);
#endif
    return table.device;
  }

 private:
  struct Table {
    size_t bytes = 0;
    float *host = nullptr, *device = nullptr;
    cudaEvent_t uploaded = nullptr;
  };
  std::map<int, Table> tables_;
  cudaStream_t upload_ = nullptr;
};

void spread_table(Registry& registry, int id, float* out, cudaStream_t stream) {
  spread<<<1, 64, 0, stream>>>(registry.upload(id, stream), out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'spread' on stream 'stream' may read 'registry.tables_[id].second.device' while cudaMemcpyAsync (host to device) on stream 'registry.upload_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-21]]:5: note: 'registry.tables_[id].second.device' is written here, on stream 'registry.upload_'
// CHECK-NOTES: :[[@LINE-3]]:32: note: in the call to 'Registry::upload' here
// CHECK-NOTES: :[[@LINE-22]]:5: note: event 'registry.tables_[id].second.uploaded' is recorded here, after the write, but stream 'stream' does not wait for it
// CHECK-NOTES: :[[@LINE-31]]:5: note: 'registry.tables_[id].second.device' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: let stream 'stream' wait for event 'registry.tables_[id].second.uploaded' with cudaStreamWaitEvent before kernel 'spread'
// CHECK-NOTES: :[[@LINE-40]]:16: note: stream 'registry.upload_' is created by its class here, and stream 'stream' comes from outside
}
