import type { DescFile } from '@bufbuild/protobuf'
import { fromBinary } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { descriptorFile } from '#gen/schema.ts'

const descriptorProto = fromBinary(FileDescriptorProtoSchema, base64Decode(descriptorFile))

/**
 * Returns the descriptor of a file as a compiler creates it. The library's own descriptor of
 * descriptor.proto lacks `go_package` and other options that code generators need.
 */
export function protoOf({ proto }: DescFile): FileDescriptorProto {
  return proto.name === descriptorProto.name ? descriptorProto : proto
}

/**
 * Returns the files and all their direct and indirect imports, each once and after its own imports,
 * as in a FileDescriptorSet.
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
