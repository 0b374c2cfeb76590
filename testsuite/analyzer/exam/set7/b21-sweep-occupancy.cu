// Occupancy grids from lidar sweeps: every point marks the ground cell it falls into.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstdint>
#include <vector>

namespace lidar {

struct GridSpec {
    double origin_x;
    double origin_y;
    double cell;
    int64_t nx;
    int64_t ny;
};

__global__ void mark_cells(const int64_t* __restrict__ cell, const float* __restrict__ weight,
                           float* __restrict__ grid, int64_t points, int64_t cells)
{
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i >= points)
        return;
    const int64_t c = cell[i];
    if (c >= 0 && c < cells)
        atomicAdd(grid + c, weight[i]);
}

void launch_mark(const at::Tensor& cell, const at::Tensor& weight, at::Tensor& grid)
{
    const int64_t points = cell.numel();
    if (points == 0)
        return;
    constexpr int threads = 256;
    const int64_t blocks = (points + threads - 1) / threads;
    mark_cells<<<static_cast<unsigned>(blocks), threads>>>(
        cell.data_ptr<int64_t>(), weight.data_ptr<float>(), grid.data_ptr<float>(), points,
        grid.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

// Returns a flat cell number per point, -1 outside of the grid.
at::Tensor cell_numbers(const at::Tensor& points, const GridSpec& spec)
{
    at::Tensor ix = ((points.select(1, 0) - spec.origin_x) / spec.cell).floor().to(at::kLong);
    at::Tensor iy = ((points.select(1, 1) - spec.origin_y) / spec.cell).floor().to(at::kLong);
    at::Tensor inside = (ix >= 0).logical_and(ix < spec.nx).logical_and(iy >= 0).logical_and(iy < spec.ny);
    at::Tensor flat = ix * spec.ny + iy;
    return flat.masked_fill(inside.logical_not(), -1).contiguous();
}

at::Tensor occupancy(const at::Tensor& points, const GridSpec& spec)
{
    TORCH_CHECK(points.is_cuda() && points.dim() == 2 && points.size(1) >= 3, "points: [n, 3+] on CUDA");
    const c10::cuda::CUDAGuard device_guard(points.device());
    at::Tensor cell = cell_numbers(points, spec);
    at::Tensor weight = points.select(1, 2).abs().clamp_max(1.0).to(at::kFloat).contiguous();
    at::Tensor grid = at::zeros({spec.nx * spec.ny}, points.options().dtype(at::kFloat));
    launch_mark(cell, weight, grid);
    return grid.clamp_max(1.0).view({spec.nx, spec.ny});
}

// Sums the grids of several sweeps next to whatever the caller's stream is doing.
at::Tensor accumulate_sweeps(const std::vector<at::Tensor>& sweeps, double origin_x, double origin_y,
                             double cell, int64_t nx, int64_t ny)
{
    TORCH_CHECK(!sweeps.empty(), "no sweeps");
    const GridSpec spec{origin_x, origin_y, cell, nx, ny};
    const c10::cuda::CUDAGuard device_guard(sweeps.front().device());
    const auto caller = at::cuda::getCurrentCUDAStream();
    const auto side = at::cuda::getStreamFromPool(false, caller.device_index());

    at::cuda::CUDAEvent inputs_ready;
    inputs_ready.record(caller);
    inputs_ready.block(side);

    at::Tensor total;
    {
        const c10::cuda::CUDAStreamGuard stream_guard(side);
        total = at::zeros({nx, ny}, sweeps.front().options().dtype(at::kFloat));
        for (const at::Tensor& sweep : sweeps)
            total.add_(occupancy(sweep, spec));
    }

    at::cuda::CUDAEvent done;
    done.record(side);
    done.block(caller);
    total.record_stream(caller);
    return total;
}

}  // namespace lidar

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("accumulate_sweeps", &lidar::accumulate_sweeps, "Sum of the occupancy grids of some sweeps");
}
