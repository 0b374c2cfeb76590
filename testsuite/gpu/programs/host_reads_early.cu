// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-CPY-15: an asynchronous copy to pinned memory is on its way when the call returns; only a wait that covers it says
// that the result is there. Both builds wait, the racy one before the copy is submitted: it reads what may not have
// come.
//
//   host_reads_early WAY PART
//
// WAY is how the program waits: stream, event, poll (an event, until it is done), query (the stream, likewise) or
// device. PART is what it reads: flag (a result of four bytes), or of a result of 64 MiB the first word, the last one,
// or a word of each page in between (middle). The copy copies what a fill has written, so that results are right on the
// null driver, too.
#include <cstring>

#include "stage.h"

namespace {

constexpr int kByte = 1;
constexpr unsigned kWord = 0x01010101;
constexpr size_t kPage = 4096 / sizeof(unsigned);

void wait(const char* way, cudaStream_t stream) {
  if (std::strcmp(way, "stream") == 0) {
    CHECK(cudaStreamSynchronize(stream));
  } else if (std::strcmp(way, "query") == 0) {
    while (cudaStreamQuery(stream) == cudaErrorNotReady) {
    }
  } else if (std::strcmp(way, "device") == 0) {
    CHECK(cudaDeviceSynchronize());
  } else {
    cudaEvent_t done = new_event();
    CHECK(cudaEventRecord(done, stream));
    if (std::strcmp(way, "poll") == 0) {
      while (cudaEventQuery(done) == cudaErrorNotReady) {
      }
    } else {
      CHECK(cudaEventSynchronize(done));
    }
    CHECK(cudaEventDestroy(done));
  }
}

/// How many of the words, one in each page, are what the copy brings.
size_t count_right(const unsigned* begin, const unsigned* end) {
  size_t right = 0;
  for (const unsigned* word = begin; word < end; word += kPage) {
    if (*word == kWord) ++right;  // site: read
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* part = argv[2];
  const size_t count = std::strcmp(part, "flag") == 0 ? 1 : (64 << 20) / sizeof(unsigned);
  cudaStream_t stream = non_blocking_stream();
  unsigned* data = device_memory<unsigned>(count);
  unsigned* result = pinned_memory<unsigned>(count);
  CHECK(cudaMemsetAsync(data, kByte, count * sizeof(unsigned), stream));
#ifndef FIXED
  wait(argv[1], stream);
#endif
  CHECK(cudaMemcpyAsync(result, data, count * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));  // site: copy
#ifdef FIXED
  wait(argv[1], stream);
#endif
  const unsigned* begin = result;
  const unsigned* end = result + 1;
  if (std::strcmp(part, "middle") == 0) {
    begin = result + kPage;
    end = result + count - kPage;
  } else if (std::strcmp(part, "last") == 0) {
    begin = result + count - 1;
    end = result + count;
  }
  const size_t right = count_right(begin, end);
  CHECK(cudaDeviceSynchronize());
#ifdef FIXED
  std::printf("%zu words are right\n", right);
  if (right != (static_cast<size_t>(end - begin) + kPage - 1) / kPage) return 3;
#endif
  return right > count;
}
