// Captures a two-branch filter bank once and replays it per audio block.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>

namespace audio {

inline void must(cudaError_t e) { if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e)); }

struct StreamDeleter { void operator()(cudaStream_t s) const { cudaStreamDestroy(s); } };
struct EventDeleter { void operator()(cudaEvent_t e) const { cudaEventDestroy(e); } };
struct ExecDeleter { void operator()(cudaGraphExec_t g) const { cudaGraphExecDestroy(g); } };
struct DeviceDeleter { void operator()(float* p) const { cudaFree(p); } };
struct PinnedDeleter { void operator()(float* p) const { cudaFreeHost(p); } };

using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, StreamDeleter>;
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, EventDeleter>;
using Exec = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, ExecDeleter>;
using Device = std::unique_ptr<float, DeviceDeleter>;
using Pinned = std::unique_ptr<float, PinnedDeleter>;

Stream make_stream() { cudaStream_t s; must(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); return Stream(s); }
Event make_event() { cudaEvent_t e; must(cudaEventCreateWithFlags(&e, cudaEventDisableTiming)); return Event(e); }
Device make_device(size_t n) { float* p; must(cudaMalloc(&p, n * sizeof(float))); return Device(p); }
Pinned make_pinned(size_t n) { float* p; must(cudaMallocHost(&p, n * sizeof(float))); return Pinned(p); }

__global__ void low_pass(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i ? 0.5f * (in[i] + in[i - 1]) : in[i];
}
__global__ void high_pass(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i ? 0.5f * (in[i] - in[i - 1]) : 0.f;
}
__global__ void mix(const float* lo, const float* hi, float* out, int n, float balance)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = balance * lo[i] + (1.f - balance) * hi[i];
}

class FilterBank {
public:
    explicit FilterBank(int block)
        : n_(block), main_(make_stream()), branch_(make_stream()), fork_(make_event()), join_(make_event()),
          in_(make_device(block)), lo_(make_device(block)), hi_(make_device(block)), out_(make_device(block)),
          host_in_(make_pinned(block)), host_out_(make_pinned(block))
    {
        capture();
    }

    /// Fills the input through `fill`, filters it and shows the result to `use`.
    void process(const std::function<void(float*, int)>& fill, const std::function<void(const float*, int)>& use)
    {
        fill(host_in_.get(), n_);
        must(cudaGraphLaunch(exec_.get(), main_.get()));
        must(cudaStreamSynchronize(main_.get()));
        use(host_out_.get(), n_);
    }

private:
    void capture()
    {
        const size_t bytes = n_ * sizeof(float);
        const int grid = (n_ + 127) / 128;
        must(cudaStreamBeginCapture(main_.get(), cudaStreamCaptureModeGlobal));
        must(cudaMemcpyAsync(in_.get(), host_in_.get(), bytes, cudaMemcpyHostToDevice, main_.get()));
        must(cudaEventRecord(fork_.get(), main_.get()));
        must(cudaStreamWaitEvent(branch_.get(), fork_.get(), 0));
        high_pass<<<grid, 128, 0, branch_.get()>>>(in_.get(), hi_.get(), n_);
        must(cudaEventRecord(join_.get(), branch_.get()));
        low_pass<<<grid, 128, 0, main_.get()>>>(in_.get(), lo_.get(), n_);
        must(cudaStreamWaitEvent(main_.get(), join_.get(), 0));
        mix<<<grid, 128, 0, main_.get()>>>(lo_.get(), hi_.get(), out_.get(), n_, 0.7f);
        must(cudaMemcpyAsync(host_out_.get(), out_.get(), bytes, cudaMemcpyDeviceToHost, main_.get()));
        cudaGraph_t graph;
        must(cudaStreamEndCapture(main_.get(), &graph));
        cudaGraphExec_t exec;
        must(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
        must(cudaGraphDestroy(graph));
        exec_.reset(exec);
    }

    int n_;
    Stream main_, branch_;
    Event fork_, join_;
    Device in_, lo_, hi_, out_;
    Pinned host_in_, host_out_;
    Exec exec_;
};

}  // namespace audio

int main()
{
    audio::FilterBank bank(1 << 14);
    float peak = 0.f;
    for (int block = 0; block < 100; ++block) {
        bank.process(
            [block](float* x, int n) { for (int i = 0; i < n; ++i) x[i] = std::sin(0.01f * (i + block * n)); },
            [&peak](const float* y, int n) { peak = std::max(peak, *std::max_element(y, y + n)); });
    }
    std::printf("peak %f\n", peak);
    return 0;
}
