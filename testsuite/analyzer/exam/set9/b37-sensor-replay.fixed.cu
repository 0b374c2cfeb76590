// Replays recorded sensor blocks over all GPUs: block b is filtered on GPU b % N.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#ifdef NDEBUG
#define EXPECT_OK(x) (void)(x)
#else
#define EXPECT_OK(x)                                                                  \
    do {                                                                              \
        cudaError_t r_ = (x);                                                         \
        if (r_ != cudaSuccess) std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(r_)); \
    } while (0)
#endif

constexpr int kBlock = 1 << 20;
constexpr int kTaps = 32;

__global__ void moving_average(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float acc = 0.f;
    for (int k = 0; k < kTaps; ++k) acc += in[i >= k ? i - k : 0];
    out[i] = acc / kTaps;
}

// Hands out events; creating them on the fly showed up in profiles.
class EventPool {
public:
    ~EventPool() {
        for (auto& list : free_) {
            for (cudaEvent_t e : list) cudaEventDestroy(e);
        }
    }
    cudaEvent_t get(int device) {
        if (device >= int(free_.size())) free_.resize(device + 1);
        if (free_[device].empty()) refill(device);
        cudaEvent_t e = free_[device].back();
        free_[device].pop_back();
        return e;
    }
    void put(int device, cudaEvent_t e) { free_[device].push_back(e); }

private:
    // `device` is current.
    void refill(int device) {
        for (int i = 0; i < 16; ++i) {
            cudaEvent_t e = nullptr;
            EXPECT_OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
            free_[device].push_back(e);
        }
    }
    std::vector<std::vector<cudaEvent_t>> free_;
};

class Worker {
public:
    Worker(int device, EventPool& events) : device_(device), events_(events) {
        EXPECT_OK(cudaSetDevice(device));
        EXPECT_OK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
        EXPECT_OK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        EXPECT_OK(cudaMallocHost(&staging_, kBlock * sizeof(float)));
        EXPECT_OK(cudaMalloc(&raw_, kBlock * sizeof(float)));
        EXPECT_OK(cudaMalloc(&smooth_, kBlock * sizeof(float)));
    }
    ~Worker() {
        EXPECT_OK(cudaSetDevice(device_));
        EXPECT_OK(cudaStreamSynchronize(copy_));
        EXPECT_OK(cudaStreamSynchronize(compute_));
        EXPECT_OK(cudaFree(raw_));
        EXPECT_OK(cudaFree(smooth_));
        EXPECT_OK(cudaFreeHost(staging_));
        EXPECT_OK(cudaStreamDestroy(copy_));
        EXPECT_OK(cudaStreamDestroy(compute_));
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // The previous block of this worker was collected before.
    void submit(int block) {
        EXPECT_OK(cudaSetDevice(device_));
        for (int i = 0; i < kBlock; ++i) staging_[i] = float((i + block) % 977);
        EXPECT_OK(cudaMemcpyAsync(raw_, staging_, kBlock * sizeof(float), cudaMemcpyHostToDevice,
                                  copy_));
        hand_over(copy_, compute_);
        moving_average<<<kBlock / 256, 256, 0, compute_>>>(raw_, smooth_, kBlock);
        EXPECT_OK(cudaGetLastError());
    }

    float collect() {
        EXPECT_OK(cudaSetDevice(device_));
        EXPECT_OK(cudaStreamSynchronize(copy_));
        EXPECT_OK(cudaMemcpyAsync(staging_, smooth_, kBlock * sizeof(float),
                                  cudaMemcpyDeviceToHost, compute_));
        EXPECT_OK(cudaStreamSynchronize(compute_));
        return staging_[kBlock - 1];
    }

private:
    void hand_over(cudaStream_t from, cudaStream_t to) {
        cudaEvent_t e = events_.get(device_);
        EXPECT_OK(cudaEventRecord(e, from));
        EXPECT_OK(cudaStreamWaitEvent(to, e, 0));
        events_.put(device_, e);
    }

    int device_;
    EventPool& events_;
    cudaStream_t copy_ = nullptr;
    cudaStream_t compute_ = nullptr;
    float* staging_ = nullptr;
    float* raw_ = nullptr;
    float* smooth_ = nullptr;
};

int main(int argc, char** argv) {
    const int blocks = argc > 1 ? std::atoi(argv[1]) : 64;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return 1;

    EventPool events;
    std::vector<std::unique_ptr<Worker>> workers;
    for (int d = 0; d < devices; ++d) {
        workers.push_back(std::make_unique<Worker>(d, events));
    }

    double checksum = 0;
    for (int b = 0; b < blocks; b += devices) {
        for (int d = 0; d < devices; ++d) workers[d]->submit(b + d);
        for (int d = 0; d < devices; ++d) checksum += workers[d]->collect();
    }
    std::printf("%d blocks on %d GPUs, checksum %.3f\n", blocks, devices, checksum);
    return 0;
}
