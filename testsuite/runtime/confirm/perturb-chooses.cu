// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --perturb delays what the seed chooses: the same seed the same operations, another seed others. Of two streams made
// one after the other one is slow, and each of its first 128 operations is delayed; of other operations about one in
// eight, here 1 to 60 of 200. Which of the two is slow depends on the seed.
//
// REQUIRES: nulldriver
// RUN: %build -Xlinker --export-dynamic-symbol=clock_nanosleep %s -o %t
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:perturb=7:perturb_seed=5 %run %t > %t.five 2> %t.err
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:perturb=7:perturb_seed=5 %run %t > %t.again
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:perturb=7:perturb_seed=6 %run %t > %t.six
// RUN: cmp %t.five %t.again
// RUN: not cmp -s %t.five %t.six
// RUN: %filecheck %s --input-file %t.five
// RUN: %filecheck %s --input-file %t.six
// RUN: sh -c 'for seed in 1 2 3 4 5 6 7 8; do STREAMSAN_OPTIONS=footprints=inferred:perturb=7:perturb_seed=$seed %run %t; done' > %t.all
// RUN: %filecheck %s --check-prefix=SEEDS --input-file %t.all
//
// Without the option nothing is delayed, and a seed alone changes nothing.
// RUN: %t > %t.plain 2>&1
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:perturb_seed=5 %run %t > %t.off 2>&1
// RUN: cmp %t.plain %t.off
// RUN: %filecheck %s --check-prefix=OFF --input-file %t.off
//
// CHECK: one of two is slow
// CHECK: the other: some
// CHECK: later: some
// CHECK: legacy: {{slow|some}}
// CHECK: per-thread: {{slow|some}}
// SEEDS-DAG: first is slow
// SEEDS-DAG: second is slow
// SEEDS-DAG: legacy: slow
// SEEDS-DAG: legacy: some
// SEEDS-DAG: per-thread: slow
// SEEDS-DAG: per-thread: some
// OFF-NOT: slow
// OFF: delayed 0
#include "must.h"
#include "sleeps.h"

static const char* rate(const std::string& delays) {
  long count = 0;
  for (char c : delays) count += c == 'D';
  if (count == 0) return "none";
  if (count == static_cast<long>(delays.size())) return "slow";
  return count <= static_cast<long>(delays.size()) * 3 / 10 ? "some" : "many";
}

int main() {
  constexpr int kFirst = 128;
  constexpr int kLater = 200;
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::string delays[2];
  std::string later;
  // Each stream has bytes of its own: this program is correct.
  for (int s = 0; s < 2; ++s) {
    const auto fill = [&](int) { must(cudaMemsetAsync(buffer + 64 * s, 0, 64, streams[s])); };
    delays[s] = delays_of(kFirst, fill);
    later += delays_of(kLater, fill);
  }
  must(cudaDeviceSynchronize());
  const std::string legacy = delays_of(kFirst, [&](int) { must(cudaMemsetAsync(buffer, 0, 64)); });
  must(cudaDeviceSynchronize());
  const std::string thread = delays_of(kFirst, [&](int) { must(cudaMemsetAsync(buffer, 0, 64, cudaStreamPerThread)); });
  must(cudaDeviceSynchronize());
  const std::string rates[2] = {rate(delays[0]), rate(delays[1])};
  if ((rates[0] == "slow") != (rates[1] == "slow")) {
    std::puts("one of two is slow");
    std::printf("%s is slow\n", rates[0] == "slow" ? "first" : "second");
    std::printf("the other: %s\n", rates[rates[0] == "slow"].c_str());
  }
  std::printf("later: %s\nlegacy: %s\nper-thread: %s\n", rate(later), rate(legacy), rate(thread));
  std::printf("%s\n%s\n%s\n%s\n", delays[0].c_str(), delays[1].c_str(), later.c_str(), legacy.c_str());
  std::printf("delayed %d\n", sleeps.load());
}
