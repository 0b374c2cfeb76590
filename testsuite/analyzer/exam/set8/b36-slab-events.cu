// Page-locked slabs for shuffling partitions between the GPUs of a node. A slab that was given back is handed out again
// only when the copies that read it have run; an event per slab tells when. Events are reused as well.
#include <cuda_runtime.h>

#include <cassert>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>

namespace shuffle {

inline void throw_on(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

class EventCache {
 public:
  ~EventCache() {
    for (cudaEvent_t e : spare_) cudaEventDestroy(e);
  }

  // An event for use in a stream of the current device.
  cudaEvent_t take(int device) {
    if (!spare_.empty()) {
      cudaEvent_t e = spare_.back();
      spare_.pop_back();
      return e;
    }
    cudaEvent_t e = nullptr;
    throw_on(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return e;
  }

  void give(cudaEvent_t e, int device) { spare_.push_back(e); }

 private:
  std::vector<cudaEvent_t> spare_;
};

struct Slab {
  char* data = nullptr;
  cudaEvent_t busy = nullptr;  // null: never used, or known to be idle
  int busy_device = -1;
};

class SlabPool {
 public:
  SlabPool(size_t slab_bytes, int count) : bytes_(slab_bytes), slabs_(count) {
    for (Slab& s : slabs_) {
      throw_on(cudaHostAlloc(&s.data, slab_bytes, cudaHostAllocPortable));
      free_.push_back(&s);
    }
  }

  ~SlabPool() {
    for (Slab& s : slabs_) {
      if (s.busy) {
        cudaEventSynchronize(s.busy);
        cudaEventDestroy(s.busy);
      }
      cudaFreeHost(s.data);
    }
  }

  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  size_t slab_bytes() const { return bytes_; }

  // Blocks until the slab may be written.
  Slab* acquire() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) throw std::bad_alloc();
    Slab* s = free_.front();
    free_.erase(free_.begin());
    if (s->busy) {
      throw_on(cudaEventSynchronize(s->busy));
      events_.give(s->busy, s->busy_device);
      s->busy = nullptr;
    }
    return s;
  }

  // `device` must be current and own `stream`, the stream of the last copy that reads the slab.
  void release(Slab* s, int device, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    s->busy = events_.take(device);
    s->busy_device = device;
    cudaError_t rc = cudaEventRecord(s->busy, stream);
    assert(rc == cudaSuccess);
    (void)rc;
    free_.push_back(s);
  }

 private:
  size_t bytes_;
  std::mutex mutex_;
  EventCache events_;
  std::vector<Slab> slabs_;
  std::vector<Slab*> free_;
};

// Receiving end of a partition on one device.
struct Sink {
  int device;
  char* memory;
  size_t used;
  cudaStream_t stream;
};

class PartitionSender {
 public:
  explicit PartitionSender(SlabPool& pool) : pool_(pool) {}

  // Copies `bytes` of host data to the end of the sink's partition; `src` may be reused at once.
  void append(Sink& sink, const char* src, size_t bytes) {
    throw_on(cudaSetDevice(sink.device));
    while (bytes > 0) {
      size_t chunk = bytes < pool_.slab_bytes() ? bytes : pool_.slab_bytes();
      Slab* slab = pool_.acquire();
      std::memcpy(slab->data, src, chunk);
      throw_on(cudaMemcpyAsync(sink.memory + sink.used, slab->data, chunk, cudaMemcpyHostToDevice, sink.stream));
      pool_.release(slab, sink.device, sink.stream);
      sink.used += chunk;
      src += chunk;
      bytes -= chunk;
    }
  }

 private:
  SlabPool& pool_;
};

struct Row {
  unsigned key;
  char payload[60];
};

// Distributes rows over the devices by key.
void scatter_rows(const std::vector<Row>& rows, std::vector<Sink>& sinks, SlabPool& pool) {
  std::vector<std::vector<Row>> parts(sinks.size());
  for (const Row& r : rows) parts[r.key % sinks.size()].push_back(r);
  PartitionSender sender(pool);
  for (size_t d = 0; d < sinks.size(); ++d) {
    sender.append(sinks[d], reinterpret_cast<const char*>(parts[d].data()), parts[d].size() * sizeof(Row));
  }
}

}  // namespace shuffle
