#include "complaints.h"

#include <pthread.h>

#include <cstdio>
#include <cstring>

namespace vd {
namespace {

constexpr std::size_t kMostComplaints = 64;  // of different lines; a program that breaks rules everywhere is told enough

std::vector<const char*> allowed;
std::vector<Complaint> noted;
pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;

bool is_same(const Complaint& one, const char* category) {
    return !std::strcmp(one.category, category) && one.launch == device.launch_index && one.role == fiber->role &&
           one.line == fiber->line;
}

}  // namespace

void allow(const char* category) { allowed.push_back(category); }

bool is_allowed(const char* category) {
    if (!fiber) return false;
    for (const char* one : allowed) {
        if (!std::strcmp(one, category)) return true;
    }
    return false;
}

// The same line on other cores and in later rounds is told once.
void note_complaint(const char* category, const char* message) {
    pthread_mutex_lock(&noting);
    Complaint* found = nullptr;
    for (Complaint& one : noted) {
        if (is_same(one, category)) found = &one;
    }
    if (found) {
        ++found->times;
    } else if (noted.size() < kMostComplaints) {
        Complaint made{category, {}, device.launch_index, 1, core->x, core->y, fiber->line, fiber->role};
        std::snprintf(made.message, sizeof made.message, "%s", message);
        noted.push_back(made);
    }
    pthread_mutex_unlock(&noting);
}

const std::vector<Complaint>& complaints() { return noted; }

}  // namespace vd
