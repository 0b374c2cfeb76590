// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// A method goes through what it keeps and waits for the event of one, which it has asked for: that one was recorded. Not
// so where the caller waits for the event of a new one, by itself.
#include <cuda_runtime.h>

#include <map>
#include <vector>

class Shed {
 public:
  ~Shed() { cudaDeviceSynchronize(); }
  void* take(cudaStream_t stream) {
    Row& mine = row_of(stream);
    if (mine.tools.empty())
      for (auto& [other, row] : rows_) {
        if (other == stream || row.tools.empty()) continue;
        cudaStreamWaitEvent(stream, row.back, 0);
        mine.tools.swap(row.tools);
        break;
      }
    if (mine.tools.empty()) return nullptr;
    void* tool = mine.tools.back();
    mine.tools.pop_back();
    return tool;
  }
  void give(void* tool, cudaStream_t stream) {
    Row& mine = row_of(stream);
    mine.tools.push_back(tool);
    cudaEventRecord(mine.back, stream);
  }
  void buy(cudaStream_t stream) {
    void* tool = nullptr;
    cudaMalloc(&tool, 4096);
    row_of(stream).tools.push_back(tool);
  }

 private:
  struct Row {
    std::vector<void*> tools;
    cudaEvent_t back = nullptr;
  };
  Row& row_of(cudaStream_t stream) {
    Row& row = rows_[stream];
    if (row.back == nullptr) cudaEventCreateWithFlags(&row.back, cudaEventDisableTiming);
    return row;
  }
  std::map<cudaStream_t, Row> rows_;
};

void work(cudaStream_t one, cudaStream_t other) {
  Shed shed;
  shed.buy(one);
  void* tool = shed.take(one);
  shed.give(tool, one);
  tool = shed.take(other);
  shed.give(tool, other);
  cudaEvent_t started;
  cudaEventCreateWithFlags(&started, cudaEventDisableTiming);
#ifdef FIXED
  cudaEventRecord(started, one);
#endif
  cudaStreamWaitEvent(other, started, 0);  // FIRES: event-wait-without-record
  cudaEventDestroy(started);
}
