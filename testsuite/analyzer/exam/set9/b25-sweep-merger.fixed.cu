// Merges the sweeps of the front and the rear lidar into one occupancy grid.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>

namespace lidar {

struct Pose {
    float x, y, cos_yaw, sin_yaw;
};

constexpr int kGridSide = 512;
constexpr float kCell = 0.1f;

#define LIDAR_CHECK(expr)                                               \
    do {                                                                \
        const cudaError_t rc = (expr);                                  \
        if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc)); \
    } while (0)

__global__ void to_vehicle_frame(const float4* raw, float4* out, int n, Pose p) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 q = raw[i];
    out[i] = make_float4(p.cos_yaw * q.x - p.sin_yaw * q.y + p.x,
                         p.sin_yaw * q.x + p.cos_yaw * q.y + p.y, q.z, q.w);
}

__global__ void rasterize(const float4* front, int n_front, const float4* rear, int n_rear,
                          unsigned* grid) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_front + n_rear) return;
    const float4 q = i < n_front ? front[i] : rear[i - n_front];
    const int cx = static_cast<int>(q.x / kCell) + kGridSide / 2;
    const int cy = static_cast<int>(q.y / kCell) + kGridSide / 2;
    if (cx >= 0 && cx < kGridSide && cy >= 0 && cy < kGridSide) {
        atomicAdd(grid + cy * kGridSide + cx, 1u);
    }
}

class SweepMerger {
public:
    explicit SweepMerger(int max_points) : max_points_(max_points) {
        for (cudaStream_t* s : {&front_stream_, &rear_stream_, &merge_stream_}) {
            LIDAR_CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
        }
        LIDAR_CHECK(cudaEventCreateWithFlags(&front_done_, cudaEventDisableTiming));
        LIDAR_CHECK(cudaEventCreateWithFlags(&rear_done_, cudaEventDisableTiming));
        LIDAR_CHECK(cudaEventCreateWithFlags(&merged_, cudaEventDisableTiming));
        LIDAR_CHECK(cudaMalloc(&front_, max_points * sizeof(float4)));
        LIDAR_CHECK(cudaMalloc(&rear_, max_points * sizeof(float4)));
        LIDAR_CHECK(cudaMalloc(&grid_, kGridBytes));
    }

    ~SweepMerger() {
        for (cudaStream_t s : {front_stream_, rear_stream_, merge_stream_}) {
            cudaStreamSynchronize(s);
            cudaStreamDestroy(s);
        }
        cudaEventDestroy(front_done_);
        cudaEventDestroy(rear_done_);
        cudaEventDestroy(merged_);
        cudaFree(front_);
        cudaFree(rear_);
        cudaFree(grid_);
    }

    SweepMerger(const SweepMerger&) = delete;
    SweepMerger& operator=(const SweepMerger&) = delete;

    // Raw sweeps are device buffers that were filled before the call and are not written again
    // until process() returns. `host_grid` receives kGridSide * kGridSide counters.
    void process(const float4* raw_front, int n_front, const Pose& front_pose,
                 const float4* raw_rear, int n_rear, const Pose& rear_pose, unsigned* host_grid) {
        if (n_front > max_points_ || n_rear > max_points_) {
            throw std::length_error("sweep too long");
        }
        transform(raw_front, front_, n_front, front_pose, front_stream_, front_done_);
        transform(raw_rear, rear_, n_rear, rear_pose, rear_stream_, rear_done_);
        merge(n_front, n_rear);
        LIDAR_CHECK(cudaMemcpyAsync(host_grid, grid_, kGridBytes, cudaMemcpyDeviceToHost,
                                    merge_stream_));
        LIDAR_CHECK(cudaStreamSynchronize(merge_stream_));
    }

private:
    static constexpr std::size_t kGridBytes = sizeof(unsigned) * kGridSide * kGridSide;

    void transform(const float4* raw, float4* out, int n, const Pose& pose, cudaStream_t stream,
                   cudaEvent_t done) {
        LIDAR_CHECK(cudaStreamWaitEvent(stream, merged_, 0));
        if (n > 0) {
            to_vehicle_frame<<<(n + 255) / 256, 256, 0, stream>>>(raw, out, n, pose);
            LIDAR_CHECK(cudaGetLastError());
        }
        LIDAR_CHECK(cudaEventRecord(done, stream));
    }

    void merge(int n_front, int n_rear) {
        const int total = n_front + n_rear;
        LIDAR_CHECK(cudaMemsetAsync(grid_, 0, kGridBytes, merge_stream_));
        LIDAR_CHECK(cudaStreamWaitEvent(merge_stream_, front_done_, 0));
        LIDAR_CHECK(cudaStreamWaitEvent(merge_stream_, rear_done_, 0));
        if (total > 0) {
            rasterize<<<(total + 255) / 256, 256, 0, merge_stream_>>>(front_, n_front, rear_,
                                                                      n_rear, grid_);
            LIDAR_CHECK(cudaGetLastError());
        }
        LIDAR_CHECK(cudaEventRecord(merged_, merge_stream_));
    }

    int max_points_;
    cudaStream_t front_stream_ = nullptr;
    cudaStream_t rear_stream_ = nullptr;
    cudaStream_t merge_stream_ = nullptr;
    cudaEvent_t front_done_ = nullptr;
    cudaEvent_t rear_done_ = nullptr;
    cudaEvent_t merged_ = nullptr;
    float4* front_ = nullptr;
    float4* rear_ = nullptr;
    unsigned* grid_ = nullptr;
};

}  // namespace lidar
