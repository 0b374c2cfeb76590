// Monte Carlo pi with one worker thread, one stream and one set of buffers per job slot.
#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

class GpuException : public std::exception {
public:
    explicit GpuException(cudaError_t code) : text_(cudaGetErrorName(code)) {}
    const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

static void throwOnError(cudaError_t code)
{
    if (code != cudaSuccess)
        throw GpuException(code);
}

__global__ void countInside(unsigned long long* hits, int perThread, uint64_t seed)
{
    uint64_t s = seed * 6364136223846793005ull + blockIdx.x * blockDim.x + threadIdx.x + 1;
    unsigned long long mine = 0;
    for (int i = 0; i < perThread; ++i) {
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        float x = (s >> 40) * (1.0f / 16777216.0f);
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        float y = (s >> 40) * (1.0f / 16777216.0f);
        mine += x * x + y * y < 1.0f;
    }
    atomicAdd(hits, mine);
}

struct IJob {
    virtual ~IJob() = default;
    virtual void execute(cudaStream_t stream) = 0;
};

class PiJob : public IJob {
public:
    PiJob(uint64_t seed, int perThread) : seed_(seed), perThread_(perThread) {}

    void execute(cudaStream_t stream) override
    {
        unsigned long long* dev = nullptr;
        throwOnError(cudaMallocAsync(reinterpret_cast<void**>(&dev), sizeof(*dev), stream));
        throwOnError(cudaMemsetAsync(dev, 0, sizeof(*dev), stream));
        countInside<<<kBlocks, kThreads, 0, stream>>>(dev, perThread_, seed_);
        throwOnError(cudaGetLastError());
        throwOnError(cudaMemcpyAsync(&hits_, dev, sizeof(*dev), cudaMemcpyDeviceToHost, stream));
        throwOnError(cudaFreeAsync(dev, stream));
        throwOnError(cudaStreamSynchronize(stream));
    }

    double estimate() const { return 4.0 * hits_ / (double(kBlocks) * kThreads * perThread_); }

    static constexpr int kBlocks = 64, kThreads = 256;

private:
    uint64_t seed_;
    int perThread_;
    unsigned long long hits_ = 0;
};

class WorkerPool {
public:
    explicit WorkerPool(unsigned workers) : workers_(workers) {}

    // Runs all jobs and returns when the last is finished.
    void run(std::vector<std::unique_ptr<IJob>>& jobs)
    {
        std::atomic<size_t> next{0};
        std::atomic<bool> failed{false};
        std::vector<std::thread> threads;
        for (unsigned w = 0; w < workers_; ++w) {
            threads.emplace_back([&jobs, &next, &failed] {
                cudaStream_t stream = nullptr;
                try {
                    throwOnError(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
                    for (size_t i = next++; i < jobs.size(); i = next++)
                        jobs[i]->execute(stream);
                } catch (const std::exception& e) {
                    failed = true;
                }
                if (stream)
                    cudaStreamDestroy(stream);
            });
        }
        for (auto& t : threads)
            t.join();
        if (failed)
            throw GpuException(cudaErrorLaunchFailure);
    }

private:
    unsigned workers_;
};

int main()
{
    std::vector<std::unique_ptr<IJob>> jobs;
    for (uint64_t i = 0; i < 32; ++i)
        jobs.push_back(std::make_unique<PiJob>(i + 1, 1000));
    try {
        WorkerPool pool(4);
        pool.run(jobs);
    } catch (const std::exception& e) {
        std::cerr << e.what() << std::endl;
        return 1;
    }
    double sum = 0;
    for (auto& j : jobs)
        sum += static_cast<PiJob&>(*j).estimate();
    std::cout << sum / jobs.size() << std::endl;
    return 0;
}
