// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// What was put in under a name, or under a tuple or a struct, is found again under an equal one. FIXED asks for another.
#include <cuda_runtime.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>

__global__ void pour(float* tank) { tank[threadIdx.x] = 1.0f; }
__global__ void drain(const float* tank, float* river) { river[threadIdx.x] += tank[threadIdx.x]; }

#ifdef FIXED
#define OTHER(usual, other) other
#else
#define OTHER(usual, other) usual
#endif

struct Place {
  int row, column;
  bool operator<(const Place& other) const { return std::tie(row, column) < std::tie(other.row, other.column); }
};

class Tanks {
 public:
  float* called(const std::string& name, int litres) {
    auto known = by_name_.find(name);
    if (known != by_name_.end()) return known->second;
    float* made = nullptr;
    cudaMalloc(&made, litres);
    by_name_[name] = made;
    return made;
  }
  float* of(int farm, int litres) {
    float*& tank = by_farm_[std::make_tuple(farm, litres)];
    if (tank == nullptr) cudaMalloc(&tank, litres);
    return tank;
  }
  float* at(const Place& place, int litres) {
    float*& tank = by_place_[place];
    if (tank == nullptr) cudaMalloc(&tank, litres);
    return tank;
  }

 private:
  std::map<std::string, float*> by_name_;
  std::map<std::tuple<int, int>, float*> by_farm_;
  std::map<Place, float*> by_place_;
};

class Farm {
 public:
  Farm() {
    cudaStreamCreateWithFlags(&spring_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&autumn_, cudaStreamNonBlocking);
  }

  void by_name(float* east, float* west, int litres) {
    early(tanks_.called("milk", litres), east);
    float* tank = tanks_.called(OTHER("milk", "wine"), litres);
    pour<<<1, 64, 0, autumn_>>>(tank);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'pour' on stream 'this->autumn_' may write 'tank' while kernel 'drain' on stream 'this->spring_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+47]]:5: note: 'tank' is read here, on stream 'this->spring_'
// CHECK-NOTES: :[[@LINE-5]]:5: note: in the call to 'Farm::early' here
// CHECK-NOTES: :[[@LINE-11]]:5: note: stream 'this->spring_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:5: note: stream 'this->autumn_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:5: note: nothing orders stream 'this->autumn_' after stream 'this->spring_': record an event in stream 'this->spring_' after the read and let stream 'this->autumn_' wait for it with cudaStreamWaitEvent before kernel 'pour'
    drain<<<1, 64, 0, autumn_>>>(tank, west);
    settle();
  }
  void by_tuple(float* east, float* west, int litres) {
    early(tanks_.of(3, litres), east);
    float* tank = tanks_.of(OTHER(3, 4), litres);
    pour<<<1, 64, 0, autumn_>>>(tank);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'pour' on stream 'this->autumn_' may write 'tank' while kernel 'drain' on stream 'this->spring_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+34]]:5: note: 'tank' is read here, on stream 'this->spring_'
// CHECK-NOTES: :[[@LINE-5]]:5: note: in the call to 'Farm::early' here
// CHECK-NOTES: :[[@LINE-24]]:5: note: stream 'this->spring_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-24]]:5: note: stream 'this->autumn_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:5: note: nothing orders stream 'this->autumn_' after stream 'this->spring_': record an event in stream 'this->spring_' after the read and let stream 'this->autumn_' wait for it with cudaStreamWaitEvent before kernel 'pour'
    drain<<<1, 64, 0, autumn_>>>(tank, west);
    settle();
  }
  void by_place(float* east, float* west, int litres) {
    early(tanks_.at(Place{1, 7}, litres), east);
    float* tank = tanks_.at(Place{OTHER(1, 2), 7}, litres);
    pour<<<1, 64, 0, autumn_>>>(tank);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'pour' on stream 'this->autumn_' may write 'tank' while kernel 'drain' on stream 'this->spring_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+21]]:5: note: 'tank' is read here, on stream 'this->spring_'
// CHECK-NOTES: :[[@LINE-5]]:5: note: in the call to 'Farm::early' here
// CHECK-NOTES: :[[@LINE-37]]:5: note: stream 'this->spring_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-37]]:5: note: stream 'this->autumn_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:5: note: nothing orders stream 'this->autumn_' after stream 'this->spring_': record an event in stream 'this->spring_' after the read and let stream 'this->autumn_' wait for it with cudaStreamWaitEvent before kernel 'pour'
    drain<<<1, 64, 0, autumn_>>>(tank, west);
    settle();
  }
  // A string that changes is another key.
  void renamed(float* east, float* west, int litres, std::string name) {
    early(tanks_.called(name, litres), east);
    name += "2";
    float* tank = tanks_.called(name, litres);
    pour<<<1, 64, 0, autumn_>>>(tank);
    drain<<<1, 64, 0, autumn_>>>(tank, west);
    settle();
  }

 private:
  void early(float* tank, float* river) {
    pour<<<1, 64, 0, spring_>>>(tank);
    drain<<<1, 64, 0, spring_>>>(tank, river);
  }
  void settle() {
    cudaStreamSynchronize(spring_);
    cudaStreamSynchronize(autumn_);
  }

  Tanks tanks_;
  cudaStream_t spring_, autumn_;
};
