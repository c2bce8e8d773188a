import type { DescFile } from '@bufbuild/protobuf'
import { fromBinary } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { descriptorFile } from '#gen/schema.ts'

const descriptorProto = fromBinary(FileDescriptorProtoSchema, base64Decode(descriptorFile))

/**
 * The descriptor of a file as a compiler makes it. The library's own one of descriptor.proto is for
 * its start: without `go_package` and other options that generators of code need.
 */
export function protoOf({ proto }: DescFile): FileDescriptorProto {
  return proto.name === descriptorProto.name ? descriptorProto : proto
}

/**
 * The files and all that they import, directly or not, each once and after what it imports (as in a
 * FileDescriptorSet).
 */
export function importsFirst(files: readonly DescFile[]): DescFile[] {
  const ordered = new Set<DescFile>()
  const add = (file: DescFile) => {
    if (ordered.has(file)) return
    file.dependencies.forEach(add)
    ordered.add(file)
  }
  files.forEach(add)
  return [...ordered]
}
