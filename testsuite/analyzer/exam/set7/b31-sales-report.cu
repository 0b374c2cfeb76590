// Sales reports: the rows of a table are filtered on one stream and summed on another one.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sales {

inline void ok(cudaError_t rc)
{
    if (rc != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(rc));
}

// Stream-ordered device array. It is freed on the stream that it is bound to.
template <class T>
class Column {
public:
    Column(size_t rows, cudaStream_t stream) : rows_(rows), stream_(stream)
    {
        ok(cudaMallocAsync(reinterpret_cast<void**>(&data_), rows * sizeof(T), stream));
    }
    Column(Column&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), rows_(other.rows_), stream_(other.stream_)
    {
    }
    Column& operator=(Column&&) = delete;
    ~Column()
    {
        if (data_)
            cudaFreeAsync(data_, stream_);
    }

    void rebind(cudaStream_t stream) { stream_ = stream; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    size_t rows() const { return rows_; }

private:
    T* data_ = nullptr;
    size_t rows_;
    cudaStream_t stream_;
};

struct Table {
    const int* region;
    const float* price;
    size_t rows;
};

__global__ void keep_region(const int* region, const float* price, float* kept, size_t rows, int wanted)
{
    const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i < rows)
        kept[i] = region[i] == wanted ? price[i] : 0.f;
}

__global__ void add_up(const float* values, size_t rows, float* total)
{
    float sum = 0.f;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < rows;
         i += static_cast<size_t>(gridDim.x) * blockDim.x)
        sum += values[i];
    atomicAdd(total, sum);
}

unsigned blocks_for(size_t rows) { return static_cast<unsigned>((rows + 255) / 256); }

class ReportRunner {
public:
    explicit ReportRunner(int reports) : reports_(reports)
    {
        ok(cudaStreamCreateWithFlags(&scan_, cudaStreamNonBlocking));
        ok(cudaStreamCreateWithFlags(&sum_, cudaStreamNonBlocking));
        ok(cudaEventCreateWithFlags(&selected_, cudaEventDisableTiming));
        ok(cudaMalloc(&totals_, reports * sizeof(float)));
        ok(cudaMemsetAsync(totals_, 0, reports * sizeof(float), sum_));
    }
    ReportRunner(const ReportRunner&) = delete;
    ReportRunner& operator=(const ReportRunner&) = delete;
    ~ReportRunner()
    {
        cudaStreamSynchronize(scan_);
        cudaStreamSynchronize(sum_);
        cudaFree(totals_);
        cudaEventDestroy(selected_);
        cudaStreamDestroy(scan_);
        cudaStreamDestroy(sum_);
    }

    // Queues report number `index`. The table stays constant until totals() returned.
    void add(const Table& table, int region, int index)
    {
        Column<float> kept = select(table, region);
        ok(cudaEventRecord(selected_, scan_));
        ok(cudaStreamWaitEvent(sum_, selected_, 0));
        total(kept, index);
    }

    std::vector<float> totals()
    {
        std::vector<float> host(reports_);
        ok(cudaMemcpyAsync(host.data(), totals_, reports_ * sizeof(float), cudaMemcpyDeviceToHost, sum_));
        ok(cudaStreamSynchronize(sum_));
        return host;
    }

private:
    Column<float> select(const Table& table, int region)
    {
        Column<float> kept(table.rows, scan_);
        keep_region<<<blocks_for(table.rows), 256, 0, scan_>>>(table.region, table.price, kept.data(), table.rows,
                                                               region);
        ok(cudaGetLastError());
        return kept;
    }

    void total(const Column<float>& values, int index)
    {
        add_up<<<64, 256, 0, sum_>>>(values.data(), values.rows(), totals_ + index);
        ok(cudaGetLastError());
    }

    int reports_;
    cudaStream_t scan_ = nullptr;
    cudaStream_t sum_ = nullptr;
    cudaEvent_t selected_ = nullptr;
    float* totals_ = nullptr;
};

std::vector<float> totals_by_region(const Table& table, int regions)
{
    ReportRunner runner(regions);
    for (int region = 0; region < regions; ++region)
        runner.add(table, region, region);
    return runner.totals();
}

}  // namespace sales
