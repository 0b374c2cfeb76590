// Camera threads make frames on their own default streams; one thread encodes them. Frames go around in a pool.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#define NEED(call)                                                                    \
    do {                                                                              \
        const cudaError_t need_rc = (call);                                           \
        if (need_rc != cudaSuccess) {                                                 \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(need_rc));     \
            std::abort();                                                             \
        }                                                                             \
    } while (0)

constexpr int kPixels = 640 * 480;

__global__ void develop(float* frame, int camera, int number)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kPixels)
        frame[i] = 0.001f * ((i + camera * 13 + number) % 256);
}

__global__ void encode(const float* frame, float* energy)
{
    float sum = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kPixels; i += gridDim.x * blockDim.x)
        sum += frame[i] * frame[i];
    atomicAdd(energy, sum);
}

struct Frame {
    Frame()
    {
        NEED(cudaMalloc(&pixels, kPixels * sizeof(float)));
        NEED(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
        NEED(cudaEventCreateWithFlags(&released, cudaEventDisableTiming));
    }
    ~Frame()
    {
        NEED(cudaEventSynchronize(released));
        cudaFree(pixels);
        cudaEventDestroy(ready);
        cudaEventDestroy(released);
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

    float* pixels = nullptr;
    cudaEvent_t ready = nullptr;
    cudaEvent_t released = nullptr;
};

using FramePtr = std::unique_ptr<Frame>;

class FrameQueue {
public:
    void push(FramePtr frame)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        frames_.push_back(std::move(frame));
        changed_.notify_one();
    }

    FramePtr pop()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !frames_.empty(); });
        FramePtr frame = std::move(frames_.front());
        frames_.pop_front();
        return frame;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<FramePtr> frames_;
};

void camera_loop(int camera, int count, FrameQueue& idle, FrameQueue& filled)
{
    for (int number = 0; number < count; ++number) {
        FramePtr frame = idle.pop();
        NEED(cudaStreamWaitEvent(cudaStreamPerThread, frame->released, 0));
        develop<<<(kPixels + 255) / 256, 256, 0, cudaStreamPerThread>>>(frame->pixels, camera, number);
        NEED(cudaGetLastError());
        NEED(cudaEventRecord(frame->ready, cudaStreamPerThread));
        filled.push(std::move(frame));
    }
    NEED(cudaStreamSynchronize(cudaStreamPerThread));
}

float encode_loop(int count, FrameQueue& idle, FrameQueue& filled)
{
    cudaStream_t stream;
    NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    float* energy = nullptr;
    NEED(cudaMalloc(&energy, sizeof(float)));
    NEED(cudaMemsetAsync(energy, 0, sizeof(float), stream));
    for (int i = 0; i < count; ++i) {
        FramePtr frame = filled.pop();
        NEED(cudaStreamWaitEvent(stream, frame->ready, 0));
        encode<<<48, 256, 0, stream>>>(frame->pixels, energy);
        NEED(cudaGetLastError());
        NEED(cudaEventRecord(frame->released, stream));
        idle.push(std::move(frame));
    }
    float result = 0.f;
    NEED(cudaMemcpyAsync(&result, energy, sizeof result, cudaMemcpyDeviceToHost, stream));
    NEED(cudaStreamSynchronize(stream));
    NEED(cudaFree(energy));
    NEED(cudaStreamDestroy(stream));
    return result;
}

int main()
{
    const int cameras = 3;
    const int frames_each = 60;
    FrameQueue idle, filled;
    for (int i = 0; i < 5; ++i)
        idle.push(std::make_unique<Frame>());

    float energy = 0.f;
    std::thread encoder([&] { energy = encode_loop(cameras * frames_each, idle, filled); });
    std::vector<std::thread> threads;
    for (int camera = 0; camera < cameras; ++camera)
        threads.emplace_back([&, camera] { camera_loop(camera, frames_each, idle, filled); });
    for (std::thread& thread : threads)
        thread.join();
    encoder.join();
    std::printf("energy %.1f\n", energy);
    return 0;
}
