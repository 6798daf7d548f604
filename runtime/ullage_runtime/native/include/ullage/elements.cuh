// The element types of torch, and casts between them that give what torch's copy_ gives.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define ULLAGE_DEVICE __device__ __forceinline__
#define ULLAGE_UNROLL _Pragma("unroll")
#else
#define ULLAGE_DEVICE inline
#define ULLAGE_UNROLL
#endif

namespace ullage {

struct float16 {
  std::uint16_t bits;
};

struct bfloat16 {
  std::uint16_t bits;
};

// Sixteen bytes, the widest that one thread moves at once.
#ifdef __CUDACC__
using Cell = uint4;
#else
struct alignas(16) Cell {
  std::uint32_t x, y, z, w;
};
#endif
constexpr int kCellBytes = 16;
static_assert(sizeof(Cell) == kCellBytes);

// An element that is only moved, by its size in bytes.
template <int kBytes>
using Raw = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t,
                       std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
constexpr bool is_small_float = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

#ifdef __CUDACC__
ULLAGE_DEVICE float widened(float16 value) { return __half2float(__ushort_as_half(value.bits)); }
ULLAGE_DEVICE float widened(bfloat16 value) {
  return __bfloat162float(__ushort_as_bfloat16(value.bits));
}
template <class To>
ULLAGE_DEVICE To narrowed(float value) {
  if constexpr (std::is_same_v<To, float16>) {
    return {__half_as_ushort(__float2half(value))};
  } else {
    return {__bfloat16_as_ushort(__float2bfloat16(value))};
  }
}
#else
// Host compilers have no such types: the arithmetic is done on the bits.
inline float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float widened(bfloat16 value) { return float_of(std::uint32_t{value.bits} << 16); }
inline float widened(float16 value) {
  const std::uint32_t sign = (value.bits & 0x8000u) << 16, rest = value.bits & 0x7fffu;
  if (rest >= 0x7c00u) return float_of(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  // The exponents differ by 112; the product is exact, of numbers below the normal ones too.
  return float_of(sign | bits_of(float_of(rest << 13) * float_of(0x77800000u)));
}
template <class To>
To narrowed(float value) {
  const std::uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu;
  const std::uint16_t sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  if constexpr (std::is_same_v<To, bfloat16>) {
    if (magnitude > 0x7f800000u) return {0x7fc0u};
    return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
  } else {
    if (magnitude > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
    if (magnitude >= 0x47800000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
    if (magnitude < 0x38800000u) {  // adding a half aligns the last bit, and rounds
      return {static_cast<std::uint16_t>(
          sign | (bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f)))};
    }
    const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u;
    return {static_cast<std::uint16_t>(sign | rounded >> 13)};
  }
}
#endif

template <class To, class From>
ULLAGE_DEVICE To cast(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_small_float<From>) {
    return cast<To>(widened(value));
  } else if constexpr (is_small_float<To>) {
    return narrowed<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, std::uint8_t>) {
    return static_cast<To>(static_cast<std::int64_t>(value));  // defined for negative floats too
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace ullage
