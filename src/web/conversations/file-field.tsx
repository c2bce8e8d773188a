import type { RefObject, VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { sendFile } from '../api/uploads.ts'
import { FailureNote, useAction } from '../components/load.tsx'
import { pictureType } from '../components/pictures.ts'
import { t } from '../language/texts.tsx'

/** The files that the user has uploaded for a text that is not sent. */
export interface DraftedFiles {
  /** The UUIDs of those that a text has. */
  within(text: string): string[]
  add(uuids: readonly string[]): void
  clear(): void
}

export interface FileFieldProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly files: DraftedFiles
  /** The text in Markdown that the files are for. */
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly onText: (text: string) => void
}

/** Uploads files that the user chooses, or pastes or drops into a text, and links to them there. */
export function FileField({ name, files, field, onText }: FileFieldProps): VNode {
  const { session } = useApi()
  const sending = useAction(async (chosen: readonly File[]) => {
    const links: string[] = []
    const uuids: string[] = []
    try {
      for (const file of chosen) {
        const { uuid, link } = await upload(name, file, await session.token())
        uuids.push(uuid)
        links.push(link)
      }
    } finally {
      files.add(uuids)
      // The user may have gone on writing.
      if (field.current) onText(inserted(field.current, links.join('\n')))
    }
  })
  const take = (event: Event, chosen: FileList | null | undefined) => {
    if (!chosen || chosen.length === 0 || sending.isRunning) return
    event.preventDefault()
    sending.run([...chosen])
  }
  useEffect(() => {
    const text = field.current
    const ended = new AbortController()
    const { signal } = ended
    text?.addEventListener('paste', (event) => take(event, event.clipboardData?.files), { signal })
    text?.addEventListener('dragover', (event) => event.preventDefault(), { signal })
    text?.addEventListener('drop', (event) => take(event, event.dataTransfer?.files), { signal })
    return () => ended.abort()
  })
  return (
    <>
      <label>
        {t('Attach files, or paste or drop them into the text')}
        <input
          type="file"
          multiple
          disabled={sending.isRunning}
          onChange={(event) => {
            const input = event.currentTarget
            take(event, input.files)
            input.value = ''
          }}
        />
      </label>
      <p role="status">{sending.isRunning && t('The files are being uploaded.')}</p>
      {sending.failure && <FailureNote failure={sending.failure} />}
    </>
  )
}

async function upload(
  name: FileFieldProps['name'],
  file: File,
  token: string | undefined,
): Promise<{ uuid: string; link: string }> {
  const query = new URLSearchParams({ name: file.name })
  const href = `/api/v1/repos${repositoryHref(name)}/issue_uploads?${query}`
  const answer = await sendFile({ href, file, token, signal: new AbortController().signal })
  const { uuid, browser_download_url: url } = JSON.parse(answer) as Record<string, string>
  if (uuid === undefined || url === undefined) throw new Error('the server names no file')
  return { uuid, link: linkTo(file.name, url) }
}

/** Returns Markdown that shows a picture, or links to another file. */
function linkTo(name: string, url: string): string {
  const text = name.replace(/[\\[\]]/g, '\\$&')
  const type = pictureType(name)
  return `${type && type !== 'image/svg+xml' ? '!' : ''}[${text}](${url})`
}

/** Returns the text of a field with more text where the user writes. */
function inserted({ value, selectionEnd }: HTMLTextAreaElement, more: string): string {
  return value.slice(0, selectionEnd) + more + value.slice(selectionEnd)
}
