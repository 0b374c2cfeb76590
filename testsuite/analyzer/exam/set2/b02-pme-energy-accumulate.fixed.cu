// Energy evaluation with reciprocal-space work overlapped on its own stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

static void check(cudaError_t rc, const char* what) {
    if (rc != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(rc));
        std::abort();
    }
}

constexpr int kSlots = 4096;

__global__ void bondedForces(const float4* posq, int numBonds, float* energy) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    float e = 0.f;
    for (int b = tid; b < numBonds; b += kSlots) {
        float4 p = posq[b], q = posq[b + 1];
        float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
        e += 0.5f * (dx * dx + dy * dy + dz * dz);
    }
    energy[tid] += e;
}

__global__ void reciprocalEnergy(const float2* grid, int gridSize, float scale, float* energy) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    float e = 0.f;
    for (int g = tid; g < gridSize; g += kSlots)
        e += scale * (grid[g].x * grid[g].x + grid[g].y * grid[g].y);
    energy[tid] += e;
}

__global__ void spreadCharges(const float4* posq, int numAtoms, float2* grid, int gridSize) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < numAtoms) atomicAdd(&grid[(i * 37) % gridSize].x, posq[i].w);
}

class PmeTask {
public:
    PmeTask(int gridSize) : gridSize(gridSize) {
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "pme stream");
        check(cudaEventCreateWithFlags(&finished, cudaEventDisableTiming), "pme event");
        check(cudaMalloc(&grid, gridSize * sizeof(float2)), "pme grid");
    }
    ~PmeTask() {
        cudaStreamSynchronize(stream);
        cudaFree(grid);
        cudaEventDestroy(finished);
        cudaStreamDestroy(stream);
    }
    void enqueue(cudaEvent_t inputsReady, const float4* posq, int numAtoms, float* energy) {
        check(cudaStreamWaitEvent(stream, inputsReady, 0), "pme wait");
        check(cudaMemsetAsync(grid, 0, gridSize * sizeof(float2), stream), "pme clear");
        spreadCharges<<<(numAtoms + 127) / 128, 128, 0, stream>>>(posq, numAtoms, grid, gridSize);
        reciprocalEnergy<<<kSlots / 128, 128, 0, stream>>>(grid, gridSize, 1.f / gridSize, energy);
        check(cudaEventRecord(finished, stream), "pme record");
    }
    void join(cudaStream_t other) { check(cudaStreamWaitEvent(other, finished, 0), "pme join"); }
private:
    int gridSize;
    cudaStream_t stream = nullptr;
    cudaEvent_t finished = nullptr;
    float2* grid = nullptr;
};

class EnergyKernel {
public:
    EnergyKernel(cudaStream_t main, int gridSize) : main(main), pme(gridSize) {
        check(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming), "event");
        check(cudaMalloc(&energy, 2 * kSlots * sizeof(float)), "energy");
        check(cudaMallocHost(&hostEnergy, 2 * kSlots * sizeof(float)), "host energy");
    }
    ~EnergyKernel() {
        cudaStreamSynchronize(main);
        cudaFreeHost(hostEnergy);
        cudaFree(energy);
        cudaEventDestroy(ready);
    }
    double compute(const float4* posq, int numAtoms, int numBonds) {
        const int slots = 2 * kSlots;
        check(cudaMemsetAsync(energy, 0, slots * sizeof(float), main), "clear");
        check(cudaEventRecord(ready, main), "record");
        pme.enqueue(ready, posq, numAtoms, energy + kSlots);
        bondedForces<<<kSlots / 128, 128, 0, main>>>(posq, numBonds, energy);
        pme.join(main);
        check(cudaMemcpyAsync(hostEnergy, energy, slots * sizeof(float), cudaMemcpyDeviceToHost, main), "copy");
        check(cudaStreamSynchronize(main), "sync");
        double sum = 0;
        for (int i = 0; i < slots; i++) sum += hostEnergy[i];
        return sum;
    }
private:
    cudaStream_t main;
    PmeTask pme;
    cudaEvent_t ready = nullptr;
    float* energy = nullptr;
    float* hostEnergy = nullptr;
};
