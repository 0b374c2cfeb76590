// Scoring service: requests go through a few slots, answers are handed out by a thread of their own.
#include <cuda_runtime.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#define CUDA_OK(call)                                                              \
    do {                                                                           \
        const cudaError_t rc_ = (call);                                            \
        if (rc_ != cudaSuccess) {                                                  \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(rc_));      \
            std::abort();                                                          \
        }                                                                          \
    } while (0)

constexpr int kWidth = 512;
__global__ void score_kernel(const float* features, float* answer)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kWidth)
        answer[i] = tanhf(features[i]) * 0.5f + 0.5f;
}

class Service {
public:
    using Sink = std::function<void(int id, const float* answer)>;

    Service(int slots, Sink sink) : sink_(std::move(sink))
    {
        CUDA_OK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        CUDA_OK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
        for (int i = 0; i < slots; ++i) {
            slots_.push_back(std::make_unique<Slot>(this));
            free_.push_back(slots_.back().get());
        }
        responder_ = std::thread([this] { respond(); });
    }

    ~Service()
    {
        CUDA_OK(cudaDeviceSynchronize());
        mutex_.lock();
        stopping_ = true;
        mutex_.unlock();
        changed_.notify_all();
        responder_.join();
        slots_.clear();
        CUDA_OK(cudaStreamDestroy(compute_));
        CUDA_OK(cudaStreamDestroy(copy_));
    }

    // Called from one thread. Blocks while all slots are in use.
    void submit(int id, const std::vector<float>& features)
    {
        Slot* slot = take_free_slot();
        slot->id = id;
        std::copy_n(features.data(), kWidth, slot->host_features);
        CUDA_OK(cudaMemcpyAsync(slot->features, slot->host_features, kWidth * sizeof(float), cudaMemcpyHostToDevice,
                                compute_));
        score_kernel<<<(kWidth + 127) / 128, 128, 0, compute_>>>(slot->features, slot->answer);
        CUDA_OK(cudaEventRecord(slot->scored, compute_));
        CUDA_OK(cudaStreamWaitEvent(copy_, slot->scored, 0));
        CUDA_OK(cudaMemcpyAsync(slot->host_answer, slot->answer, kWidth * sizeof(float), cudaMemcpyDeviceToHost,
                                copy_));
        CUDA_OK(cudaLaunchHostFunc(copy_, &Service::on_answer, slot));
    }

private:
    struct Slot {
        explicit Slot(Service* service) : owner(service)
        {
            CUDA_OK(cudaMalloc(&features, kWidth * sizeof(float)));
            CUDA_OK(cudaMalloc(&answer, kWidth * sizeof(float)));
            CUDA_OK(cudaMallocHost(&host_features, kWidth * sizeof(float)));
            CUDA_OK(cudaMallocHost(&host_answer, kWidth * sizeof(float)));
            CUDA_OK(cudaEventCreateWithFlags(&scored, cudaEventDisableTiming));
        }
        ~Slot()
        {
            cudaFree(features);
            cudaFree(answer);
            cudaFreeHost(host_features);
            cudaFreeHost(host_answer);
            cudaEventDestroy(scored);
        }
        Service* owner;
        int id = 0;
        float *features = nullptr, *answer = nullptr, *host_features = nullptr, *host_answer = nullptr;
        cudaEvent_t scored = nullptr;
    };

    static void CUDART_CB on_answer(void* data)
    {
        Slot* slot = static_cast<Slot*>(data);
        {
            std::lock_guard<std::mutex> lock(slot->owner->mutex_);
            slot->owner->answered_.push_back(slot);
        }
        slot->owner->changed_.notify_all();
    }

    Slot* take_free_slot()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !free_.empty(); });
        Slot* slot = free_.front();
        free_.pop_front();
        return slot;
    }

    void respond()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return stopping_ || !answered_.empty(); });
            if (answered_.empty())
                return;
            Slot* slot = answered_.front();
            answered_.pop_front();
            lock.unlock();
            sink_(slot->id, slot->host_answer);
            lock.lock();
            free_.push_back(slot);
            changed_.notify_all();
        }
    }

    Sink sink_;
    cudaStream_t compute_ = nullptr, copy_ = nullptr;
    std::vector<std::unique_ptr<Slot>> slots_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Slot*> free_, answered_;
    bool stopping_ = false;
    std::thread responder_;
};

int main()
{
    double sum = 0.0;
    {
        Service service(4, [&sum](int, const float* answer) {
            for (int i = 0; i < kWidth; ++i)
                sum += answer[i];
        });
        for (int id = 0; id < 200; ++id)
            service.submit(id, std::vector<float>(kWidth, 0.01f * id));
    }
    std::printf("sum of answers %.3f\n", sum);
    return 0;
}
