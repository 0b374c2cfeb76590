// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// Containers that the analyzer does not look into copy what they are given: a tensor alone, or one in a struct, lives
// on in them when the variable ends.
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

#include <any>
#include <list>
#include <optional>
#include <queue>

struct Page {
  at::Tensor rows;
  int number = 0;
};

std::queue<at::Tensor> tensors;
std::queue<Page> pages;
std::list<at::Tensor> kept;
std::any last;
std::optional<Page> latest;

at::Tensor alone() {
  c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool();
  at::Tensor rows;
  {
    c10::cuda::CUDAStreamGuard guard(side);
    rows = at::ones({64}, at::kCUDA);
  }
#ifdef FIXED
  tensors.push(rows);
  kept.push_back(rows);
  last = rows;
#endif
  return at::relu(rows);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'rows' is returned to the allocator, which may reuse it on the stream of 'rows', while at::relu on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-2]]:10: note: tensor 'rows' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-10]]:12: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'rows' wait for the current stream before the tensor is released
}

at::Tensor in_a_struct() {
  c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool();
  Page page;
  {
    c10::cuda::CUDAStreamGuard guard(side);
    page.rows = at::ones({64}, at::kCUDA);
  }
#ifdef FIXED
  pages.push(page);
#endif
  return at::relu(page.rows);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'page.rows' is returned to the allocator, which may reuse it on the stream of 'page.rows', while at::relu on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-2]]:10: note: tensor 'page.rows' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-8]]:17: note: 'page.rows' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'page.rows' wait for the current stream before the tensor is released
}

at::Tensor latest_too() {
  c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool();
  Page page;
  {
    c10::cuda::CUDAStreamGuard guard(side);
    page.rows = at::ones({64}, at::kCUDA);
  }
#ifdef FIXED
  latest = page;
#endif
  return at::relu(page.rows);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: memory of tensor 'page.rows' is returned to the allocator, which may reuse it on the stream of 'page.rows', while at::relu on the current stream still reads it [streamsan-missing-record-stream]
// CHECK-NOTES: :[[@LINE-2]]:10: note: tensor 'page.rows' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-8]]:17: note: 'page.rows' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: call record_stream(the current stream) on the tensor after its last use there, or let the stream of 'page.rows' wait for the current stream before the tensor is released
}
