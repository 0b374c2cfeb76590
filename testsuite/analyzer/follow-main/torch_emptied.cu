// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
//
// A storage gives its memory back while the tensor lives on: the allocator may hand it out again at once, and a copy in a
// side stream still reads it. With a new block the tensor is elsewhere.
#include <torch/whole.h>

#include <vector>

// A condition that fails in get() says nothing about the tensors that put() was given.
class Shelf {
 public:
  Shelf() : download_(at::cuda::getStreamFromPool()) {}
  void put(at::Tensor table) {
    TORCH_CHECK(table.is_cuda(), "a table on the host");
    host_ = at::empty({64, 64}, at::TensorOptions(at::kCPU).pinned_memory(true));
    at::cuda::CUDAEvent used;
    used.record(at::cuda::getCurrentCUDAStream());
    used.block(download_);
    {
      const c10::cuda::CUDAStreamGuard guard(download_);
      host_.copy_(table, true);
    }
#ifdef FIXED
    table.record_stream(download_);
#endif
    table.storage().unsafeGetStorageImpl()->reset();  // FIRES: missing-record-stream
    full_ = true;
  }
  at::Tensor get() {
    TORCH_CHECK(full_, "nothing is there");
    download_.synchronize();
    full_ = false;
    return host_;
  }

 private:
  c10::cuda::CUDAStream download_;
  at::Tensor host_;
  bool full_ = false;
};
void put(Shelf& shelf, at::Tensor table) { shelf.put(table); }

// Parked and brought back.
class Garage {
 public:
  Garage() : side_(at::cuda::getStreamFromPool()) {}
  ~Garage() { side_.synchronize(); }
  void add(at::Tensor weight) {
    host_ = at::empty({64, 64}, at::TensorOptions(at::kCPU).pinned_memory(true));
    weight_ = weight;
  }
  void park() {
    at::cuda::CUDAEvent used;
    used.record(at::cuda::getCurrentCUDAStream());
    used.block(side_);
    {
      const c10::cuda::CUDAStreamGuard guard(side_);
      host_.copy_(weight_, true);
      saved_.record(side_);
    }
#ifdef FIXED
    weight_.record_stream(side_);
#endif
    at::native::resize_bytes_cuda(weight_.storage().unsafeGetStorageImpl(), 0);  // FIRES: missing-record-stream
  }
  at::Tensor fetch() {
    at::native::resize_bytes_cuda(weight_.storage().unsafeGetStorageImpl(), 64 * 64 * 4);
    saved_.block(at::cuda::getCurrentCUDAStream());
    weight_.copy_(host_, true);  // silent: into the new block, which nothing reads
    return weight_;
  }

 private:
  c10::cuda::CUDAStream side_;
  at::cuda::CUDAEvent saved_;
  at::Tensor weight_, host_;
};
void work(std::vector<at::Tensor> weights) {
  for (const at::Tensor& weight : weights) {
    Garage garage;
    garage.add(weight);
    garage.park();
    garage.fetch().add_(weight);
  }
}
