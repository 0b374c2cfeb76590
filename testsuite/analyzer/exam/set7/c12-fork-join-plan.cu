// Depth and normals of a range image in one recorded graph with two branches.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace rangecam {

inline void check(cudaError_t rc, const char* what)
{
    if (rc != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}

__global__ void to_metres(const unsigned short* raw, float* depth, int n, float unit)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        depth[i] = raw[i] * unit;
}

__global__ void slopes(const float* depth, float* slope, int width, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        slope[i] = (i + 1) % width != 0 ? depth[i + 1] - depth[i] : 0.f;
}

__global__ void confidence(const unsigned short* raw, float* trust, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        trust[i] = raw[i] == 0 ? 0.f : 1.f / (1.f + raw[i] * 1e-4f);
}

__global__ void weigh(const float* slope, const float* trust, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = slope[i] * trust[i];
}

class RangePlan {
public:
    RangePlan(int width, int height) : width_(width), n_(width * height)
    {
        check(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking), "stream");
        check(cudaStreamCreateWithFlags(&branch_, cudaStreamNonBlocking), "stream");
        for (cudaEvent_t* event : {&fork_, &join_, &replayed_})
            check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "event");
        check(cudaMalloc(&raw_, n_ * sizeof(unsigned short)), "raw");
        for (float** buffer : {&depth_, &slope_, &trust_, &out_})
            check(cudaMalloc(buffer, n_ * sizeof(float)), "buffer");
        check(cudaMallocHost(&host_raw_, n_ * sizeof(unsigned short)), "host raw");
        check(cudaMallocHost(&host_out_, n_ * sizeof(float)), "host out");
        record();
    }

    RangePlan(const RangePlan&) = delete;
    RangePlan& operator=(const RangePlan&) = delete;

    ~RangePlan()
    {
        cudaStreamSynchronize(main_);
        cudaGraphExecDestroy(exec_);
        for (float* buffer : {depth_, slope_, trust_, out_})
            cudaFree(buffer);
        cudaFree(raw_);
        cudaFreeHost(host_raw_);
        cudaFreeHost(host_out_);
        for (cudaEvent_t event : {fork_, join_, replayed_})
            cudaEventDestroy(event);
        cudaStreamDestroy(branch_);
        cudaStreamDestroy(main_);
    }

    // Starts the work on one image. The image may be dropped when the call returns.
    void submit(const std::vector<unsigned short>& image)
    {
        if (static_cast<int>(image.size()) != n_)
            throw std::invalid_argument("image size");
        check(cudaEventSynchronize(replayed_), "previous image");
        std::copy(image.begin(), image.end(), host_raw_);
        check(cudaGraphLaunch(exec_, main_), "replay");
        check(cudaEventRecord(replayed_, main_), "record");
    }

    // The answer to the last submit(), valid until the next one.
    const float* collect()
    {
        check(cudaEventSynchronize(replayed_), "collect");
        return host_out_;
    }

private:
    void record()
    {
        cudaGraph_t graph = nullptr;
        const int blocks = (n_ + 255) / 256;
        check(cudaStreamBeginCapture(main_, cudaStreamCaptureModeThreadLocal), "begin");
        check(cudaMemcpyAsync(raw_, host_raw_, n_ * sizeof(unsigned short), cudaMemcpyHostToDevice, main_), "upload");
        check(cudaEventRecord(fork_, main_), "fork");
        check(cudaStreamWaitEvent(branch_, fork_, 0), "fork");
        confidence<<<blocks, 256, 0, branch_>>>(raw_, trust_, n_);
        check(cudaEventRecord(join_, branch_), "join");
        to_metres<<<blocks, 256, 0, main_>>>(raw_, depth_, n_, 0.001f);
        slopes<<<blocks, 256, 0, main_>>>(depth_, slope_, width_, n_);
        check(cudaStreamWaitEvent(main_, join_, 0), "join");
        weigh<<<blocks, 256, 0, main_>>>(slope_, trust_, out_, n_);
        check(cudaMemcpyAsync(host_out_, out_, n_ * sizeof(float), cudaMemcpyDeviceToHost, main_), "download");
        check(cudaStreamEndCapture(main_, &graph), "end");
        check(cudaGraphInstantiate(&exec_, graph, 0), "instantiate");
        check(cudaGraphDestroy(graph), "graph");
    }

    int width_;
    int n_;
    cudaStream_t main_ = nullptr, branch_ = nullptr;
    cudaEvent_t fork_ = nullptr, join_ = nullptr, replayed_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
    unsigned short *raw_ = nullptr, *host_raw_ = nullptr;
    float *depth_ = nullptr, *slope_ = nullptr, *trust_ = nullptr, *out_ = nullptr, *host_out_ = nullptr;
};

double mean_slope(RangePlan& plan, const std::vector<unsigned short>& image)
{
    plan.submit(image);
    const float* slope = plan.collect();
    double sum = 0.0;
    for (size_t i = 0; i < image.size(); ++i)
        sum += slope[i];
    return image.empty() ? 0.0 : sum / static_cast<double>(image.size());
}

}  // namespace rangecam
