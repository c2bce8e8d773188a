import type { HandlerContext } from '@connectrpc/connect'
import type { Attachment } from '#gen/branchline/v1/release_pb.ts'
import type { App } from '../../app.ts'
import {
  rangeTextOf,
  redirectMethodOf,
  setDownloadHeaders,
  setRedirect,
} from '../../core/wire/downloads.ts'
import { dispositionOf, httpBodies } from '../../core/wire/http-bodies.ts'
import { atSecond } from '../../core/wire/times.ts'
import type { Download, DownloadRequest, StoredFile } from './stored-files.ts'

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
    redirectMethod: redirectMethodOf(context),
  }
}

/** How clients are to treat a file. */
export interface FileTreatment {
  readonly contentType: string
  readonly disposition: 'inline' | 'attachment'
}

/**
 * Returns the messages of a response with a file, and sets its headers. A client that gets the file from
 * the store gets a redirect instead.
 */
export async function* fileBodies(
  context: HandlerContext,
  { file, range, chunks, redirect }: Download,
  { contentType, disposition }: FileTreatment,
): ReturnType<typeof httpBodies> {
  const { uuid, name, bytes } = file
  if (redirect) {
    setRedirect(
      context,
      await redirect({ contentType, disposition: dispositionOf(disposition, name) }),
    )
  } else setDownloadHeaders(context, { disposition, name, entityTag: `"${uuid}"`, bytes, range })
  yield* httpBodies(contentType, chunks)
}
