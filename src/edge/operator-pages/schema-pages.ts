import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { create, type DescFile, fromBinary, toBinary } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import { pack } from 'tar-stream'
import { descriptorFile, protoFiles } from '#gen/schema.ts'
import { type ConstantPage, constantPage } from './constant-page.ts'

/** A fixed time, so that archives and their ETags are the same on all instances of a version. */
const NO_TIME = new Date(0)

/**
 * Creates the pages with the schema for code generators: a FileDescriptorSet (descriptor.proto of
 * protobuf), and the proto files with all their imports except google/protobuf, which each compiler
 * has. Both are public on private instances too, since they say nothing about the instance.
 *
 * @param files of the services and of other types that responses may contain.
 */
export function schemaPages(
  files: readonly DescFile[],
): readonly (readonly [path: string, page: ConstantPage])[] {
  return [
    [
      '/schema/branchline.binpb',
      constantPage('application/x-protobuf', () => descriptorSet(files)),
    ],
    ['/schema/branchline-proto.tar.gz', constantPage('application/gzip', archive)],
  ]
}

function descriptorSet(files: readonly DescFile[]): Uint8Array {
  return toBinary(
    FileDescriptorSetSchema,
    create(FileDescriptorSetSchema, { file: importsFirst(files).map(protoOf) }),
  )
}

async function archive(): Promise<Uint8Array> {
  const tar = pack()
  for (const [name, text] of protoFiles) tar.entry({ name, mtime: NO_TIME }, text)
  tar.finalize()
  return promisify(gzip)(await buffer(tar))
}

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
function importsFirst(files: readonly DescFile[]): DescFile[] {
  const ordered = new Set<DescFile>()
  const add = (file: DescFile) => {
    if (ordered.has(file)) return
    file.dependencies.forEach(add)
    ordered.add(file)
  }
  files.forEach(add)
  return [...ordered]
}
