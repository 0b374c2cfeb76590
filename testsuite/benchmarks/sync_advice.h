// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the programs of runtime/syncs again and again in one process: each as it stands and as it is once the advice of
// --syncs is followed, by turns. Included behind syncs.h and before the programs, of which each variant has a
// namespace.
//
// Streams, events and memory are made in the first round and kept for all others, so that only what a program does with
// them is timed. A round is what lies between begin() and the end of the program; its results are checked in rounds of
// their own, which are not timed.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

enum Made { kMemory, kPinned, kNonBlocking, kBlocking, kEvents, kKinds };
inline std::vector<void*> g_made[kKinds];
inline size_t g_used[kKinds];
inline bool g_check = false;

template <typename Thing>
Thing kept(Made kind, Thing (*make)()) {
  if (g_used[kind] == g_made[kind].size()) g_made[kind].push_back(make());
  return static_cast<Thing>(g_made[kind][g_used[kind]++]);
}

inline void expect_if_checked(const float* host, float value) {
  if (g_check) expect(host, value);
}

inline void finish_round(cudaStream_t stream, const float* device, float value) {
  float* host = kept(kPinned, pinned_floats);
  must(cudaMemcpyAsync(host, device, kBytes, cudaMemcpyDeviceToHost, stream));
  must(cudaStreamSynchronize(stream));
  expect_if_checked(host, value);
}

#define begin(argc, argv) std::fill(g_used, g_used + kKinds, 0)
#define device_floats() kept(kMemory, device_floats)
#define pinned_floats() kept(kPinned, pinned_floats)
#define non_blocking_stream() kept(kNonBlocking, non_blocking_stream)
#define blocking_stream() kept(kBlocking, blocking_stream)
#define order_event() kept(kEvents, order_event)
#define expect(host, value) expect_if_checked(host, value)
#define finish(stream, device, value) finish_round(stream, device, value)
#define done()
// A function other than main must return what it says it does: "int main(...) {" becomes a variable and a function.
#define main(...) \
  unused;         \
  void program(__VA_ARGS__)

struct Compared {
  const char* name;
  void (*original)(int, char**);
  void (*fixed)(int, char**);
};

/// Microseconds of each round.
inline double timed(void (*program)(int, char**), int rounds) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) program(0, nullptr);
  must(cudaDeviceSynchronize());
  const auto took = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::micro>(took).count() / rounds;
}

inline void checked(void (*program)(int, char**)) {
  must(cudaDeviceSynchronize());
  for (void* memory : g_made[kMemory]) must(cudaMemset(memory, 0xff, kBytes));
  must(cudaDeviceSynchronize());
  g_check = true;
  program(0, nullptr);
  g_check = false;
  must(cudaDeviceSynchronize());
}

inline void print(const char* name, const std::vector<double>& times) {
  std::printf("\"%s\": [", name);
  for (size_t i = 0; i < times.size(); ++i) std::printf("%s%.2f", i ? ", " : "", times[i]);
  std::printf("]");
}

/// [THOUSANDS OF CYCLES OF A KERNEL [PAIRS [ROUNDS]]]
inline int compare(std::vector<Compared> programs, int argc, char** argv) {
  g_cycles = (argc > 1 ? std::atol(argv[1]) : 20) * 1000;
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 9;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 100;
  std::printf("{");
  for (const Compared& program : programs) {
    std::vector<double> original, fixed;
    checked(program.original);
    checked(program.fixed);
    for (int pair = -1; pair < pairs; ++pair) {  // the first one warms up
      const bool first = pair % 2 == 0;
      const double one = timed(first ? program.original : program.fixed, rounds);
      const double two = timed(first ? program.fixed : program.original, rounds);
      if (pair < 0) continue;
      original.push_back(first ? one : two);
      fixed.push_back(first ? two : one);
    }
    checked(program.original);
    checked(program.fixed);
    std::printf("%s\"%s\": {", &program == programs.data() ? "" : ", ", program.name);
    print("original", original);
    std::printf(", ");
    print("fixed", fixed);
    std::printf("}");
  }
  std::printf("}\n");
  return 0;
}
