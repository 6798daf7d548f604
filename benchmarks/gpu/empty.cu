// A launch that does nothing, through the same path as a load: what a load cannot be faster than.
#include <ullage/load.cuh>

namespace {

__global__ void nothing() {}

void launch(const tvm::ffi::PackedArgs&, tvm::ffi::Any*) {
  const auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(kDLCUDA, 0));
  void* none[] = {nullptr};
  ullage::require(cudaLaunchKernel(reinterpret_cast<const void*>(&nothing), dim3(1),
                                   dim3(ullage::kThreads), none, 0, stream));
}

}  // namespace

extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_open(void*, const TVMFFIAny*, std::int32_t,
                                                 TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *reinterpret_cast<tvm::ffi::Any*>(result) = tvm::ffi::Function::FromPacked(launch);
  TVM_FFI_SAFE_CALL_END();
}
