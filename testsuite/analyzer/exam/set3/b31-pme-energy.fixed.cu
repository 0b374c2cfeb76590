/* Nonbonded forces with PME reciprocal space on a second stream. */
#include <cuda.h>
#include <cuda_runtime.h>
#include <cufft.h>
#include <sstream>
#include <stdexcept>
#include <string>

using namespace std;

#define CHECK_RESULT(result, prefix) \
    if (result != CUDA_SUCCESS) { \
        stringstream m; \
        m << prefix << ": error " << (int) result << " at " << __FILE__ << ":" << __LINE__; \
        throw runtime_error(m.str()); \
    }

typedef float real;
typedef double mixed;

extern "C" __global__ void computeNonbonded(const float4* posq, mixed* energyBuffer, int numAtoms) {
    mixed energy = 0;
    for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < numAtoms; i += blockDim.x*gridDim.x)
        for (int j = 0; j < i; j++) {
            real dx = posq[i].x-posq[j].x, dy = posq[i].y-posq[j].y, dz = posq[i].z-posq[j].z;
            energy += posq[i].w*posq[j].w*rsqrtf(dx*dx+dy*dy+dz*dz);
        }
    energyBuffer[blockIdx.x*blockDim.x+threadIdx.x] += energy;
}

extern "C" __global__ void gridSpreadCharge(const float4* posq, real* pmeGrid, int numAtoms, int gridSize) {
    for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < numAtoms; i += blockDim.x*gridDim.x) {
        int x = ((int) posq[i].x)%gridSize, y = ((int) posq[i].y)%gridSize, z = ((int) posq[i].z)%gridSize;
        atomicAdd(&pmeGrid[(x*gridSize+y)*gridSize+z], posq[i].w);
    }
}

extern "C" __global__ void gridEvaluateEnergy(const float2* grid, mixed* energyBuffer, int n) {
    mixed energy = 0;
    for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < n; i += blockDim.x*gridDim.x)
        energy += grid[i].x*grid[i].x+grid[i].y*grid[i].y;
    energyBuffer[blockIdx.x*blockDim.x+threadIdx.x] += 0.5*energy;
}

extern "C" __global__ void addEnergy(const mixed* pmeEnergyBuffer, mixed* energyBuffer) {
    int i = blockIdx.x*blockDim.x+threadIdx.x;
    energyBuffer[i] += pmeEnergyBuffer[i];
}

