import type { HandlerContext } from '@connectrpc/connect'
import type { Attachment } from '#gen/branchline/v1/release_pb.ts'
import type { App } from '../../app.ts'
import type { ByteRange } from '../../core/byte-ranges.ts'
import { rangeTextOf, setDownloadHeaders } from '../../core/wire/downloads.ts'
import { atSecond } from '../../core/wire/times.ts'
import type { DownloadRequest, StoredFile } from './stored-files.ts'

/** The media type of files that browsers must not interpret. */
export const OCTETS = 'application/octet-stream'

/** Returns a file of a release, an issue, a pull request or a comment. */
export function attachmentMessage(app: App, file: StoredFile): Attachment {
  return {
    $typeName: 'branchline.v1.Attachment',
    id: BigInt(file.id),
    name: file.name,
    size: BigInt(file.bytes),
    downloadCount: BigInt(file.download_count),
    createdAt: atSecond(file.create_time),
    uuid: file.uuid,
    browserDownloadUrl: `${app.publicUrl()}/attachments/${file.uuid}`,
  }
}

/** Returns what the client of a call wants of a file. A file never changes, so its name is its tag. */
export function downloadRequestOf(context: HandlerContext, uuid: string): DownloadRequest {
  const { requestHeader, requestMethod } = context
  return {
    rangeText: rangeTextOf(context, `"${uuid}"`),
    isCounted: requestMethod !== 'HEAD' && !requestHeader.has('if-none-match'),
  }
}

/** Sets the headers of a file, and the status of a part. */
export function setFileDownloadHeaders(
  context: HandlerContext,
  { uuid, name, bytes }: StoredFile,
  disposition: 'inline' | 'attachment',
  range: ByteRange | undefined,
): void {
  setDownloadHeaders(context, { disposition, name, entityTag: `"${uuid}"`, bytes, range })
}
