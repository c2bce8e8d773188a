import type { VNode } from 'preact'
import { IssueAttachmentService } from '#gen/branchline/v1/issue_attachment_service_pb.ts'
import type { Attachment } from '#gen/branchline/v1/release_pb.ts'
import { useApi } from '../api/client.ts'
import { Download } from '../code/download.tsx'
import { sizeText } from '../components/formats.tsx'
import { t } from '../language/texts.tsx'

/** The files that are attached to a text. */
export function AttachedFiles({ files }: { files: readonly Attachment[] }): VNode {
  return (
    <ul aria-label={t('Attachments')}>
      {files.map((file) => (
        <li key={file.uuid}>
          <AttachedFile file={file} /> ({sizeText(file.size)})
        </li>
      ))}
    </ul>
  )
}

function AttachedFile({ file }: { file: Attachment }): VNode {
  const { of, session } = useApi()
  const { uuid, name, size, browserDownloadUrl } = file
  const remote = {
    name,
    href: browserDownloadUrl,
    bytes: Number(size),
    // The browser asks as a stranger.
    isPublic: session.user === undefined,
    open: (signal: AbortSignal) =>
      of(IssueAttachmentService).downloadAttachment({ uuid }, { signal }),
  }
  return <Download file={remote}>{name}</Download>
}
