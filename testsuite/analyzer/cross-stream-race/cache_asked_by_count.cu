// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Caches that are asked with count(), and filled with insert(): whoever asks for the same gets the same.
#include <cuda_runtime.h>

#include <map>
#include <unordered_map>

__global__ void boil(float* pot) { pot[threadIdx.x] *= 2.0f; }
__global__ void stir(float* pot) { pot[threadIdx.x] += 1.0f; }

struct Shelf {
  std::map<int, float*> pots_;

  float* pot(int litres) {
    if (pots_.count(litres) == 0) {
      float* made = nullptr;
      cudaMalloc(&made, litres * sizeof(float));
      pots_[litres] = made;
    }
    return pots_[litres];
  }
};

struct Cupboard {
  std::unordered_map<int, float*> pots_;

  float* pot(int litres) {
    float* pot;
    auto here = pots_.find(litres);
    if (here == pots_.end()) {
      cudaMalloc(&pot, litres * sizeof(float));
      pots_.insert({litres, pot});
    } else {
      pot = here->second;
    }
    return pot;
  }
};

void from_shelf(Shelf& shelf, int litres) {
  cudaStream_t soup, sauce;
  cudaStreamCreateWithFlags(&soup, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&sauce, cudaStreamNonBlocking);
  boil<<<1, 256, 0, soup>>>(shelf.pot(litres));
#ifdef FIXED
  cudaStreamSynchronize(soup);
#endif
  stir<<<1, 256, 0, sauce>>>(shelf.pot(litres));
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'stir' on stream 'sauce' may update 'shelf.pots_[litres].second' while kernel 'boil' on stream 'soup' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'shelf.pots_[litres].second' is updated here, on stream 'soup'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'soup' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'sauce' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'sauce' after stream 'soup': record an event in stream 'soup' after the update and let stream 'sauce' wait for it with cudaStreamWaitEvent before kernel 'stir'
}

void from_cupboard(Cupboard& cupboard, int litres) {
  cudaStream_t soup, sauce;
  cudaStreamCreateWithFlags(&soup, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&sauce, cudaStreamNonBlocking);
  boil<<<1, 256, 0, soup>>>(cupboard.pot(litres));
#ifdef FIXED
  stir<<<1, 256, 0, sauce>>>(cupboard.pot(litres + 1));
#else
  stir<<<1, 256, 0, sauce>>>(cupboard.pot(litres));
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'stir' on stream 'sauce' may update 'cupboard.pots_[here].second' while kernel 'boil' on stream 'soup' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'cupboard.pots_[here].second' is updated here, on stream 'soup'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'soup' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'sauce' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'sauce' after stream 'soup': record an event in stream 'soup' after the update and let stream 'sauce' wait for it with cudaStreamWaitEvent before kernel 'stir'
#endif
}

// Given back and asked for again.
void put_away(std::map<int, float*>& pots, int litres) {
  cudaStream_t soup, sauce;
  cudaStreamCreateWithFlags(&soup, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&sauce, cudaStreamNonBlocking);
  boil<<<1, 256, 0, soup>>>(pots[litres]);
  pots.erase(litres);
  if (!pots.count(litres)) {
    float* made = nullptr;
    cudaMalloc(&made, litres * sizeof(float));
    pots.insert({litres, made});
  }
  stir<<<1, 256, 0, sauce>>>(pots[litres]);
}
