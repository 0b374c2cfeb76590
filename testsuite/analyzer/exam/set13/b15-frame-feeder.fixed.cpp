// Feeds decoded microscope frames into tensors that belong to PyTorch.
#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/extension.h>

#include <deque>
#include <vector>

namespace micro {

// Frames wait in device memory of the decoder; the decoder has its own stream.
class FrameStore {
 public:
  FrameStore(int64_t height, int64_t width, size_t depth)
      : height_(height), width_(width), frames_(depth) {
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (Frame& f : frames_) C10_CUDA_CHECK(cudaMalloc(&f.pixels, bytes()));
    C10_CUDA_CHECK(cudaMallocHost(&staging_, bytes()));
  }

  ~FrameStore() {
    cudaStreamSynchronize(stream_);
    for (Frame& f : frames_) cudaFree(f.pixels);
    cudaFreeHost(staging_);
    cudaStreamDestroy(stream_);
  }

  FrameStore(const FrameStore&) = delete;
  FrameStore& operator=(const FrameStore&) = delete;

  void decode(size_t slot, const std::vector<float>& raw) {
    TORCH_CHECK(raw.size() * sizeof(float) == bytes(), "frame size");
    std::copy(raw.begin(), raw.end(), staging_);
    C10_CUDA_CHECK(cudaMemcpyAsync(frames_.at(slot).pixels, staging_, bytes(),
                                   cudaMemcpyHostToDevice, stream_));
    // staging_ is filled again by the next frame
    C10_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }

  // Copies a decoded frame into dst, which must be a contiguous CUDA tensor.
  void copy_to(size_t slot, const at::Tensor& dst) {
    TORCH_CHECK(dst.is_cuda() && dst.is_contiguous() && dst.nbytes() == bytes(), "bad target");
    cudaStream_t user = c10::cuda::getCurrentCUDAStream(dst.device().index());
    copy_on(user, slot, dst.mutable_data_ptr<float>());
    // The frame may be decoded over or freed as soon as this returns.
    C10_CUDA_CHECK(cudaStreamSynchronize(user));
  }

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  size_t depth() const { return frames_.size(); }

 private:
  struct Frame {
    float* pixels = nullptr;
  };

  void copy_on(cudaStream_t s, size_t slot, float* dst) {
    C10_CUDA_CHECK(cudaMemcpyAsync(dst, frames_.at(slot).pixels, bytes(),
                                   cudaMemcpyDeviceToDevice, s));
  }

  size_t bytes() const { return static_cast<size_t>(height_ * width_) * sizeof(float); }

  int64_t height_, width_;
  std::vector<Frame> frames_;
  cudaStream_t stream_{};
  float* staging_ = nullptr;
};

class FocusStacker {
 public:
  FocusStacker(FrameStore& store, c10::Device device)
      : store_(store),
        input_(at::empty({store.height(), store.width()},
                         at::TensorOptions().dtype(at::kFloat).device(device))),
        best_(at::full_like(input_, -1e30f)),
        index_(at::zeros({store.height(), store.width()},
                         at::TensorOptions().dtype(at::kLong).device(device))) {}

  void add(size_t slot) {
    store_.copy_to(slot, input_);
    at::Tensor score = sharpness();
    at::Tensor better = score.gt(best_);
    index_.masked_fill_(better, static_cast<int64_t>(slot));
    at::maximum_out(best_, best_, score);
  }

  at::Tensor depth_map() const { return index_; }

 private:
  at::Tensor sharpness() const {
    at::Tensor dx = input_.diff(1, 1).abs_();
    at::Tensor dy = input_.diff(1, 0).abs_();
    return at::constant_pad_nd(dx, {0, 1}).add_(at::constant_pad_nd(dy, {0, 0, 0, 1}));
  }

  FrameStore& store_;
  at::Tensor input_, best_, index_;
};

at::Tensor depth_from_focus(const std::vector<std::vector<float>>& raw, int64_t h, int64_t w) {
  FrameStore store(h, w, raw.size());
  for (size_t i = 0; i < raw.size(); ++i) store.decode(i, raw[i]);
  FocusStacker stacker(store, c10::Device(at::kCUDA, 0));
  for (size_t i = 0; i < store.depth(); ++i) stacker.add(i);
  return stacker.depth_map();
}

}  // namespace micro

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("depth_from_focus", &micro::depth_from_focus);
}
