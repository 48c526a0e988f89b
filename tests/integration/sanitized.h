// Whether a sanitizer is built in: its shadows and quarantines are memory, and it needs
// descriptors.
#pragma once

namespace onced::integration {

#ifdef __has_feature
#define ONCED_HAS_FEATURE(feature) __has_feature(feature)
#else
#define ONCED_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    ONCED_HAS_FEATURE(address_sanitizer) || ONCED_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#undef ONCED_HAS_FEATURE

}  // namespace onced::integration
