// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// OPTIONS: streamsan.Levels: definite;likely;latent
//
// Loops of which it is not known that they meet what is being copied: where they begin, whether they touch every
// element from there on, and in every round. Silent, but for the last.
#include <cuda_runtime.h>

static void put(float* h, int i, int n) {
  if (i >= n) h[i] = 0;
}

static void put_at(float* p, float* begin) {
  if (p >= begin) *p = 0;
}

// The counter goes on where another loop left it.
void continued(float* d, float* h, int n, int m, cudaStream_t s) {
  int i = 0;
  for (; i < n; ++i) h[i] = 1;
  cudaMemcpyAsync(d, h, n * 4, cudaMemcpyHostToDevice, s);
  for (; i < m; ++i) h[i] = 0;
  cudaStreamSynchronize(s);
}

void packed(float* d, float* h, int n, int m, cudaStream_t s) {
  int k = 0;
  for (int j = 0; j < n; ++j) { h[k] = 1; ++k; }
  cudaMemcpyAsync(d, h, n * 4, cudaMemcpyHostToDevice, s);
  for (int j = 0; j < n; ++j) { h[k] = 2; ++k; }
  cudaStreamSynchronize(s);
}

// What the counter starts at has changed.
void stale(float* d, float* h, int n, int m, cudaStream_t s) {
  int i = n;
  n = m;
  cudaMemcpyAsync(d, h + n, n * 4, cudaMemcpyHostToDevice, s);
  for (; i < m; ++i) h[i] = 0;
  cudaStreamSynchronize(s);
}

// The counter is stepped elsewhere than in the head of a for.
void stepped_first(float* d, float* h, int n, int m, cudaStream_t s) {
  cudaMemcpyAsync(d, h, 4, cudaMemcpyHostToDevice, s);
  int i = 0;
  while (++i < n) h[i] = 0;
  for (int j = 0; j < n;) { ++j; h[j] = 0; }
  for (int j = n; j-- > 0;) h[n - j] = 0;
  cudaStreamSynchronize(s);
}

// Not every element.
void every_other(float* d, float* h, int n, int m, cudaStream_t s) {
  cudaMemcpyAsync(d, h + 1, 4, cudaMemcpyHostToDevice, s);
  for (int i = 0; i < 64; i += 2) h[i] = 0;
  cudaStreamSynchronize(s);
}

void every_other_backwards(float* d, float* h, int n, int m, cudaStream_t s) {
  cudaMemcpyAsync(d, h, 4, cudaMemcpyHostToDevice, s);
  for (int i = 7; i >= 0; i -= 2) h[i] = 0;
  cudaStreamSynchronize(s);
}

void columns(float* d, float* h, int n, int m, cudaStream_t s) {
  cudaMemcpy2DAsync(d, 64 * 4, h + 64, 128 * 4, 64 * 4, 64, cudaMemcpyHostToDevice, s);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 64; ++j) h[i * 128 + j] = 0;
  cudaStreamSynchronize(s);
}

// Not to the end.
void ended_early(float* d, float* h, int n, int m, cudaStream_t s) {
  cudaMemcpyAsync(d, h + 64, 64 * 4, cudaMemcpyHostToDevice, s);
  for (int i = 0; i < 128; ++i) {
    if (i == 64) break;
    h[i] = 0;
  }
  cudaStreamSynchronize(s);
}

void ended_early_backwards(float* d, float* h, int n, int m, cudaStream_t s) {
  cudaMemcpyAsync(d, h, 64, cudaMemcpyHostToDevice, s);
  for (int i = n - 1; i >= 0; --i) {
    if (h[n + i] == 0) break;
    h[i] = 0;
  }
  cudaStreamSynchronize(s);
}

// Not in every round.
void late_rounds(float* d, float* h, int n, int m, cudaStream_t s) {
  cudaMemcpyAsync(d, h, n * 4, cudaMemcpyHostToDevice, s);
  for (int i = 0; i < m; ++i) {
    bool late = i >= n;
    if (late) h[i] = 0;
  }
  for (int i = 0; i < m; ++i) i < n ? (void)0 : (void)(h[i] = 0);
  for (int i = 0; i < m; ++i) i >= n && (h[i] = 0);
  for (int i = 0; i < m; ++i)
    switch (i / n) {
      case 1: h[i] = 0; break;
      default: break;
    }
  for (int i = 0; i < m; ++i)
    for (int j = n; j <= i; ++j) h[i] = 0;
  float* p = h;
  for (int i = 0; i < m; ++i, ++p)
    if (p >= h + n) *p = 0;
  cudaStreamSynchronize(s);
}

void late_rounds_in_functions(float* d, float* h, int n, int m, cudaStream_t s) {
  cudaMemcpyAsync(d, h, n * 4, cudaMemcpyHostToDevice, s);
  for (int i = 0; i < m; ++i) put(h, i, n);
  for (int i = 0; i < m; ++i) put_at(h + i, h + n);
  cudaStreamSynchronize(s);
}

// The index is not what is counted.
void another_index(float* d, float* h, int n, int m, cudaStream_t s) {
  cudaMemcpyAsync(d, h + 256, 256 * 4, cudaMemcpyHostToDevice, s);
  for (int i = 256; i < 512; ++i) h[(unsigned char)i] = 0;
  for (int i = 256; i < 512; ++i) {
    unsigned char low = i;
    h[low] = 0;
  }
  cudaStreamSynchronize(s);
}

// All is known of this one.
void understood(float* d, float* h, int n, int m, cudaStream_t s) {
  cudaMemcpyAsync(d, h + n, n * 4, cudaMemcpyHostToDevice, s);
  for (int i = 0; i < m; ++i) h[n + i] = 0;
// CHECK-MESSAGES: :[[@LINE-1]]:31: warning: the host may write 'h' while cudaMemcpyAsync (host to device) on stream 's' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'h' is read here, on stream 's'
// CHECK-NOTES: :[[@LINE+2]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-4]]:31: note: wait for stream 's' with cudaStreamSynchronize before the write
  cudaStreamSynchronize(s);
}
