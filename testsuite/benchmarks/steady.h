// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times equal launches by the host's clock once they are in a steady state: untimed ones first, then blocks, each ended
// by a synchronisation. A block takes some ten milliseconds, so that the synchronisation is little beside them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define MUST(condition)                                                          \
  if (!(condition)) {                                                            \
    std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
    std::exit(2);                                                                \
  }

struct Counts {
  int blocks;
  int launches;  ///< of each block
  int untimed;
};

/// The numbers of the command line, else those given.
struct Plan : Counts {
  Plan(int argc, char** argv, Counts usual) : Counts(usual) {
    if (argc > 1) blocks = std::max(1, std::atoi(argv[1]));
    if (argc > 2) launches = std::max(1, std::atoi(argv[2]));
    if (argc > 3) untimed = std::atoi(argv[3]);
  }
};

/// In milliseconds. Prints what a benchmark program prints.
inline void print_median(std::vector<double> times, int launches) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  std::printf("{\"ms\": %.6f, \"launches\": %d}\n", times[times.size() / 2], launches);
}

template <class Launch>
void time_steady(const Plan& plan, Launch launch) {
  for (int i = 0; i < plan.untimed; ++i) launch();
  MUST(cudaDeviceSynchronize() == cudaSuccess);
  std::vector<double> times;
  for (int block = 0; block < plan.blocks; ++block) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < plan.launches; ++i) launch();
    MUST(cudaDeviceSynchronize() == cudaSuccess);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    times.push_back(taken.count() / plan.launches);
  }
  print_median(std::move(times), plan.blocks * plan.launches);
}
