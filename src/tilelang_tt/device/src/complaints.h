// Breaches that the user has allowed: each becomes a warning of the report.
#pragma once

#include <vector>

#include "machine.h"

namespace vd {

struct Complaint {
    const char* category;
    char message[256];
    uint32_t launch, times;
    uint32_t x, y, line;  // of the first kernel that broke it
    Role role;
};

void allow(const char* category);  // whose text stays
bool is_allowed(const char* category);
void note_complaint(const char* category, const char* message);  // by the kernel that runs
const std::vector<Complaint>& complaints();                      // no thread adds to them any more

}  // namespace vd
