// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check missing-record-stream %s
// RUN: %check missing-record-stream %s -- -DFIXED
// RUN: %tidy --quiet --dump-ir --checks=-*,streamsan-missing-record-stream %s -- %mock -DFIXED | %filecheck %s
//
// A tensor gets another block while a copy in a side stream still reads the old one. Both classes are called by functions of
// the file, which make no objects of them: Python does.
#include <torch/whole.h>

#include <vector>

struct Entry {
  at::Tensor table, host;
  at::cuda::CUDAEvent landed;
  bool parked = false;
};

// CHECK: *new ::Shelf(
// CHECK: (void)object.park();{{.*}} streamsan_torch_called();
// CHECK: {{^}}  to its end
class Shelf {
 public:
  Shelf() : download_(at::cuda::getStreamFromPool()) {}
  void put(at::Tensor table) {
    TORCH_CHECK(table.is_cuda(), "a table of ", table.numel(), " elements on the host");
    entry_.host = at::empty({64, 64}, at::TensorOptions(at::kCPU).pinned_memory(true));
    entry_.table = std::move(table);  // silent: nothing reads the one that was there
    entry_.parked = false;
  }
  void park() {
    if (entry_.parked) return;
    at::cuda::CUDAEvent used;
    used.record(at::cuda::getCurrentCUDAStream());
    used.block(download_);
    {
      const c10::cuda::CUDAStreamGuard guard(download_);
      entry_.host.copy_(entry_.table, true);
    }
#ifdef FIXED
    entry_.table.record_stream(download_);
#endif
    entry_.table.set_data(at::empty({0}, entry_.table.options()));  // FIRES: missing-record-stream
    entry_.parked = true;
  }

 private:
  c10::cuda::CUDAStream download_;
  Entry entry_;
};
void park(Shelf& shelf) { shelf.park(); }

// What is taken over is the class's own; but who gives a tensor to be written, or has its own, keeps it.
// CHECK: *new ::Sender(
// CHECK: {{^}}  to its end
class Sender {
 public:
  Sender() : side_(at::cuda::getStreamFromPool()), host_(at::empty({64, 64}, at::TensorOptions(at::kCPU).pinned_memory(true))) {}
  ~Sender() { side_.synchronize(); }
  void send(at::Tensor x) {
    kept_ = std::move(x);
    fork();
    const c10::cuda::CUDAStreamGuard guard(side_);
    host_.copy_(kept_, true);
#ifdef FIXED
    kept_.record_stream(side_);
#endif
    kept_ = at::Tensor();  // FIRES: missing-record-stream
  }
  void fill(at::Tensor slice) {
    kept_ = std::move(slice);
    fork();
    const c10::cuda::CUDAStreamGuard guard(side_);
    kept_.add_(kept_);
    kept_ = at::Tensor();  // silent
  }
  void send_from(at::Tensor x) {
    fork();
    const c10::cuda::CUDAStreamGuard guard(side_);
    host_.copy_(x, true);
  }  // silent

 private:
  void fork() {
    at::cuda::CUDAEvent ready;
    ready.record(at::cuda::getCurrentCUDAStream());
    ready.block(side_);
  }
  c10::cuda::CUDAStream side_;
  at::Tensor host_, kept_;
};

// CHECK: *new ::Buffers(
// CHECK: {{^}}  to its end
class Buffers {
 public:
  Buffers() : side_(at::cuda::getStreamFromPool()), host_(at::empty({64}, at::TensorOptions(at::kCPU).pinned_memory(true))) {
    buffer_ = at::empty({64}, at::kCUDA);
  }
  ~Buffers() { side_.synchronize(); }
  void post(int64_t size) {
    at::cuda::CUDAEvent filled;
    filled.record(at::cuda::getCurrentCUDAStream());
    filled.block(side_);
    {
      const c10::cuda::CUDAStreamGuard guard(side_);
      host_.copy_(buffer_.select(0, 0), true);
    }
#ifdef FIXED
    buffer_.record_stream(side_);
#endif
    buffer_.resize_({32});        // silent: there is room
    buffer_.resize_({size * 2});  // FIRES: missing-record-stream
  }

 private:
  c10::cuda::CUDAStream side_;
  at::Tensor host_, buffer_;
};
std::vector<Buffers*> all;
void post_all() {
  for (Buffers* each : all) each->post(64);
  all.push_back(new Buffers);
}

PYBIND11_MODULE(buffers, module) {
  pybind11::class_<Buffers>(module, "Buffers").def("post", &Buffers::post);
  module.def("post_all", &post_all);
}
