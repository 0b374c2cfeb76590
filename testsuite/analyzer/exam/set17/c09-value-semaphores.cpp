// Two driver-API streams that hand a device block to and fro with 32-bit values in device
// memory instead of events.  Each value grows by one per round, and the write of a value is
// always queued before a wait for it.
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace relay {

void call(CUresult rc, const char* text) {
  if (rc == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(rc, &name);
  throw std::runtime_error(std::string(text) + ": " + (name ? name : "?"));
}
#define CALL(x) ::relay::call((x), #x)

// A counter in device memory that streams raise and wait for.
class Semaphore {
 public:
  Semaphore() {
    CALL(cuMemAlloc(&value_, sizeof(cuuint32_t)));
    CALL(cuMemsetD32(value_, 0, 1));
    CALL(cuCtxSynchronize());
  }
  ~Semaphore() { cuMemFree(value_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  void signal(CUstream stream, cuuint32_t round) {
    CALL(cuStreamWriteValue32(stream, value_, round, CU_STREAM_WRITE_VALUE_DEFAULT));
  }
  void wait(CUstream stream, cuuint32_t round) {
    CALL(cuStreamWaitValue32(stream, value_, round, CU_STREAM_WAIT_VALUE_GEQ));
  }

 private:
  CUdeviceptr value_ = 0;
};

class Archive {
 public:
  Archive(std::size_t blockBytes, std::size_t blocks) : bytes_(blockBytes), blocks_(blocks) {
    CALL(cuStreamCreate(&load_, CU_STREAM_NON_BLOCKING));
    CALL(cuStreamCreate(&store_, CU_STREAM_NON_BLOCKING));
    CALL(cuEventCreate(&loaded_, CU_EVENT_DISABLE_TIMING));
    CALL(cuMemAlloc(&window_, bytes_));
    CALL(cuMemAlloc(&archive_, bytes_ * blocks_));
    CALL(cuMemAllocHost(&staging_, bytes_));
  }
  ~Archive() {
    cuStreamSynchronize(load_);
    cuStreamSynchronize(store_);
    cuMemFreeHost(staging_);
    cuMemFree(archive_);
    cuMemFree(window_);
    cuEventDestroy(loaded_);
    cuStreamDestroy(store_);
    cuStreamDestroy(load_);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  void append(const std::vector<std::uint8_t>& block) {
    if (block.size() != bytes_ || round_ == blocks_) throw std::invalid_argument("append");
    ++round_;
    load(block);
    store();
  }

  std::vector<std::uint8_t> block(std::size_t index) {
    std::vector<std::uint8_t> host(bytes_);
    CALL(cuStreamSynchronize(store_));
    CALL(cuMemcpyDtoH(host.data(), archive_ + index * bytes_, bytes_));
    return host;
  }

 private:
  void load(const std::vector<std::uint8_t>& block) {
    CALL(cuEventSynchronize(loaded_));
    std::memcpy(staging_, block.data(), bytes_);
    taken_.wait(load_, round_ - 1);
    CALL(cuMemcpyHtoDAsync(window_, staging_, bytes_, load_));
    CALL(cuEventRecord(loaded_, load_));
    filled_.signal(load_, round_);
  }

  void store() {
    filled_.wait(store_, round_);
    CALL(cuMemcpyDtoDAsync(archive_ + (round_ - 1) * bytes_, window_, bytes_, store_));
    taken_.signal(store_, round_);
  }

  std::size_t bytes_, blocks_;
  cuuint32_t round_ = 0;
  CUstream load_ = nullptr, store_ = nullptr;
  CUevent loaded_ = nullptr;
  CUdeviceptr window_ = 0, archive_ = 0;
  void* staging_ = nullptr;
  Semaphore filled_, taken_;
};

std::uint8_t roundTrip() {
  Archive archive(1 << 16, 32);
  std::vector<std::uint8_t> block(1 << 16);
  for (int i = 0; i < 32; ++i) {
    std::memset(block.data(), i, block.size());
    archive.append(block);
  }
  return archive.block(17)[0];
}

}  // namespace relay
