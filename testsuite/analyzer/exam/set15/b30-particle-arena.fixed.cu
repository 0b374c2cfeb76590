// Scratch memory for the physics step. Every stream keeps the blocks it has given back in its own list and takes them again
// without waiting; when its list is empty it takes over the list of another stream, after everything that stream had queued when
// it last gave a block back.
#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace physics {

#define PHYS_OK(call)                                                            \
  do {                                                                           \
    const cudaError_t e_ = (call);                                               \
    if (e_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e_));     \
  } while (0)

class ScratchArena {
 public:
  ScratchArena() = default;
  ~ScratchArena() {
    cudaDeviceSynchronize();
    for (auto& [stream, list] : lists_) {
      for (auto& [size, ptr] : list.blocks) cudaFree(ptr);
      cudaEventDestroy(list.released);
    }
  }
  ScratchArena(const ScratchArena&) = delete;
  ScratchArena& operator=(const ScratchArena&) = delete;

  void* allocate(std::size_t bytes, cudaStream_t stream) {
    bytes = round_up(bytes);
    std::lock_guard<std::mutex> lock(mutex_);
    FreeList& own = list_of(stream);
    if (void* p = take(own, bytes)) return remember(p, bytes);

    for (auto& [other_stream, other] : lists_) {
      if (other_stream == stream || other.blocks.lower_bound(bytes) == other.blocks.end()) continue;
      merge(own, stream, other);
      return remember(take(own, bytes), bytes);
    }

    void* p = nullptr;
    PHYS_OK(cudaMalloc(&p, bytes));
    return remember(p, bytes);
  }

  void release(void* p, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    FreeList& own = list_of(stream);
    PHYS_OK(cudaEventRecord(own.released, stream));
    own.blocks.emplace(sizes_.at(p), p);
  }

 private:
  struct FreeList {
    std::multimap<std::size_t, void*> blocks;
    cudaEvent_t released = nullptr;
  };

  static std::size_t round_up(std::size_t bytes) { return (bytes + 511) & ~std::size_t{511}; }

  FreeList& list_of(cudaStream_t stream) {
    FreeList& list = lists_[stream];
    if (!list.released) PHYS_OK(cudaEventCreateWithFlags(&list.released, cudaEventDisableTiming));
    return list;
  }

  static void* take(FreeList& list, std::size_t bytes) {
    auto it = list.blocks.lower_bound(bytes);
    if (it == list.blocks.end()) return nullptr;
    void* p = it->second;
    list.blocks.erase(it);
    return p;
  }

  static void merge(FreeList& own, cudaStream_t stream, FreeList& other) {
    PHYS_OK(cudaStreamWaitEvent(stream, other.released, 0));
    own.blocks.merge(other.blocks);
    PHYS_OK(cudaEventRecord(own.released, stream));
  }

  void* remember(void* p, std::size_t bytes) {
    sizes_.emplace(p, bytes);
    return p;
  }

  std::mutex mutex_;
  std::map<cudaStream_t, FreeList> lists_;
  std::unordered_map<void*, std::size_t> sizes_;
};

__global__ void integrate(float4* bodies, float4* scratch, int n, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  scratch[i] = bodies[i];
  scratch[i].y -= 9.81f * dt;
  bodies[i] = scratch[i];
}

}  // namespace physics

int main() {
  using namespace physics;
  constexpr int kBodies = 1 << 20;
  constexpr std::size_t kBytes = kBodies * sizeof(float4);
  cudaStream_t cloth, fluid, debris;
  for (cudaStream_t* s : {&cloth, &fluid, &debris}) PHYS_OK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  float4* bodies[3];
  for (float4*& b : bodies) {
    PHYS_OK(cudaMalloc(&b, kBytes));
    PHYS_OK(cudaMemset(b, 0, kBytes));
  }
  PHYS_OK(cudaDeviceSynchronize());

  {
    ScratchArena arena;
    auto step = [&](float4* world, cudaStream_t stream) {
      return [=](void* scratch) {
        integrate<<<kBodies / 256, 256, 0, stream>>>(world, static_cast<float4*>(scratch), kBodies, 0.016f);
      };
    };
    // Cloth is solved in two passes, each with scratch of its own.
    void* stretch = arena.allocate(kBytes, cloth);
    void* bend = arena.allocate(kBytes, cloth);
    step(bodies[0], cloth)(stretch);
    step(bodies[0], cloth)(bend);
    arena.release(stretch, cloth);
    arena.release(bend, cloth);

    void* liquid = arena.allocate(kBytes, fluid);
    void* solid = arena.allocate(kBytes, debris);
    step(bodies[1], fluid)(liquid);
    step(bodies[2], debris)(solid);
    arena.release(liquid, fluid);
    arena.release(solid, debris);
    PHYS_OK(cudaGetLastError());
  }
  for (float4* b : bodies) PHYS_OK(cudaFree(b));
  for (cudaStream_t s : {cloth, fluid, debris}) PHYS_OK(cudaStreamDestroy(s));
  return 0;
}
