// The text of a report: one JSON object, written without allocating, so that a signal handler may do it.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

namespace vd {

extern int report_descriptor;  // standard output, until process.cpp sets it apart

constexpr std::size_t kReportBytes = 256 * 1024;

// Append-only text in a fixed buffer, usable from a signal handler.
struct Text {
    char at[kReportBytes];
    std::size_t used = 0;

    void raw(const char* text) {
        while (*text && used + 1 < kReportBytes) at[used++] = *text++;
    }
    void number(uint64_t value) {
        char digits[24];
        int count = 0;
        do {
            digits[count++] = static_cast<char>('0' + value % 10);
            value /= 10;
        } while (value);
        while (count && used + 1 < kReportBytes) at[used++] = digits[--count];
    }
    void quoted(const char* text) {
        raw("\"");
        for (; *text; ++text) {
            const char plain[2] = {*text, 0};
            if (*text == '"' || *text == '\\') raw("\\");
            raw(static_cast<unsigned char>(*text) < 32 ? " " : plain);
        }
        raw("\"");
    }
    void field(const char* name, const char* value) {
        quoted(name);
        raw(":");
        quoted(value);
    }
    void field(const char* name, uint64_t value) {
        quoted(name);
        raw(":");
        number(value);
    }
    // What has gathered so far, or a longer text, leaves at once.
    void write_out() {
        write_out(at, used);
        used = 0;
    }
    void write_out(const char* from, std::size_t size) {
        std::size_t sent = 0;
        while (sent < size) {
            const ssize_t count = write(report_descriptor, from + sent, size - sent);
            if (count < 0 && errno != EINTR) break;
            if (count > 0) sent += static_cast<std::size_t>(count);
        }
    }
    [[noreturn]] void send(int code) {
        write_out();
        const bool leads = getpgrp() == getpid();  // a group of its own: processes that kernels have started
        if (code != 0 && leads) kill(0, SIGKILL);
        _exit(code);
    }
};

}  // namespace vd
