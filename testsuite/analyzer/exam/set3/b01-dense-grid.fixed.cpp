// Copyright Contributors to the sparse grid project.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <cstdint>

namespace fvdb::detail::ops {

using Coord = std::array<int64_t, 3>;

struct GridBatch {
    at::Tensor ijk;     // [B * X * Y * Z, 3] int32
    at::Tensor offsets; // [B + 1] int64
};

namespace {

// All coordinates of one dense grid in lexicographic order.
at::Tensor
denseCoords(const Coord &dims, const at::TensorOptions &options) {
    const int64_t volume = dims[0] * dims[1] * dims[2];
    at::Tensor linear    = at::arange(volume, options);
    at::Tensor k         = at::remainder(linear, dims[2]);
    at::Tensor j         = at::remainder(at::floor_divide(linear, dims[2]), dims[1]);
    at::Tensor i         = at::floor_divide(linear, dims[1] * dims[2]);
    return at::stack({i, j, k}, 1).contiguous();
}

} // namespace

GridBatch
dispatchBuildDenseGrid(int64_t batchSize, const Coord &dims, at::Device device) {
    const c10::cuda::CUDAGuard deviceGuard(device);
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream(device.index()).stream();
    const auto options        = at::TensorOptions().dtype(at::kInt).device(device);

    const at::Tensor coords = denseCoords(dims, options);
    const int64_t volume    = coords.size(0);
    at::Tensor ijk          = at::empty({batchSize * volume, 3}, options);
    const size_t gridBytes  = coords.nbytes();

    auto *dst       = static_cast<uint8_t *>(ijk.data_ptr());
    const auto *src = static_cast<const uint8_t *>(coords.const_data_ptr());
    for (int64_t b = 0; b < batchSize; ++b) {
        C10_CUDA_CHECK(cudaMemcpyAsync(dst + b * gridBytes, src, gridBytes, cudaMemcpyDeviceToDevice, stream));
    }

    at::Tensor offsets = at::arange(batchSize + 1, options.dtype(at::kLong)).mul(volume);
    return {ijk, offsets};
}

// World-space centres of all voxels. The work is put on a side stream so that it overlaps with
// whatever the caller has queued; the result is ready for the caller's current stream.
at::Tensor
buildVoxelCenters(int64_t batchSize, const Coord &dims, double voxelSize, at::Device device) {
    const auto caller = c10::cuda::getCurrentCUDAStream(device.index());
    const auto side   = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index());

    at::Tensor centers;
    {
        c10::cuda::CUDAStreamGuard guard(side);
        GridBatch grid = dispatchBuildDenseGrid(batchSize, dims, device);
        centers        = grid.ijk.to(at::kFloat).add(0.5).mul(voxelSize);
    }

    at::cuda::CUDAEvent done;
    done.record(side);
    done.block(caller);
    centers.record_stream(caller.unwrap());
    return centers;
}

} // namespace fvdb::detail::ops

int
main() {
    const at::Device device(at::kCUDA, 0);
    at::Tensor centers = fvdb::detail::ops::buildVoxelCenters(4, {64, 64, 64}, 0.1, device);
    return centers.sum().item<float>() > 0.f ? 0 : 1;
}
