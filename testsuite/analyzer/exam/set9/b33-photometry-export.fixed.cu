// Export of a photometric catalogue from the device to comma separated text.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <utility>

namespace photometry {

inline void throw_on_error(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct DeviceCatalog {
    std::size_t rows = 0;
    const std::int64_t* object_id = nullptr;
    const float* flux = nullptr;
    const float* background = nullptr;
};

// Page-locked host column.
template <class T>
class HostColumn {
public:
    HostColumn() = default;
    explicit HostColumn(std::size_t rows) : rows_(rows) {
        if (rows > 0) {
            void* p = nullptr;
            throw_on_error(cudaMallocHost(&p, rows * sizeof(T)));
            data_ = static_cast<T*>(p);
        }
    }
    HostColumn(HostColumn&& o) noexcept
        : data_(std::exchange(o.data_, nullptr)), rows_(std::exchange(o.rows_, 0)) {}
    HostColumn& operator=(HostColumn&& o) noexcept {
        std::swap(data_, o.data_);
        std::swap(rows_, o.rows_);
        return *this;
    }
    ~HostColumn() { cudaFreeHost(data_); }

    T* data() { return data_; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    std::size_t size() const { return rows_; }

private:
    T* data_ = nullptr;
    std::size_t rows_ = 0;
};

struct HostCatalog {
    HostColumn<std::int64_t> object_id;
    HostColumn<float> magnitude;
};

__global__ void to_magnitude(const float* flux, const float* background, float* mag,
                             std::size_t rows, float zero_point) {
    const std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
    if (i < rows) {
        const float net = fmaxf(flux[i] - background[i], 1e-12f);
        mag[i] = zero_point - 2.5f * log10f(net);
    }
}

template <class T>
static HostColumn<T> fetch_column(const T* device, std::size_t rows, cudaStream_t stream) {
    HostColumn<T> column(rows);
    if (rows > 0) {
        throw_on_error(cudaMemcpyAsync(column.data(), device, rows * sizeof(T),
                                       cudaMemcpyDeviceToHost, stream));
    }
    return column;
}

// Computes the magnitudes and brings the catalogue to the host. The inputs must be ready on
// `stream`.
HostCatalog to_host(const DeviceCatalog& cat, float zero_point, cudaStream_t stream) {
    HostCatalog host;
    if (cat.rows == 0) return host;

    float* mag = nullptr;
    throw_on_error(cudaMallocAsync(reinterpret_cast<void**>(&mag), cat.rows * sizeof(float),
                                   stream));
    const unsigned grid = static_cast<unsigned>((cat.rows + 255) / 256);
    to_magnitude<<<grid, 256, 0, stream>>>(cat.flux, cat.background, mag, cat.rows, zero_point);
    throw_on_error(cudaGetLastError());

    host.object_id = fetch_column(cat.object_id, cat.rows, stream);
    host.magnitude = fetch_column(static_cast<const float*>(mag), cat.rows, stream);
    throw_on_error(cudaFreeAsync(mag, stream));
    throw_on_error(cudaStreamSynchronize(stream));
    return host;
}

static std::size_t write_rows(const HostCatalog& host, float faint_limit, std::ostream& out) {
    std::size_t written = 0;
    for (std::size_t i = 0; i < host.magnitude.size(); ++i) {
        if (host.magnitude[i] > faint_limit) continue;
        out << host.object_id[i] << ',' << host.magnitude[i] << '\n';
        ++written;
    }
    return written;
}

// Writes all objects brighter than `faint_limit`, returns their number.
std::size_t export_csv(const DeviceCatalog& cat, float zero_point, float faint_limit,
                       std::ostream& out, cudaStream_t stream) {
    const HostCatalog host = to_host(cat, zero_point, stream);
    out << "object_id,magnitude\n";
    return write_rows(host, faint_limit, out);
}

}  // namespace photometry
