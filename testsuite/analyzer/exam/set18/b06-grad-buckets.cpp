// Overlapped gradient averaging: each bucket is flattened, reduced on a
// communication stream and written back into the parameter gradients.
#include <torch/extension.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <nccl.h>

#include <deque>
#include <utility>
#include <vector>

namespace {

void ncclOk(ncclResult_t r) { TORCH_CHECK(r == ncclSuccess, "NCCL: ", ncclGetErrorString(r)); }

struct Bucket {
  std::vector<at::Tensor> grads;
};

// Packs all members into one contiguous vector on the current stream.
at::Tensor flatten(const Bucket& bucket) {
  std::vector<at::Tensor> parts;
  parts.reserve(bucket.grads.size());
  for (const auto& g : bucket.grads) parts.push_back(g.reshape({-1}));
  return at::cat(parts);
}

class BucketReducer {
 public:
  BucketReducer(ncclComm_t comm, int64_t worldSize)
      : comm_(comm), world_(worldSize), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true)) {}

  // Gradients must have been produced on the current stream; the same stream
  // has to be current when finish() is called.
  void launch(Bucket bucket) {
    at::NoGradGuard noGrad;
    at::Tensor flat = flatten(bucket);
    handOver();
    average(flat);
    writeBack(flat, bucket);
    at::cuda::CUDAEvent done;
    done.record(stream_);
    inflight_.push_back({std::move(bucket), std::move(done)});
  }

  // Orders the current stream after all reductions launched so far.
  void finish() {
    auto current = c10::cuda::getCurrentCUDAStream();
    while (!inflight_.empty()) {
      inflight_.front().done.block(current);
      inflight_.pop_front();
    }
  }

 private:
  struct Pending {
    Bucket bucket;
    at::cuda::CUDAEvent done;
  };

  void handOver() {
    at::cuda::CUDAEvent produced;
    produced.record(c10::cuda::getCurrentCUDAStream());
    produced.block(stream_);
  }

  void average(at::Tensor& flat) {
    ncclOk(ncclAllReduce(flat.data_ptr<float>(), flat.data_ptr<float>(), flat.numel(), ncclFloat, ncclSum,
                         comm_, stream_.stream()));
    c10::cuda::CUDAStreamGuard guard(stream_);
    flat.div_(static_cast<double>(world_));
  }

  void writeBack(const at::Tensor& flat, Bucket& bucket) {
    c10::cuda::CUDAStreamGuard guard(stream_);
    int64_t offset = 0;
    for (auto& g : bucket.grads) {
      g.copy_(flat.narrow(0, offset, g.numel()).view_as(g), /*non_blocking=*/true);
      offset += g.numel();
    }
  }

  ncclComm_t comm_;
  int64_t world_;
  c10::cuda::CUDAStream stream_;
  std::deque<Pending> inflight_;
};

}  // namespace

// Called once per backward pass with float32 gradients in bucket order.
void average_gradients(int64_t comm, int64_t world, const std::vector<std::vector<at::Tensor>>& buckets) {
  BucketReducer reducer(reinterpret_cast<ncclComm_t>(comm), world);
  for (const auto& members : buckets) reducer.launch(Bucket{members});
  reducer.finish();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("average_gradients", &average_gradients);
}
