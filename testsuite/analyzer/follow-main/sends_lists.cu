// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// sendmsg() and writev() read what their lists name.
#include <cuda_runtime.h>
#include <sys/socket.h>
#include <sys/uio.h>

__global__ void pack(unsigned char* letter, int width, int height) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width * height) letter[i] = static_cast<unsigned char>(i);
}

class Post {
 public:
  Post(int to, int bytes) : to_(to), bytes_(bytes) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaHostAlloc(reinterpret_cast<void**>(&letter_), bytes, cudaHostAllocMapped);
    cudaHostAlloc(reinterpret_cast<void**>(&stamp_), bytes, cudaHostAllocMapped);
  }
  ~Post() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(letter_);
    cudaFreeHost(stamp_);
  }
  void send(int width, int height) {
    pack<<<(width * height + 255) / 256, 256, 0, stream_>>>(letter_, width, height);
#ifdef FIXED
    cudaStreamSynchronize(stream_);
#endif
    iovec parts[] = {{letter_, static_cast<std::size_t>(bytes_)}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 1;
    sendmsg(to_, &message, 0);  // FIRES: host-read-before-done
    cudaStreamSynchronize(stream_);
  }
  void write(int width, int height) {
    pack<<<(width * height + 255) / 256, 256, 0, stream_>>>(stamp_, width, height);
#ifdef FIXED
    cudaStreamSynchronize(stream_);
#endif
    const iovec parts[] = {{letter_, static_cast<std::size_t>(bytes_)}, {stamp_, static_cast<std::size_t>(bytes_)}};
    writev(to_, parts, 2);  // FIRES: host-read-before-done
    cudaStreamSynchronize(stream_);
  }

 private:
  int to_, bytes_;
  cudaStream_t stream_ = nullptr;
  unsigned char *letter_ = nullptr, *stamp_ = nullptr;
};
