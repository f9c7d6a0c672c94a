// Prints descriptor sets (binary, as a proto_library builds them) as the text
// that is frozen:
//
//   print_descriptors spec/v1/checkpoint_proto-descriptor-set.proto.bin
#include <iostream>

#include "google/protobuf/text_format.h"
#include "spec/descriptors/frozen_schema.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "print_descriptors: expected one descriptor set\n";
    return 1;
  }
  std::string text;
  google::protobuf::TextFormat::PrintToString(
      reprise::ReadDescriptorSet(argv[1]), &text);
  std::cout << text;
}