class CudaNonbondedKernel {
public:
    CudaNonbondedKernel(int numAtoms, int gridSize) : numAtoms(numAtoms), gridSize(gridSize) {
        CHECK_RESULT(cuStreamCreate(&mainStream, CU_STREAM_NON_BLOCKING), "Error creating stream");
        CHECK_RESULT(cuStreamCreate(&pmeStream, CU_STREAM_NON_BLOCKING), "Error creating PME stream");
        CHECK_RESULT(cuEventCreate(&startEvent, CU_EVENT_DISABLE_TIMING), "Error creating event");
        CHECK_RESULT(cuEventCreate(&pmeSyncEvent, CU_EVENT_DISABLE_TIMING), "Error creating event");
        CHECK_RESULT(cuMemAlloc(&energyBuffer, bufferLength()*sizeof(mixed)), "Error allocating energyBuffer");
        CHECK_RESULT(cuMemAlloc(&pmeEnergyBuffer, bufferLength()*sizeof(mixed)), "Error allocating pmeEnergyBuffer");
        CHECK_RESULT(cuMemAlloc(&realGrid, gridElements()*sizeof(real)), "Error allocating grid");
        CHECK_RESULT(cuMemAlloc(&complexGrid, complexElements()*sizeof(float2)), "Error allocating grid");
        if (cufftPlan3d(&fft, gridSize, gridSize, gridSize, CUFFT_R2C) != CUFFT_SUCCESS || cufftSetStream(fft, pmeStream) != CUFFT_SUCCESS)
            throw runtime_error("Error creating FFT plan");
    }
    ~CudaNonbondedKernel() {
        cuStreamSynchronize(pmeStream);
        cuStreamSynchronize(mainStream);
        cufftDestroy(fft);
        cuMemFree(energyBuffer);
        cuMemFree(pmeEnergyBuffer);
        cuMemFree(realGrid);
        cuMemFree(complexGrid);
        cuEventDestroy(startEvent);
        cuEventDestroy(pmeSyncEvent);
        cuStreamDestroy(pmeStream);
        cuStreamDestroy(mainStream);
    }
    double execute(const float4* posq) {
        CHECK_RESULT(cuMemsetD8Async(energyBuffer, 0, bufferLength()*sizeof(mixed), mainStream), "Error clearing energyBuffer");
        CHECK_RESULT(cuEventRecord(startEvent, mainStream), "Error recording event");
        launchReciprocal(posq);
        launchDirect(posq);
        CHECK_RESULT(cuStreamWaitEvent(mainStream, pmeSyncEvent, 0), "Error waiting for PME");
        addEnergy<<<blocks, threads, 0, mainStream>>>((const mixed*) pmeEnergyBuffer, (mixed*) energyBuffer);
        return reduceEnergy();
    }
private:
    static const int blocks = 64, threads = 128;
    int bufferLength() const { return blocks*threads; }
    int gridElements() const { return gridSize*gridSize*gridSize; }
    int complexElements() const { return gridSize*gridSize*(gridSize/2+1); }

    void launchReciprocal(const float4* posq) {
        CHECK_RESULT(cuStreamWaitEvent(pmeStream, startEvent, 0), "Error waiting for start event");
        CHECK_RESULT(cuMemsetD8Async(pmeEnergyBuffer, 0, bufferLength()*sizeof(mixed), pmeStream), "Error clearing pmeEnergyBuffer");
        CHECK_RESULT(cuMemsetD8Async(realGrid, 0, gridElements()*sizeof(real), pmeStream), "Error clearing grid");
        gridSpreadCharge<<<blocks, threads, 0, pmeStream>>>(posq, (real*) realGrid, numAtoms, gridSize);
        if (cufftExecR2C(fft, (cufftReal*) realGrid, (cufftComplex*) complexGrid) != CUFFT_SUCCESS)
            throw runtime_error("Error executing FFT");
        gridEvaluateEnergy<<<blocks, threads, 0, pmeStream>>>((const float2*) complexGrid, (mixed*) pmeEnergyBuffer, complexElements());
        CHECK_RESULT(cuEventRecord(pmeSyncEvent, pmeStream), "Error recording PME event");
    }

    void launchDirect(const float4* posq) {
        computeNonbonded<<<blocks, threads, 0, mainStream>>>(posq, (mixed*) energyBuffer, numAtoms);
    }

    double reduceEnergy() {
        string scratch(bufferLength()*sizeof(mixed), '\0');
        CHECK_RESULT(cuStreamSynchronize(mainStream), "Error synchronizing");
        CHECK_RESULT(cuMemcpyDtoH(&scratch[0], energyBuffer, scratch.size()), "Error downloading energy");
        const mixed* e = (const mixed*) scratch.data();
        double sum = 0;
        for (int i = 0; i < bufferLength(); i++)
            sum += e[i];
        return sum;
    }

    int numAtoms, gridSize;
    CUstream mainStream, pmeStream;
    CUevent startEvent, pmeSyncEvent;
    CUdeviceptr energyBuffer, realGrid, complexGrid;
    CUdeviceptr pmeEnergyBuffer;
    cufftHandle fft;
};

// posq must have been uploaded and synchronized.
double computeEnergy(const float4* posq, int numAtoms) {
    CudaNonbondedKernel kernel(numAtoms, 64);
    return kernel.execute(posq);
}
