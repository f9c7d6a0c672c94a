#include "conformance/report/write_report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "conformance/report/html.h"
#include "conformance/report/junit.h"
#include "conformance/runner/json_file.h"

namespace reprise::conformance {
namespace {

absl::Status WriteText(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) {
      return absl::InternalError(
          absl::StrCat("cannot write ", path, ": ", strerror(errno)));
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot rename to ", path, ": ", strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteReport(const v1::Report& report, const std::string& folder) {
  absl::Status status = WriteJson(report, folder + "/report.json");
  if (status.ok()) {
    status = WriteText(folder + "/report.html", RenderHtml(report));
  }
  if (status.ok()) {
    status = WriteText(folder + "/junit.xml", RenderJunit(report));
  }
  return status;
}

absl::StatusOr<v1::Report> ReadReport(const std::string& path) {
  v1::Report report;
  absl::Status status = ReadJson(path, &report);
  if (!status.ok()) return status;
  return report;
}

}  // namespace reprise::conformance
