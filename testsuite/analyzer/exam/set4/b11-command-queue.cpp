// Thin buffer/queue layer over the driver API used by the kernel-fusion runtime.
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fuse {

#define PI_CHECK(expr)                                                                      \
  do {                                                                                      \
    CUresult pi_res = (expr);                                                               \
    if (pi_res != CUDA_SUCCESS)                                                             \
      throw std::runtime_error(std::string(#expr) + " -> " + std::to_string(int(pi_res)));  \
  } while (0)

class Context {
 public:
  explicit Context(int ordinal) {
    PI_CHECK(cuInit(0));
    PI_CHECK(cuDeviceGet(&dev_, ordinal));
    PI_CHECK(cuDevicePrimaryCtxRetain(&ctx_, dev_));
    activate();
  }
  ~Context() { cuDevicePrimaryCtxRelease(dev_); }
  Context(const Context&) = delete;
  void activate() const { PI_CHECK(cuCtxSetCurrent(ctx_)); }

 private:
  CUdevice dev_{};
  CUcontext ctx_{};
};

class Buffer {
 public:
  // Uninitialised contents are zero, as the language front end promises.
  Buffer(std::shared_ptr<Context> ctx, std::size_t words) : ctx_(std::move(ctx)), words_(words) {
    create();
    PI_CHECK(cuMemsetD32(ptr_, 0, words_));
    settle();
  }
  Buffer(std::shared_ptr<Context> ctx, const std::vector<std::uint32_t>& init)
      : ctx_(std::move(ctx)), words_(init.size()) {
    create();
    PI_CHECK(cuMemcpyHtoD(ptr_, init.data(), words_ * sizeof(std::uint32_t)));
    settle();
  }
  ~Buffer() { cuMemFree(ptr_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  CUdeviceptr* handle() { return &ptr_; }
  std::size_t words() const { return words_; }
  bool valid() const { return valid_; }

 private:
  void create() {
    ctx_->activate();
    PI_CHECK(cuMemAlloc(&ptr_, words_ * sizeof(std::uint32_t)));
  }
  void settle() { valid_ = true; }

  std::shared_ptr<Context> ctx_;
  CUdeviceptr ptr_ = 0;
  std::size_t words_;
  bool valid_ = false;
};

class Program {
 public:
  Program(const Context& ctx, const char* image) {
    ctx.activate();
    PI_CHECK(cuModuleLoad(&mod_, image));
  }
  ~Program() { cuModuleUnload(mod_); }
  CUfunction kernel(const char* name) const {
    CUfunction f;
    PI_CHECK(cuModuleGetFunction(&f, mod_, name));
    return f;
  }

 private:
  CUmodule mod_{};
};

class Queue {
 public:
  explicit Queue(const Context& ctx) {
    ctx.activate();
    PI_CHECK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  ~Queue() {
    cuStreamSynchronize(stream_);
    cuStreamDestroy(stream_);
  }
  Queue(const Queue&) = delete;

  void submit(CUfunction f, unsigned groups, unsigned local, const std::vector<Buffer*>& args) {
    std::vector<void*> raw;
    for (Buffer* b : args) {
      if (!b->valid()) throw std::logic_error("buffer without contents");
      raw.push_back(b->handle());
    }
    PI_CHECK(cuLaunchKernel(f, groups, 1, 1, local, 1, 1, 0, stream_, raw.data(), nullptr));
  }

  std::vector<std::uint32_t> read(Buffer& b) {
    std::vector<std::uint32_t> host(b.words());
    PI_CHECK(cuMemcpyDtoHAsync(host.data(), *b.handle(), host.size() * sizeof(std::uint32_t), stream_));
    finish();
    return host;
  }
  void finish() { PI_CHECK(cuStreamSynchronize(stream_)); }

 private:
  CUstream stream_{};
};

}  // namespace fuse

int main(int argc, char** argv) {
  auto ctx = std::make_shared<fuse::Context>(0);
  std::uint64_t sum = 0;
  {
    fuse::Program prog(*ctx, argc > 1 ? argv[1] : "wordcount.cubin");
    fuse::Queue queue(*ctx);
    CUfunction count = prog.kernel("count_tokens"), fold = prog.kernel("fold_bins");
    std::vector<std::uint32_t> text(1u << 24, 0x20202020u);
    for (int shard = 0; shard < 16; ++shard) {
      fuse::Buffer input(ctx, text);
      fuse::Buffer bins(ctx, 1u << 22);
      fuse::Buffer total(ctx, 1);
      queue.submit(count, 1024, 256, {&input, &bins});
      queue.submit(fold, 64, 256, {&bins, &total});
      sum += queue.read(total)[0];
    }
  }
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
