// Particle swarm in changing wind. The few parameters live in managed memory, as host and device share them.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

void check(cudaError_t rc, const char* file, int line)
{
    if (rc == cudaSuccess)
        return;
    std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(rc));
    std::exit(EXIT_FAILURE);
}

}  // namespace

#define CHECK(call) check((call), __FILE__, __LINE__)

struct Wind {
    float x;
    float y;
    float gustiness;
};

struct Report {
    float drift;
    float work;
};

__global__ void start_swarm(float2* position, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        position[i] = make_float2(0.001f * i, -0.001f * i);
}

__global__ void blow(float2* position, int count, const Wind* wind)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float2 p = position[i];
    for (int sub = 0; sub < 64; ++sub) {
        const float swirl = wind->gustiness * sinf(p.x + p.y);
        p.x += 0.01f * (wind->x + swirl);
        p.y += 0.01f * (wind->y - swirl);
    }
    position[i] = p;
}

__global__ void measure(const float2* position, int count, const Wind* wind, Report* report)
{
    float drift = 0.f, work = 0.f;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        drift += fabsf(position[i].x) + fabsf(position[i].y);
        work += position[i].x * wind->x + position[i].y * wind->y;
    }
    atomicAdd(&report->drift, drift / count);
    atomicAdd(&report->work, work / count);
}

class Swarm {
public:
    explicit Swarm(int count) : count_(count)
    {
        CHECK(cudaStreamCreate(&stream_));
        CHECK(cudaMalloc(&position_, sizeof(float2) * count));
        CHECK(cudaMallocManaged(&wind_, sizeof(Wind)));
        CHECK(cudaMallocManaged(&report_, sizeof(Report)));
        *wind_ = Wind{0.f, 0.f, 0.f};
        *report_ = Report{0.f, 0.f};
        start_swarm<<<blocks(), 256, 0, stream_>>>(position_, count_);
        CHECK(cudaGetLastError());
    }

    ~Swarm()
    {
        cudaStreamSynchronize(stream_);
        cudaFree(position_);
        cudaFree(wind_);
        cudaFree(report_);
        cudaStreamDestroy(stream_);
    }

    Swarm(const Swarm&) = delete;
    Swarm& operator=(const Swarm&) = delete;

    void set_wind(float angle, float force)
    {
        wind_->x = force * std::cos(angle);
        wind_->y = force * std::sin(angle);
        wind_->gustiness = 0.2f * force;
    }

    void step()
    {
        blow<<<blocks(), 256, 0, stream_>>>(position_, count_, wind_);
        CHECK(cudaGetLastError());
    }

    Report report()
    {
        CHECK(cudaStreamSynchronize(stream_));
        *report_ = Report{0.f, 0.f};
        measure<<<1, 256, 0, stream_>>>(position_, count_, wind_, report_);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream_));
        return *report_;
    }

private:
    int blocks() const { return (count_ + 255) / 256; }

    int count_;
    cudaStream_t stream_ = nullptr;
    float2* position_ = nullptr;
    Wind* wind_ = nullptr;
    Report* report_ = nullptr;
};

int main(int argc, char** argv)
{
    const int steps = argc > 1 ? std::atoi(argv[1]) : 400;
    Swarm swarm(1 << 18);
    for (int step = 0; step < steps; ++step) {
        swarm.set_wind(0.05f * step, 1.f + 0.5f * std::sin(0.01f * step));
        swarm.step();
        if (step % 100 == 99) {
            const Report report = swarm.report();
            std::printf("%5d  drift %.4f  work %.4f\n", step + 1, report.drift, report.work);
        }
    }
    return 0;
}
