// Radiotherapy dose engine: primary fluence and scatter are computed concurrently.
#include "cuda_runtime.h"

#include <cstddef>
#include <memory>
#include <stdexcept>

namespace dose {

struct Beam {
    float weight;
    float attenuation;
    int scatter_radius;
};

static void ok(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void radiological_depth(const float* density, float* depth, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n) return;
    float acc = 0.f;
    for (int z = 0; z < n; ++z) {
        acc += density[z * n + column];
        depth[z * n + column] = acc;
    }
}

__global__ void deposit_primary(const float* depth, float* grid, int count, Beam b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) grid[i] += b.weight * __expf(-b.attenuation * depth[i]);
}

__global__ void spread_scatter(const float* depth, float* spread, int n, Beam b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n) return;
    int z = i / n, x = i % n;
    float acc = 0.f;
    for (int k = -b.scatter_radius; k <= b.scatter_radius; ++k) {
        int xx = min(max(x + k, 0), n - 1);
        acc += __expf(-0.3f * fabsf(float(k))) * depth[z * n + xx];
    }
    spread[i] = 0.02f * b.weight * acc;
}

__global__ void accumulate(const float* spread, float* grid, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) grid[i] += spread[i];
}

class Engine {
public:
    explicit Engine(int side) : side_(side), count_(side * side) {
        ok(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
        ok(cudaStreamCreateWithFlags(&scatter_, cudaStreamNonBlocking));
        for (cudaEvent_t* e : {&depth_ready_, &primary_done_, &scatter_done_}) {
            ok(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
        }
        for (float** p : {&density_, &depth_, &spread_, &grid_}) {
            ok(cudaMalloc(p, count_ * sizeof(float)));
        }
    }

    ~Engine() {
        cudaStreamSynchronize(main_);
        cudaStreamSynchronize(scatter_);
        for (float* p : {density_, depth_, spread_, grid_}) cudaFree(p);
        for (cudaEvent_t e : {depth_ready_, primary_done_, scatter_done_}) cudaEventDestroy(e);
        cudaStreamDestroy(scatter_);
        cudaStreamDestroy(main_);
    }

    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Starts a new plan for the given patient.
    void begin(const float* host_density) {
        ok(cudaStreamWaitEvent(main_, scatter_done_, 0));
        ok(cudaMemcpyAsync(density_, host_density, bytes(), cudaMemcpyHostToDevice, main_));
        ok(cudaMemsetAsync(grid_, 0, bytes(), main_));
        radiological_depth<<<(side_ + 127) / 128, 128, 0, main_>>>(density_, depth_, side_);
        ok(cudaGetLastError());
        ok(cudaEventRecord(depth_ready_, main_));
        ok(cudaStreamWaitEvent(scatter_, depth_ready_, 0));
        ok(cudaStreamSynchronize(main_));
    }

    void add(const Beam& beam) {
        add_primary(beam);
        add_scatter(beam);
    }

    // Copies the finished dose grid to `host_dose`.
    void finish(float* host_dose) {
        ok(cudaEventRecord(scatter_done_, scatter_));
        ok(cudaStreamWaitEvent(main_, scatter_done_, 0));
        ok(cudaMemcpyAsync(host_dose, grid_, bytes(), cudaMemcpyDeviceToHost, main_));
        ok(cudaStreamSynchronize(main_));
    }

private:
    std::size_t bytes() const { return count_ * sizeof(float); }
    int blocks() const { return (count_ + 255) / 256; }

    void add_primary(const Beam& beam) {
        ok(cudaStreamWaitEvent(main_, scatter_done_, 0));
        deposit_primary<<<blocks(), 256, 0, main_>>>(depth_, grid_, count_, beam);
        ok(cudaGetLastError());
        ok(cudaEventRecord(primary_done_, main_));
    }

    void add_scatter(const Beam& beam) {
        spread_scatter<<<blocks(), 256, 0, scatter_>>>(depth_, spread_, side_, beam);
        ok(cudaGetLastError());
        accumulate<<<blocks(), 256, 0, scatter_>>>(spread_, grid_, count_);
        ok(cudaGetLastError());
        ok(cudaEventRecord(scatter_done_, scatter_));
    }

    int side_;
    int count_;
    cudaStream_t main_ = nullptr;
    cudaStream_t scatter_ = nullptr;
    cudaEvent_t depth_ready_ = nullptr;
    cudaEvent_t primary_done_ = nullptr;
    cudaEvent_t scatter_done_ = nullptr;
    float* density_ = nullptr;
    float* depth_ = nullptr;
    float* spread_ = nullptr;
    float* grid_ = nullptr;
};

std::unique_ptr<Engine> make_engine(int side) {
    return std::make_unique<Engine>(side);
}

}  // namespace dose
