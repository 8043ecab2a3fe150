// std::min and std::max, which the SDK's headers bring to every kernel; without the rest of <algorithm>, which takes the
// compiler longer than a small kernel.
#pragma once

#ifdef VD_LEAN
#elif __has_include(<bits/stl_algobase.h>)
#include <bits/stl_algobase.h>
#else
#include <algorithm>
#endif
