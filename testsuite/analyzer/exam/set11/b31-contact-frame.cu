// One frame of the physics step: contacts of the rigid bodies and the neighbour grid of the cloth particles are
// found side by side; the solver needs both.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define PHYS_CHECK(expr)                                                                          \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

struct Contact {
  int a, b;
  float depth;
};

constexpr int kGrid = 64;

__global__ void sweepBodies(const float4* bodies, int count, Contact* contacts, int* found, int maxContacts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  for (int j = i + 1; j < count; ++j) {
    float dx = bodies[i].x - bodies[j].x, dy = bodies[i].y - bodies[j].y, dz = bodies[i].z - bodies[j].z;
    float depth = bodies[i].w + bodies[j].w - sqrtf(dx * dx + dy * dy + dz * dz);
    if (depth <= 0.f) continue;
    int slot = atomicAdd(found, 1);
    if (slot < maxContacts) contacts[slot] = {i, j, depth};
  }
}

__global__ void binParticles(const float4* cloth, int count, int* cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int cx = static_cast<int>(cloth[i].x) & (kGrid - 1), cy = static_cast<int>(cloth[i].y) & (kGrid - 1);
  atomicAdd(&cells[cy * kGrid + cx], 1);
}

__global__ void solve(float4* bodies, float4* cloth, int particles, const Contact* contacts, const int* found,
                      int maxContacts, const int* cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int n = min(*found, maxContacts);
  if (i < n) {
    atomicAdd(&bodies[contacts[i].a].y, 0.5f * contacts[i].depth);
    atomicAdd(&bodies[contacts[i].b].y, -0.5f * contacts[i].depth);
  }
  if (i < particles) {
    int cx = static_cast<int>(cloth[i].x) & (kGrid - 1), cy = static_cast<int>(cloth[i].y) & (kGrid - 1);
    cloth[i].z -= 0.001f * cells[cy * kGrid + cx];
  }
}

// What the stages of a frame tell each other.
class FrameSignals {
 public:
  FrameSignals() {
    PHYS_CHECK(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
    PHYS_CHECK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
  }
  FrameSignals(const FrameSignals&) = delete;
  ~FrameSignals() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(ready_);
  }
  void begin(cudaStream_t main) { PHYS_CHECK(cudaEventRecord(begin_, main)); }
  void awaitBegin(cudaStream_t s) { PHYS_CHECK(cudaStreamWaitEvent(s, begin_, 0)); }
  void inputReady(cudaStream_t s) { PHYS_CHECK(cudaEventRecord(ready_, s)); }
  void awaitInputs(cudaStream_t s) { PHYS_CHECK(cudaStreamWaitEvent(s, ready_, 0)); }

 private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t ready_ = nullptr;
};

class World {
 public:
  World(int bodies, int particles) : bodyCount_(bodies), particleCount_(particles), maxContacts_(8 * bodies) {
    for (cudaStream_t* s : {&main_, &rigid_, &cloth_})
      PHYS_CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    PHYS_CHECK(cudaMalloc(reinterpret_cast<void**>(&bodies_), bodies * sizeof(float4)));
    PHYS_CHECK(cudaMalloc(reinterpret_cast<void**>(&particles_), particles * sizeof(float4)));
    PHYS_CHECK(cudaMalloc(reinterpret_cast<void**>(&contacts_), maxContacts_ * sizeof(Contact)));
    PHYS_CHECK(cudaMalloc(reinterpret_cast<void**>(&found_), sizeof(int)));
    PHYS_CHECK(cudaMalloc(reinterpret_cast<void**>(&cells_), kGrid * kGrid * sizeof(int)));
    PHYS_CHECK(cudaMemsetAsync(bodies_, 0, bodies * sizeof(float4), main_));
    PHYS_CHECK(cudaMemsetAsync(particles_, 0, particles * sizeof(float4), main_));
  }
  World(const World&) = delete;
  ~World() {
    wait();
    for (void* p : {static_cast<void*>(bodies_), static_cast<void*>(particles_), static_cast<void*>(contacts_),
                    static_cast<void*>(found_), static_cast<void*>(cells_)})
      cudaFree(p);
    for (cudaStream_t s : {main_, rigid_, cloth_}) cudaStreamDestroy(s);
  }

  void step() {
    signals_.begin(main_);
    findContacts();
    binCloth();
    signals_.awaitInputs(main_);
    const int n = particleCount_ > maxContacts_ ? particleCount_ : maxContacts_;
    solve<<<(n + 255) / 256, 256, 0, main_>>>(bodies_, particles_, particleCount_, contacts_, found_, maxContacts_,
                                              cells_);
    PHYS_CHECK(cudaGetLastError());
  }

  void wait() {
    for (cudaStream_t s : {rigid_, cloth_, main_}) PHYS_CHECK(cudaStreamSynchronize(s));
  }

 private:
  void findContacts() {
    signals_.awaitBegin(rigid_);
    PHYS_CHECK(cudaMemsetAsync(found_, 0, sizeof(int), rigid_));
    sweepBodies<<<(bodyCount_ + 255) / 256, 256, 0, rigid_>>>(bodies_, bodyCount_, contacts_, found_, maxContacts_);
    PHYS_CHECK(cudaGetLastError());
    signals_.inputReady(rigid_);
  }

  void binCloth() {
    signals_.awaitBegin(cloth_);
    PHYS_CHECK(cudaMemsetAsync(cells_, 0, kGrid * kGrid * sizeof(int), cloth_));
    binParticles<<<(particleCount_ + 255) / 256, 256, 0, cloth_>>>(particles_, particleCount_, cells_);
    PHYS_CHECK(cudaGetLastError());
    signals_.inputReady(cloth_);
  }

  int bodyCount_, particleCount_, maxContacts_;
  FrameSignals signals_;
  cudaStream_t main_ = nullptr, rigid_ = nullptr, cloth_ = nullptr;
  float4* bodies_ = nullptr;
  float4* particles_ = nullptr;
  Contact* contacts_ = nullptr;
  int* found_ = nullptr;
  int* cells_ = nullptr;
};

int main() {
  World world(4096, 1 << 18);
  for (int frame = 0; frame < 120; ++frame) world.step();
  world.wait();
  std::puts("120 frames simulated");
}
