// Device-side cache of hot embedding rows for the recommendation trainer.
//
// Three streams take part: the caller's current stream (forward), a prefetch stream that brings the rows of the next
// batch in, and a routing stream that translates the ids of the batch after next into cache slots.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <deque>
#include <utility>

namespace rowcache {

using at::Tensor;
using at::cuda::CUDAEvent;
using c10::cuda::CUDAStream;
using c10::cuda::CUDAStreamGuard;

class RowCache {
 public:
  // `table` is the full embedding table in page-locked host memory, `capacity` the number of cached rows.
  RowCache(Tensor table, int64_t capacity, c10::Device device)
      : table_(std::move(table)),
        prefetch_stream_(c10::cuda::getStreamFromPool(false, device.index())),
        routing_stream_(c10::cuda::getStreamFromPool(false, device.index())) {
    TORCH_CHECK(table_.is_pinned(), "table must be page-locked");
    auto opts = at::TensorOptions().device(device);
    rows_ = at::zeros({capacity, table_.size(1)}, opts.dtype(table_.scalar_type()));
    slot_of_ = at::full({table_.size(0)}, -1, opts.dtype(at::kLong));
    ready_.record(c10::cuda::getCurrentCUDAStream(device.index()));
    ready_.block(prefetch_stream_);
    ready_.block(routing_stream_);
  }

  ~RowCache() {
    prefetch_stream_.synchronize();
    routing_stream_.synchronize();
  }

  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  // Loads the rows of `ids` (host tensor) and publishes their slots.
  void prefetch(const Tensor& ids) {
    Tensor host_rows = at::empty({ids.size(0), table_.size(1)}, table_.options().pinned_memory(true));
    at::index_select_out(host_rows, table_, 0, ids);
    Tensor slots = assign_slots(ids.size(0));

    CUDAStreamGuard guard(prefetch_stream_);
    forward_done_.block(prefetch_stream_);
    routing_done_.block(prefetch_stream_);
    Tensor dev_rows = host_rows.to(rows_.device(), /*non_blocking=*/true);
    Tensor dev_slots = slots.pin_memory().to(rows_.device(), /*non_blocking=*/true);
    Tensor dev_ids = ids.pin_memory().to(rows_.device(), /*non_blocking=*/true);
    rows_.index_copy_(0, dev_slots, dev_rows);
    slot_of_.index_copy_(0, dev_ids, dev_slots);
    prefetched_.record(prefetch_stream_);
  }

  // Translates ids into slots; -1 stands for a miss.
  Tensor route(const Tensor& ids) {
    CUDAStream current = c10::cuda::getCurrentCUDAStream(rows_.device().index());
    CUDAEvent ids_ready;
    ids_ready.record(current);
    Tensor slots;
    {
      CUDAStreamGuard guard(routing_stream_);
      ids_ready.block(routing_stream_);
      prefetched_.block(routing_stream_);
      slots = slot_of_.index_select(0, ids);
      ids.record_stream(routing_stream_);
      routing_done_.record(routing_stream_);
    }
    routing_done_.block(current);
    slots.record_stream(current);
    return slots;
  }

  // Gathers cached rows on the current stream.
  Tensor forward(const Tensor& slots) {
    CUDAStream current = c10::cuda::getCurrentCUDAStream(rows_.device().index());
    prefetched_.block(current);
    Tensor out = rows_.index_select(0, slots.clamp_min(0));
    forward_done_.record(current);
    return out;
  }

 private:
  Tensor assign_slots(int64_t count) {
    int64_t capacity = rows_.size(0);
    Tensor slots = at::arange(next_slot_, next_slot_ + count, at::TensorOptions().dtype(at::kLong)).remainder(capacity);
    next_slot_ = (next_slot_ + count) % capacity;
    return slots;
  }

  Tensor table_;
  Tensor rows_;
  Tensor slot_of_;
  int64_t next_slot_ = 0;
  CUDAStream prefetch_stream_;
  CUDAStream routing_stream_;
  CUDAEvent ready_;
  CUDAEvent prefetched_;
  CUDAEvent routing_done_;
  CUDAEvent forward_done_;
};

// Keeps one batch in flight ahead of the trainer.
class Pipeline {
 public:
  explicit Pipeline(RowCache& cache) : cache_(cache) {}

  void enqueue(const Tensor& host_ids, const Tensor& device_ids) {
    cache_.prefetch(host_ids);
    queue_.push_back(cache_.route(device_ids));
  }

  Tensor next() {
    TORCH_CHECK(!queue_.empty(), "pipeline is empty");
    Tensor slots = queue_.front();
    queue_.pop_front();
    return cache_.forward(slots);
  }

 private:
  RowCache& cache_;
  std::deque<Tensor> queue_;
};

}  // namespace rowcache
