import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { create, type DescFile, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { pack } from 'tar-stream'
import { protoFiles } from '#gen/schema.ts'
import { type ConstantPage, constantPage } from './constant-page.ts'
import { importsFirst, protoOf } from './schema-files.ts'

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
