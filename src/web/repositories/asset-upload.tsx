import type { VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { upload } from '../api/upload.ts'
import { FailureNote } from '../components/failure-note.tsx'
import { onSubmit } from '../components/field.tsx'
import { useAction } from '../components/load.tsx'

/** The form that adds a file to a release, with its progress. */
export function AssetUpload(props: {
  name: { owner: string; repo: string }
  release: { id: bigint; title: string }
  onUploaded: () => void
}): VNode {
  const { name, release, onUploaded } = props
  const { session } = useApi()
  const id = useId()
  const [part, setPart] = useState(0)
  const ended = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => ended.current?.abort(), [])
  const sending = useAction<HTMLFormElement>(async (form) => {
    const file = new FormData(form).get('file')
    if (!(file instanceof File)) return
    setPart(0)
    const controller = new AbortController()
    ended.current = controller
    const query = new URLSearchParams({ name: file.name })
    await upload({
      href: `/api/v1/repos${repositoryHref(name)}/releases/${release.id}/assets?${query}`,
      file,
      token: await session.token(),
      signal: controller.signal,
      onProgress: setPart,
    })
    form.reset()
    onUploaded()
  })
  return (
    <form onSubmit={onSubmit(sending.run)}>
      <label>
        Add a file to {release.title}
        <input type="file" name="file" required />
      </label>
      <p class="row">
        <button type="submit" disabled={sending.isRunning}>
          Upload<span class="hidden"> to {release.title}</span>
        </button>
        {sending.isRunning && (
          <>
            <label for={id}>
              {part < 1 ? `${Math.floor(part * 100)} % sent` : 'The server stores the file'}
            </label>
            <progress id={id} value={part} max={1} />
            <button type="button" onClick={() => ended.current?.abort()}>
              Stop
            </button>
          </>
        )}
      </p>
      {sending.failure && <FailureNote failure={sending.failure} />}
    </form>
  )
}
