// Ships compressed checkpoint blocks from GPU memory straight to a peer with
// one-sided puts. Device memory is registered with the NIC (GPUDirect RDMA).
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

// The part of UCX that is used here.
extern "C" {
typedef struct ucp_ep* ucp_ep_h;
typedef struct ucp_worker* ucp_worker_h;
typedef struct ucp_rkey* ucp_rkey_h;
typedef struct ucp_request_param {
  uint32_t op_attr_mask;
  uint32_t flags;
  void* rest[10];
} ucp_request_param_t;
typedef void* ucs_status_ptr_t;
typedef int ucs_status_t;
ucs_status_ptr_t ucp_put_nbx(ucp_ep_h ep, const void* buffer, size_t count, uint64_t remote_addr,
                             ucp_rkey_h rkey, const ucp_request_param_t* param);
unsigned ucp_worker_progress(ucp_worker_h worker);
ucs_status_t ucp_request_check_status(void* request);
void ucp_request_free(void* request);
}

namespace ckpt {

constexpr ucs_status_t kInProgress = 1;

inline void cu(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}
#define CU(x) ::ckpt::cu((x), #x)

// fp32 -> bf16, round to nearest even.
__global__ void squeeze(const float* src, uint16_t* dst, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    uint32_t u = __float_as_uint(src[i]);
    dst[i] = uint16_t((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
}

struct Peer {
  ucp_worker_h worker;
  ucp_ep_h endpoint;
  ucp_rkey_h key;
  uint64_t base;
};

// One-sided writes to the peer; drain() returns when the NIC has let go of all
// local buffers.
class PutQueue {
 public:
  explicit PutQueue(Peer peer) : peer_(peer) {}

  void put(const void* local, size_t bytes, uint64_t offset) {
    ucp_request_param_t plain{};
    ucs_status_ptr_t r = ucp_put_nbx(peer_.endpoint, local, bytes, peer_.base + offset, peer_.key, &plain);
    const intptr_t code = reinterpret_cast<intptr_t>(r);
    if (code < 0 && code > -100) throw std::runtime_error("put failed");
    if (r) pending_.push_back(r);
  }

  void drain() {
    for (ucs_status_ptr_t r : pending_) {
      while (ucp_request_check_status(r) == kInProgress) ucp_worker_progress(peer_.worker);
      ucp_request_free(r);
    }
    pending_.clear();
  }

 private:
  Peer peer_;
  std::vector<ucs_status_ptr_t> pending_;
};

struct Shard {
  const float* data;  // device memory, ready on the shipper's stream
  size_t count;
};

class Shipper {
 public:
  Shipper(Peer peer, size_t maxCount, cudaStream_t stream) : queue_(peer), maxCount_(maxCount), stream_(stream) {
    for (Lane& l : lanes_) {
      CU(cudaMalloc(reinterpret_cast<void**>(&l.wire), maxCount * sizeof(uint16_t)));
      CU(cudaEventCreateWithFlags(&l.packed, cudaEventDisableTiming));
    }
  }
  ~Shipper() {
    queue_.drain();
    cudaStreamSynchronize(stream_);
    for (Lane& l : lanes_) {
      cudaEventDestroy(l.packed);
      cudaFree(l.wire);
    }
  }
  Shipper(const Shipper&) = delete;
  Shipper& operator=(const Shipper&) = delete;

  // Sends the shards back to back. Packs one shard while the other is sent.
  void ship(const std::vector<Shard>& shards) {
    uint64_t offset = 0;
    for (size_t i = 0; i < shards.size(); i += 2) {
      queue_.drain();
      const size_t last = i + 2 < shards.size() ? i + 2 : shards.size();
      for (size_t k = i; k < last; ++k) pack(shards[k], lanes_[k - i]);
      for (size_t k = i; k < last; ++k) {
        post(lanes_[k - i], shards[k].count, offset);
        offset += shards[k].count * sizeof(uint16_t);
      }
    }
    queue_.drain();
  }

 private:
  struct Lane {
    uint16_t* wire = nullptr;
    cudaEvent_t packed = nullptr;
  };

  void pack(const Shard& s, Lane& lane) {
    if (s.count > maxCount_) throw std::length_error("shard");
    squeeze<<<256, 256, 0, stream_>>>(s.data, lane.wire, s.count);
    CU(cudaGetLastError());
    CU(cudaEventRecord(lane.packed, stream_));
  }

  void post(Lane& lane, size_t count, uint64_t offset) {
    CU(cudaStreamWaitEvent(stream_, lane.packed, 0));
    queue_.put(lane.wire, count * sizeof(uint16_t), offset);
  }

  PutQueue queue_;
  size_t maxCount_;
  cudaStream_t stream_;
  Lane lanes_[2];
};

}  // namespace ckpt
