// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// A pinned block goes back to its pool with the lease, at the end of the scope: the next lease is given the same block
// and writes it, while the copy may not have read it.
#include <cuda_runtime.h>

#include <utility>
#include <vector>

class Staging {
 public:
  int* take() {
    if (idle_.empty()) {
      int* made = nullptr;
      cudaMallocHost(reinterpret_cast<void**>(&made), 4096);
      return made;
    }
    int* block = idle_.back();
    idle_.pop_back();
    return block;
  }
  void put(int* block) { idle_.push_back(block); }

 private:
  std::vector<int*> idle_;
};

class Lease {
 public:
  explicit Lease(Staging& pool) : pool_(&pool), block_(pool.take()) {}
  Lease(Lease&& other) noexcept : pool_(other.pool_), block_(std::exchange(other.block_, nullptr)) {}
  ~Lease() {
    if (block_) pool_->put(block_);
  }
  int* data() const { return block_; }

 private:
  Staging* pool_;
  int* block_;
};

void upload_all(Staging& pool, int* device, int batches, cudaStream_t stream) {
  for (int i = 0; i < batches; ++i) {
    Lease lease(pool);
    lease.data()[0] = i;  // FIRES: host-write-before-done
    cudaMemcpyAsync(device + i * 16, lease.data(), 64, cudaMemcpyHostToDevice, stream);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
  }
  cudaStreamSynchronize(stream);
}

// Two leases at a time have two blocks.
void upload_two(Staging& pool, int* device, cudaStream_t stream) {
  Lease first(pool), second(pool);
  first.data()[0] = 1;
  cudaMemcpyAsync(device, first.data(), 64, cudaMemcpyHostToDevice, stream);
  second.data()[0] = 2;
  cudaMemcpyAsync(device + 16, second.data(), 64, cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
}

// Leases that are kept until the copies are done go back later.
void upload_kept(Staging& pool, int* device, cudaStream_t stream) {
  std::vector<Lease> kept;
  for (int i = 0; i < 4; ++i) {
    Lease lease(pool);
    lease.data()[0] = i;
    cudaMemcpyAsync(device + i * 16, lease.data(), 64, cudaMemcpyHostToDevice, stream);
    kept.push_back(std::move(lease));
  }
  cudaStreamSynchronize(stream);
}
