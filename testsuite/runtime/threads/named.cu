// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a report says of the two host threads of a race: the names that the program gave them, and where they were
// created. The first is named before its first call; the other one (-DLATE) when it has made its last call and is about
// to end, or (-DALIVE) lives on when the process ends. Without names (-DNAMELESS), and with the one that the first thread
// has, which is the program's (-DINHERITED), they have numbers.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report --check-prefixes=BOTH,NAMED
// RUN: env STREAMSAN_OPTIONS=host_threads=joined %racy %t 2>&1 | %report --check-prefixes=BOTH,NAMED
// RUN: env STREAMSAN_OPTIONS=stacks=0 %racy %t 2>&1 | %report --check-prefix=STACKLESS
// RUN: %build -DLATE %s -o %t.late
// RUN: %racy %t.late 2>&1 | %report --check-prefixes=BOTH,NAMED
// RUN: %build -DALIVE %s -o %t.alive
// RUN: %racy %t.alive 2>&1 | %report --check-prefixes=BOTH,NAMED
// RUN: %build -DNAMELESS %s -o %t.nameless
// RUN: %racy %t.nameless 2>&1 | %report --check-prefixes=BOTH,NUMBERS
// RUN: %build -DINHERITED %s -o %t.inherited
// RUN: %racy %t.inherited 2>&1 | %report --check-prefixes=BOTH,NUMBERS
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// BOTH: ERROR: streamsan: write-after-write
// NAMED: Write by cudaMemsetAsync on stream 2 (blocking), op #2, host thread 3 "writer"{{$}}
// NAMED: Previous write by cudaMemsetAsync on stream 1 (blocking), op #1, host thread 2 "load er"{{$}}
// NAMED: {{^}}    host thread 2 "load er" created by std::thread{{$}}
// NUMBERS: Write by cudaMemsetAsync on stream 2 (blocking), op #2, host thread 3{{$}}
// NUMBERS: Previous write by cudaMemsetAsync on stream 1 (blocking), op #1, host thread 2{{$}}
// NUMBERS: {{^}}    host thread 2 created by std::thread{{$}}
// BOTH-NEXT: #0 main{{.*}}[[LOADER]]
// NAMED-NEXT: {{^}}    host thread 3 "writer" created by std::thread{{$}}
// NUMBERS-NEXT: {{^}}    host thread 3 created by std::thread{{$}}
// BOTH-NEXT: #0 {{.*}}start_writer{{.*}}[[WRITER]]
// BOTH-NEXT: #1 main{{.*}}[[STARTS]]
// BOTH-NEXT: Fix:
// STACKLESS: Write by {{.*}}, host thread 3 "writer"
// STACKLESS-NOT: created by
// STACKLESS: SUMMARY
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "must.h"

namespace {

char* buffer;
cudaStream_t streams[2];
pthread_barrier_t done;

void name_me([[maybe_unused]] const char* name) {
#if !defined NAMELESS && !defined INHERITED
  if (prctl(PR_SET_NAME, name) != 0) std::abort();
#endif
}

void load() {
  name_me("load\ner");
  must(cudaMemsetAsync(buffer, 1, 4096, streams[0]));
#ifdef FIXED
  must(cudaStreamSynchronize(streams[0]));
#endif
}

void write() {
#if !defined LATE && !defined ALIVE
  name_me("writer");
#endif
  must(cudaMemsetAsync(buffer, 2, 4096, streams[1]));
#if defined LATE || defined ALIVE
  pthread_barrier_wait(&done);
  pthread_barrier_wait(&done);
#endif
#ifdef ALIVE
  for (;;) pause();
#endif
}

[[gnu::noinline]] std::thread start_writer() {
  return std::thread(write);  // @WRITER
}

}  // namespace

int main() {
#ifdef INHERITED
  if (prctl(PR_SET_NAME, "training") != 0) std::abort();
#endif
  must(cudaMalloc(&buffer, 4096));
  must(cudaStreamCreate(&streams[0]));
  must(cudaStreamCreate(&streams[1]));
  pthread_barrier_init(&done, nullptr, 2);
  std::thread loader(load);  // @LOADER
  loader.join();
  std::thread writer = start_writer();  // @STARTS
#if defined LATE || defined ALIVE
  pthread_barrier_wait(&done);
  if (pthread_setname_np(writer.native_handle(), "writer") != 0) std::abort();
  pthread_barrier_wait(&done);
#endif
#ifdef ALIVE
  writer.detach();
#else
  writer.join();
#endif
}
