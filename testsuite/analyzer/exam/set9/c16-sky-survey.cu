// Two-stage pipeline with one thread per stage. The reader thread uploads exposures, the
// stacker thread adds them up; exposures travel through a queue together with their event.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#define OK(x)                                                                           \
    do {                                                                                \
        cudaError_t e_ = (x);                                                           \
        if (e_ != cudaSuccess) {                                                        \
            std::fprintf(stderr, "%s line %d\n", cudaGetErrorString(e_), __LINE__);     \
            std::exit(1);                                                               \
        }                                                                               \
    } while (0)

constexpr int kPixels = 1 << 20;
constexpr int kExposures = 24;
constexpr int kBuffers = 3;

struct Exposure {
    unsigned short* host = nullptr;
    unsigned short* device = nullptr;
    cudaEvent_t uploaded = nullptr;
    cudaEvent_t stacked = nullptr;
    float weight = 0.f;
};

template <class T>
class Channel {
public:
    void put(T v) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            items_.push_back(v);
        }
        ready_.notify_one();
    }
    T get() {
        std::unique_lock<std::mutex> lock(mutex_);
        ready_.wait(lock, [this] { return !items_.empty(); });
        T v = items_.front();
        items_.pop_front();
        return v;
    }

private:
    std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<T> items_;
};

__global__ void add_exposure(float* stack, const unsigned short* exposure, float weight, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) stack[i] += weight * exposure[i];
}

static void read_exposures(Channel<Exposure*>& idle, Channel<Exposure*>& filled) {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int e = 0; e < kExposures; ++e) {
        Exposure* x = idle.get();
        OK(cudaEventSynchronize(x->uploaded));
        for (int i = 0; i < kPixels; ++i) x->host[i] = static_cast<unsigned short>((i + e) % 4096);
        x->weight = 1.f / float(e + 1);
        OK(cudaStreamWaitEvent(stream, x->stacked, 0));
        OK(cudaMemcpyAsync(x->device, x->host, kPixels * sizeof(unsigned short),
                           cudaMemcpyHostToDevice, stream));
        OK(cudaEventRecord(x->uploaded, stream));
        filled.put(x);
    }
    filled.put(nullptr);
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
}

static void stack_exposures(Channel<Exposure*>& filled, Channel<Exposure*>& idle, float* stack) {
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMemsetAsync(stack, 0, kPixels * sizeof(float), stream));
    while (Exposure* x = filled.get()) {
        OK(cudaStreamWaitEvent(stream, x->uploaded, 0));
        add_exposure<<<kPixels / 256, 256, 0, stream>>>(stack, x->device, x->weight, kPixels);
        OK(cudaGetLastError());
        OK(cudaEventRecord(x->stacked, stream));
        idle.put(x);
    }
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
}

int main() {
    std::vector<Exposure> buffers(kBuffers);
    Channel<Exposure*> idle, filled;
    for (Exposure& x : buffers) {
        OK(cudaMallocHost(&x.host, kPixels * sizeof(unsigned short)));
        OK(cudaMalloc(&x.device, kPixels * sizeof(unsigned short)));
        OK(cudaEventCreateWithFlags(&x.uploaded, cudaEventDisableTiming));
        OK(cudaEventCreateWithFlags(&x.stacked, cudaEventDisableTiming));
        idle.put(&x);
    }
    float* stack = nullptr;
    OK(cudaMalloc(&stack, kPixels * sizeof(float)));

    std::thread reader([&] { read_exposures(idle, filled); });
    std::thread stacker([&] { stack_exposures(filled, idle, stack); });
    reader.join();
    stacker.join();

    // Both threads have waited for their streams.
    std::vector<float> result(kPixels);
    OK(cudaMemcpy(result.data(), stack, kPixels * sizeof(float), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (float v : result) sum += v;
    std::printf("mean of the stack: %.4f\n", sum / kPixels);

    for (Exposure& x : buffers) {
        OK(cudaFreeHost(x.host));
        OK(cudaFree(x.device));
        OK(cudaEventDestroy(x.uploaded));
        OK(cudaEventDestroy(x.stacked));
    }
    OK(cudaFree(stack));
    return 0;
}
