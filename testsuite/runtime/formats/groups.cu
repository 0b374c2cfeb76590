// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three uploads, three kernels, and the wait between them is missing: three findings of one missing edge, which every
// format keeps together, each in its way. With a second wait missing they are two groups, and `diff` tells the new one;
// with none missing there is nothing.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %streamsan run --json=%t.json --sarif=%t.sarif --html=%t.html -- %t 2> /dev/null
// RUN: %python %S/inputs/check_sarif.py %t.sarif > /dev/null
// RUN: %json %t.sarif | grep -E "(group|Build/v1) = " | %filecheck %s --check-prefix=SARIF
// RUN: %python %S/inputs/html_findings.py %t.html | %sites --check-prefixes=ONE,ONLY
// RUN: %expect 66 %streamsan report %t.json | %sites --check-prefix=TEXT
// RUN: %expect 0 %streamsan diff %t.json %t.json | %filecheck %s --check-prefix=SAME
//
// RUN: %build -DTWO %s -o %t.two
// RUN: %expect 66 %streamsan run --json=%t.two.json --html=%t.two.html -- %t.two 2> /dev/null
// RUN: %python %S/inputs/html_findings.py %t.two.html | %sites --check-prefixes=ONE,TWO
// RUN: %expect 66 %streamsan diff %t.json %t.two.json | %sites --check-prefix=NEW
//
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %expect 0 %streamsan run --json=%t.fixed.json --html=%t.fixed.html -- %t.fixed
// RUN: %python %S/inputs/html_findings.py %t.fixed.html | %filecheck %s --check-prefix=CLEAN
// RUN: %expect 0 %streamsan diff %t.json %t.fixed.json | %filecheck %s --check-prefix=GONE
//
// SARIF: results[0].partialFingerprints.streamsanBuild/v1 = "[[PRINT:[0-9a-f]+]]"
// SARIF-NEXT: results[0].properties.group = "[[PRINT]]"
// SARIF-NEXT: results[1].partialFingerprints.streamsanBuild/v1 =
// SARIF-NEXT: results[1].properties.group = "[[PRINT]]"
// SARIF-NEXT: results[2].partialFingerprints.streamsanBuild/v1 =
// SARIF-NEXT: results[2].properties.group = "[[PRINT]]"
//
// ONE: group 1: error {{.*}}[[FIRST]]
// ONE-NEXT: group 1: error {{.*}}[[SECOND]]
// ONE-NEXT: group 1: error {{.*}}[[THIRD]]
// ONLY-NEXT: group 1: 3 findings, one fix: record an event on stream 1 after {{.*}} before kernel consume(float const*) ([[FIRST]])
// ONLY-NEXT: operations: {{[0-9]+}} errors: 3 whole: True
// TWO: group 2: error {{.*}}[[FOURTH]]
// TWO-NEXT: group 2: error {{.*}}[[FIFTH]]
// TWO-NEXT: group 2: 2 findings, one fix: synchronise with stream 1 after {{.*}} and before kernel consume(float const*) ([[FOURTH]])
// TWO-NEXT: operations: {{[0-9]+}} errors: 5 whole: True
//
// TEXT: Fix: record an event on stream 1
// TEXT: The Fix above repairs the next 2 findings, too.
// TEXT-NOT: Fix
// TEXT: SUMMARY: streamsan: 3 errors
// SAME: SUMMARY: streamsan: new: 0; gone: 0; unchanged: 3 errors
//
// NEW: New:
// NEW-NEXT: ERROR: streamsan: read-after-write
// NEW: main{{.*}}[[FOURTH]]
// NEW: Fix: synchronise with stream 1
// NEW: The Fix above repairs the next finding, too.
// NEW-NOT: New:
// NEW: Read by kernel consume{{.*}}[[FIFTH]]
// NEW-NOT: Fix
// NEW: SUMMARY: streamsan: new: 2 errors; gone: 0; unchanged: 3 errors
//
// CLEAN-NOT: group
// CLEAN-NOT: alone
// CLEAN: operations: {{[1-9][0-9]*}} errors: 0 whole: True
// GONE: SUMMARY: streamsan: new: 0; gone: 3 errors; unchanged: 0
#include "must.h"

__global__ void consume(const float*) {}

namespace {

cudaStream_t s1, s2;
cudaEvent_t uploaded;

void upload(float* to, const float* from) {
  must(cudaMemcpyAsync(to, from, 4096, cudaMemcpyHostToDevice, s1));
}

[[maybe_unused]] void order() {
  must(cudaEventRecord(uploaded, s1));
  must(cudaStreamWaitEvent(s2, uploaded));
}

}  // namespace

int main() {
  float* host;
  must(cudaMallocHost(&host, 4096));
  float* buffers[3];
  for (float*& buffer : buffers) must(cudaMalloc(&buffer, 4096));
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  must(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));

  upload(buffers[0], host);
  upload(buffers[1], host);
  upload(buffers[2], host);
#ifdef FIXED
  order();
#endif
  consume<<<8, 128, 0, s2>>>(buffers[0]);  // @FIRST
  consume<<<8, 128, 0, s2>>>(buffers[1]);  // @SECOND
  consume<<<8, 128, 0, s2>>>(buffers[2]);  // @THIRD

  must(cudaDeviceSynchronize());
  upload(buffers[0], host);
  upload(buffers[1], host);
#ifndef TWO
  order();
#endif
  consume<<<8, 128, 0, s2>>>(buffers[0]);  // @FOURTH
  consume<<<8, 128, 0, s2>>>(buffers[1]);  // @FIFTH
}
