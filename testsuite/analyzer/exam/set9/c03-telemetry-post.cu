// Outgoing post of the telemetry recorder: small records are written into
// pinned slabs and uploaded; a slab comes home by a stream callback as soon as
// its upload is over, whatever stream it went out on. All streams belong to the
// device that is current in the process.

#include <cuda_runtime.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace telemetry {

inline void checked(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

class PostOffice {
 public:
  struct Slab {
    PostOffice* home = nullptr;
    std::byte* bytes = nullptr;
    std::size_t used = 0;
  };

  PostOffice(std::size_t slabs, std::size_t slab_bytes) : slab_bytes_(slab_bytes), slabs_(slabs) {
    for (Slab& s : slabs_) {
      checked(cudaHostAlloc(reinterpret_cast<void**>(&s.bytes), slab_bytes, cudaHostAllocDefault));
      s.home = this;
      at_home_.push_back(&s);
    }
  }
  ~PostOffice() {
    cudaDeviceSynchronize();
    for (Slab& s : slabs_) cudaFreeHost(s.bytes);
  }
  PostOffice(const PostOffice&) = delete;
  PostOffice& operator=(const PostOffice&) = delete;

  Slab* fetch() {
    std::unique_lock<std::mutex> lock(mutex_);
    came_home_.wait(lock, [this] { return !at_home_.empty(); });
    Slab* s = at_home_.back();
    at_home_.pop_back();
    s->used = 0;
    return s;
  }

  std::size_t slab_bytes() const { return slab_bytes_; }

  // Uploads the slab to `target` and sends it home.
  void mail(Slab* s, void* target, cudaStream_t stream) {
    checked(cudaMemcpyAsync(target, s->bytes, s->used, cudaMemcpyHostToDevice, stream));
    checked(cudaLaunchHostFunc(stream, &PostOffice::arrived, s));
  }

  // For a slab that was fetched but never mailed.
  void put_back(Slab* s) { shelve(s); }

 private:
  static void CUDART_CB arrived(void* arg) {
    Slab* s = static_cast<Slab*>(arg);
    s->home->shelve(s);
  }

  void shelve(Slab* s) {
    std::lock_guard<std::mutex> lock(mutex_);
    at_home_.push_back(s);
    came_home_.notify_one();
  }

  std::size_t slab_bytes_;
  std::vector<Slab> slabs_;
  std::vector<Slab*> at_home_;
  std::mutex mutex_;
  std::condition_variable came_home_;
};

struct Record {
  std::uint32_t sensor;
  std::uint32_t tick;
  double value;
};

// Appends records to a device log. The log is read on the same stream.
class Recorder {
 public:
  Recorder(PostOffice& post, Record* log, std::size_t capacity, cudaStream_t stream)
      : post_(post), log_(log), capacity_(capacity), stream_(stream) {}
  Recorder(Recorder&& o) noexcept
      : post_(o.post_), log_(o.log_), capacity_(o.capacity_), stream_(o.stream_), written_(o.written_),
        open_(std::exchange(o.open_, nullptr)) {}
  Recorder& operator=(Recorder&&) = delete;
  ~Recorder() {
    if (open_) post_.put_back(open_);
  }

  void append(const Record& r) {
    if (!open_) open_ = post_.fetch();
    std::memcpy(open_->bytes + open_->used, &r, sizeof(r));
    open_->used += sizeof(r);
    if (open_->used + sizeof(r) > post_.slab_bytes()) flush();
  }

  void flush() {
    if (!open_) return;
    const std::size_t n = open_->used / sizeof(Record);
    if (written_ + n > capacity_) throw std::length_error("telemetry log is full");
    post_.mail(std::exchange(open_, nullptr), log_ + written_, stream_);
    written_ += n;
  }

  std::size_t written() const { return written_; }

 private:
  PostOffice& post_;
  Record* log_;
  std::size_t capacity_;
  cudaStream_t stream_;
  std::size_t written_ = 0;
  PostOffice::Slab* open_ = nullptr;
};

__global__ void latest_value(const Record* log, std::size_t n, std::uint32_t sensor, double* out) {
  for (std::size_t i = n; i-- > 0;) {
    if (log[i].sensor == sensor) {
      *out = log[i].value;
      return;
    }
  }
}

double query_latest(Recorder& recorder, const Record* log, std::uint32_t sensor, double* scratch, cudaStream_t stream) {
  double value = 0.0;
  recorder.flush();
  latest_value<<<1, 1, 0, stream>>>(log, recorder.written(), sensor, scratch);
  checked(cudaGetLastError());
  checked(cudaMemcpyAsync(&value, scratch, sizeof(value), cudaMemcpyDeviceToHost, stream));
  checked(cudaStreamSynchronize(stream));
  return value;
}

}  // namespace telemetry
