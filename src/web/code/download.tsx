import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import type { HttpBody } from '#gen/google/api/httpbody_pb.ts'
import { useApi } from '../api/client.ts'
import { Command, quoted } from '../components/command.tsx'
import { sizeText } from '../components/formats.tsx'
import { FailureNote, useAction } from '../components/load.tsx'
import { T, t } from '../language/texts.tsx'
import { readFile } from './received.ts'

/** A browser holds the whole file until the file is stored. Larger ones are for a program. */
const MAX_BYTES = 512 * 1024 ** 2

/** A file to download. */
interface RemoteFile {
  readonly name: string
  /** The address of the file. */
  readonly href: string
  /** The size; undefined if the server learns the size while it creates the file. */
  readonly bytes: number | undefined
  /** Whether a browser gets the file, which asks as a stranger. */
  readonly isPublic: boolean
  /** Reads the file as the user. */
  open(signal: AbortSignal): AsyncIterable<HttpBody>
}

/**
 * Returns whether a stranger sees a repository, as far as the page can know. A stranger who sees the
 * page is the proof.
 */
export function useIsPublic({ private: isPrivate, owner }: Repository): boolean {
  const { session } = useApi()
  if (!session.user) return true
  const { instance } = document.documentElement.dataset
  return instance === 'open' && !isPrivate && owner?.visibility === 'public'
}

/** A link to a file, or a button that downloads the file as the user. */
export function Download(props: { file: RemoteFile; children: ComponentChildren }): VNode {
  const { file, children } = props
  if (file.isPublic)
    return (
      <a href={file.href} download>
        {children}
      </a>
    )
  return (file.bytes ?? 0) > MAX_BYTES ? (
    <>
      {children} <LargeFile file={file} />
    </>
  ) : (
    <DownloadButton {...props} />
  )
}

function DownloadButton({ file, children }: Parameters<typeof Download>[0]): VNode {
  const id = useId()
  const [received, setReceived] = useState(0)
  const [result, setResult] = useState<'' | 'saved' | 'stopped' | 'large'>('')
  const ended = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => ended.current?.abort(), [])
  const loading = useAction(async () => {
    const controller = new AbortController()
    ended.current = controller
    setReceived(0)
    setResult('')
    try {
      const content = await readFile(file.open(controller.signal), MAX_BYTES, setReceived)
      if (content) saveFile(file.name, content)
      setResult(content ? 'saved' : 'large')
    } catch (error) {
      if (!controller.signal.aborted) throw error
      setResult('stopped')
    }
  })
  return (
    <div class="download">
      <button type="button" disabled={loading.isRunning} onClick={() => loading.run()}>
        {children}
      </button>
      {loading.isRunning && (
        <>
          <label for={id}>{progressText(received, file.bytes)}</label>
          <progress id={id} value={file.bytes && received} max={file.bytes} />
          <button type="button" onClick={() => ended.current?.abort()}>
            {t('Stop')}
            <span class="hidden"> {t('the download of {file}', { file: file.name })}</span>
          </button>
        </>
      )}
      <span role="status">
        {result === 'saved' && t('Downloaded.')}
        {result === 'stopped' && t('The download was stopped.')}
      </span>
      {result === 'large' && <LargeFile file={file} />}
      {loading.failure && <FailureNote failure={loading.failure} />}
    </div>
  )
}

function progressText(received: number, bytes: number | undefined): string {
  if (bytes === undefined) return t('{size} so far', { size: sizeText(received) })
  return t('{size} of {all}', { size: sizeText(received), all: sizeText(bytes) })
}

/** How a program downloads what is too large for a page. */
function LargeFile({ file: { name, href } }: { file: RemoteFile }): VNode {
  const url = new URL(href, location.origin).href
  return (
    <div class="note">
      <p>
        <T
          text="The file has more than {size}, which is too large for a page. Download the file by this command. {variable} is an {token} that may read repositories."
          size={sizeText(MAX_BYTES)}
          variable={<code>TOKEN</code>}
          token={<a href="/user/settings/tokens">{t('access token')}</a>}
        />
      </p>
      <Command
        label={t('Command that downloads {file}', { file: name })}
        text={`curl -fL -H "Authorization: Bearer $TOKEN" -o ${quoted(name)} ${quoted(url)}`}
      />
    </div>
  )
}

/** Time in which a browser has begun to store a file. */
const START_MS = 60_000

/** Stores bytes of the page as a file of the user. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), START_MS)
}
