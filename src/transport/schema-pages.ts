import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { create, type DescFile, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { pack } from 'tar-stream'
import { protoFiles } from '#gen/schema.ts'
import type { HttpRequest, HttpResponse } from './connection.ts'
import { tagMatches } from './rest/index.ts'
import { importsFirst, protoOf } from './schema-files.ts'

/** Archives are the same on each instance of a version, so that their tags are, too. */
const NO_TIME = new Date(0)

// Clients that ask again get 304, and an update of the server shows at once.
const CACHE_CONTROL = 'public, no-cache'

type Page = (request: HttpRequest, response: HttpResponse) => Promise<void>

/**
 * The schema for those who generate code from it: as a FileDescriptorSet (descriptor.proto of protobuf), and as proto files with all that
 * they import save for the files of google/protobuf, which each compiler has. Neither tells anything about the instance, so both are for
 * everyone, on a private instance too.
 *
 * @param files of the services and of what answers may carry besides.
 */
export function schemaPages(files: readonly DescFile[]): readonly (readonly [path: string, page: Page])[] {
  return [
    ['/schema/branchline.binpb', constantBytes('application/x-protobuf', async () => descriptorSet(files))],
    ['/schema/branchline-proto.tar.gz', constantBytes('application/gzip', archive)],
  ]
}

function descriptorSet(files: readonly DescFile[]): Uint8Array {
  return toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: importsFirst(files).map(protoOf) }))
}

async function archive(): Promise<Uint8Array> {
  const tar = pack()
  for (const [name, text] of protoFiles) tar.entry({ name, mtime: NO_TIME }, text)
  tar.finalize()
  return promisify(gzip)(await buffer(tar))
}

/** A page of bytes that are made when somebody asks first; all answers send the same ones. */
function constantBytes(contentType: string, make: () => Promise<Uint8Array>): Page {
  let made: Promise<{ body: Uint8Array; tag: string }> | undefined
  return async (request, response) => {
    made ??= make().then((body) => ({ body, tag: `"${createHash('sha256').update(body).digest('base64url')}"` }))
    const { body, tag } = await made
    response.setHeader('etag', tag)
    response.setHeader('cache-control', CACHE_CONTROL)
    const known = request.headers['if-none-match']
    if (known !== undefined && tagMatches(known, tag)) {
      response.statusCode = 304
      response.end()
      return
    }
    response.setHeader('content-type', contentType)
    response.setHeader('content-length', body.length)
    // Node leaves the body out of an answer to HEAD.
    response.end(body)
  }
}
