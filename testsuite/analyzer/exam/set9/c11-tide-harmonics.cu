// Example: fits tidal constituents to gauge records. Uses ordinary (blocking) streams together
// with the default stream.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void must(cudaError_t e) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(e));
        std::exit(1);
    }
}

constexpr int kSamples = 1 << 16;
constexpr int kTides = 8;
constexpr int kGauges = 4;

__global__ void project(const float* level, const float* speed, float2* amp, int n) {
    __shared__ float2 part[256];
    const int tide = blockIdx.x;
    float2 acc = make_float2(0.f, 0.f);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        acc.x += level[i] * cosf(speed[tide] * i);
        acc.y += level[i] * sinf(speed[tide] * i);
    }
    part[threadIdx.x] = acc;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (int(threadIdx.x) < s) {
            part[threadIdx.x].x += part[threadIdx.x + s].x;
            part[threadIdx.x].y += part[threadIdx.x + s].y;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) amp[tide] = make_float2(2.f * part[0].x / n, 2.f * part[0].y / n);
}

__global__ void average(const float2* amp, float2* mean, int gauges) {
    const int t = threadIdx.x;
    float2 acc = make_float2(0.f, 0.f);
    for (int g = 0; g < gauges; ++g) {
        acc.x += amp[g * kTides + t].x;
        acc.y += amp[g * kTides + t].y;
    }
    mean[t] = make_float2(acc.x / gauges, acc.y / gauges);
}

struct Gauge {
    cudaStream_t stream = nullptr;
    float* level = nullptr;
    float* host = nullptr;
};

static void open(Gauge& g, int id) {
    must(cudaStreamCreate(&g.stream));
    must(cudaMalloc(&g.level, kSamples * sizeof(float)));
    must(cudaMallocHost(&g.host, kSamples * sizeof(float)));
    for (int i = 0; i < kSamples; ++i) g.host[i] = std::cos(0.01f * i + 0.3f * id);
}

static void close(Gauge& g) {
    must(cudaFree(g.level));
    must(cudaFreeHost(g.host));
    must(cudaStreamDestroy(g.stream));
}

int main() {
    float speeds[kTides];
    for (int t = 0; t < kTides; ++t) speeds[t] = 0.01f * (t + 1);

    Gauge gauges[kGauges];
    float* speed = nullptr;
    float2 *amp = nullptr, *mean = nullptr;
    must(cudaMalloc(&speed, sizeof speeds));
    must(cudaMalloc(&amp, kGauges * kTides * sizeof(float2)));
    must(cudaMalloc(&mean, kTides * sizeof(float2)));
    for (int g = 0; g < kGauges; ++g) open(gauges[g], g);

    // Shared inputs go through the default stream; the gauge streams come after it.
    must(cudaMemset(amp, 0, kGauges * kTides * sizeof(float2)));
    must(cudaMemcpy(speed, speeds, sizeof speeds, cudaMemcpyHostToDevice));

    for (int g = 0; g < kGauges; ++g) {
        Gauge& s = gauges[g];
        must(cudaMemcpyAsync(s.level, s.host, kSamples * sizeof(float), cudaMemcpyHostToDevice,
                             s.stream));
        project<<<kTides, 256, 0, s.stream>>>(s.level, speed, amp + g * kTides, kSamples);
        must(cudaGetLastError());
    }

    // The default stream waits for all gauges.
    average<<<1, kTides>>>(amp, mean, kGauges);
    must(cudaGetLastError());

    std::vector<float2> result(kTides);
    must(cudaMemcpy(result.data(), mean, kTides * sizeof(float2), cudaMemcpyDeviceToHost));
    for (int t = 0; t < kTides; ++t) {
        std::printf("tide %d: %.4f %.4f\n", t, result[t].x, result[t].y);
    }

    for (Gauge& g : gauges) close(g);
    must(cudaFree(speed));
    must(cudaFree(amp));
    must(cudaFree(mean));
    return 0;
}
