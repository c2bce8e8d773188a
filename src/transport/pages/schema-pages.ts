import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { create, type DescFile, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { pack } from 'tar-stream'
import { protoFiles } from '#gen/schema.ts'
import { type ConstantPage, constantPage } from './constant-page.ts'
import { importsFirst, protoOf } from './schema-files.ts'

/** Archives are the same on each instance of a version, so that their tags are, too. */
const NO_TIME = new Date(0)

/**
 * The schema for those who generate code from it: as a FileDescriptorSet (descriptor.proto of
 * protobuf), and as proto files with all that they import save for the files of google/protobuf,
 * which each compiler has. Neither tells anything about the instance, so both are for everyone, on
 * a private instance too.
 *
 * @param files of the services and of what answers may carry besides.
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
