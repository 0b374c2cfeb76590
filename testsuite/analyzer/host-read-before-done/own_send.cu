// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done,host-write-before-done %s
// RUN: %check host-read-before-done,host-write-before-done %s -- -DFIXED
//
// send() of <sys/socket.h> reads what it is given, at once. A program's own functions of such names, which have a body
// or are C++, do what they do: these wait.
#include <cuda_runtime.h>
#include <sys/socket.h>
#include <unistd.h>

struct Peer;
void send(Peer& to, const float* letter, int pages, cudaStream_t courier);
void recv(int from, float* letter);
inline int read(const char* name, float* letter) {
  cudaDeviceSynchronize();
  letter[0] = 1.0f;
  return name[0];
}
void poll(float* letter);

void by_socket(cudaStream_t courier, const float* desk, int socket) {
  float* letter;
  cudaMallocHost(&letter, 4096);
  cudaMemcpyAsync(letter, desk, 4096, cudaMemcpyDeviceToHost, courier);
#ifdef FIXED
  cudaStreamSynchronize(courier);
#endif
  send(socket, letter, 4096, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may read 'letter' while cudaMemcpyAsync (device to host) on stream 'courier' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'letter' is written here, on stream 'courier'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'letter' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: wait for stream 'courier' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(courier);
  cudaFreeHost(letter);
}

void by_own(cudaStream_t courier, const float* desk, Peer& peer) {
  float* letter;
  cudaMallocHost(&letter, 4096);
  cudaMemcpyAsync(letter, desk, 4096, cudaMemcpyDeviceToHost, courier);
  send(peer, letter, 1, courier);
  cudaMemcpyAsync(letter, desk, 4096, cudaMemcpyDeviceToHost, courier);
  recv(1, letter);
  cudaMemcpyAsync(letter, desk, 4096, cudaMemcpyDeviceToHost, courier);
  read("cover", letter);
  cudaMemcpyAsync(letter, desk, 4096, cudaMemcpyDeviceToHost, courier);
  poll(letter);
  letter[0] = 2.0f;
  cudaFreeHost(letter);
}
