import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { useApi } from '../api/client.ts'
import { failureOf } from '../api/failure.ts'
import { sizeText, toBase64 } from '../components/formats.tsx'
import { ActionForm } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { plural, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import {
  CommitFields,
  commitOf,
  goToCommitted,
  type WritePlace,
  Writing,
} from './commit-fields.tsx'

/** The form that uploads files into a folder of a branch. */
export function UploadFilesPage({ owner, repo, rest }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Code" title={t('Upload files')}>
      {(repository) => (
        <Writing repository={repository} rest={rest}>
          {(place) => <Uploads key={`${place.branch} ${place.path}`} place={place} />}
        </Writing>
      )}
    </RepositoryFrame>
  )
}

function Uploads({ place }: { place: WritePlace }): VNode {
  const { of } = useApi()
  const { name, branch, repository } = place
  const folder = place.path.replace(/\/*$/, '')
  const present = useLoad(async (signal): Promise<ReadonlyMap<string, string>> => {
    if (repository.empty) return new Map()
    try {
      const request = { ...name, path: folder, ref: branch }
      const { entries } = await of(ContentService).getContents(request, { signal })
      return new Map(entries.map(({ name, sha }) => [name, sha]))
    } catch (error) {
      // The upload creates the folder.
      if (failureOf(error).reason === 'PATH_NOT_FOUND') return new Map()
      throw error
    }
  }, [])
  return (
    <Show of={present} isPage>
      {(blobs) => <UploadForm place={place} folder={folder} present={blobs} />}
    </Show>
  )
}

interface UploadProps {
  readonly place: WritePlace
  readonly folder: string
  /** The ids of what the folder has, by name. */
  readonly present: ReadonlyMap<string, string>
}

function UploadForm({ place, folder, present }: UploadProps): VNode {
  const { of } = useApi()
  const [files, setFiles] = useState<readonly File[]>([])
  const add = (more: FileList | null) => {
    const added = [...(more ?? [])]
    const names = new Set(added.map(({ name }) => name))
    setFiles([...files.filter(({ name }) => !names.has(name)), ...added])
  }
  const send = async (form: HTMLFormElement) => {
    const commit = commitOf(form, place)
    const changes = await Promise.all(files.map((file) => changeOf(file, folder, present)))
    await of(ContentService).changeFiles({ ...commit, files: changes })
    goToCommitted(place, commit.newBranch, folder)
  }
  const [first] = files
  const proposed = files.length === 1 ? `Upload ${first?.name}` : `Upload ${files.length} files`
  return (
    <ActionForm
      label={t('Upload files')}
      submit={t('Commit @action')}
      isDisabled={files.length === 0}
      act={(form) => send(withProposed(form, proposed))}
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the field inside takes the same files */}
      <div
        class="note drop"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault()
          add(event.dataTransfer?.files ?? null)
        }}
      >
        <label>
          {folder === ''
            ? t('Files for the root of the repository')
            : t('Files for {folder}', { folder })}
          <input
            type="file"
            multiple
            onChange={({ currentTarget }) => {
              add(currentTarget.files)
              // The same file can be chosen again after its removal.
              currentTarget.value = ''
            }}
          />
          <span class="hint">{t('Choose several, or drop them here.')}</span>
        </label>
      </div>
      <p role="status">
        {files.length > 0 &&
          plural(files.length, '{count} file to upload.', '{count} files to upload.')}
      </p>
      <ul class="list" aria-label={t('Files to upload')}>
        {files.map((file) => (
          <li key={file.name}>
            {file.name} <span class="facts">{sizeText(file.size)}</span>{' '}
            {present.has(file.name) && <span class="tag">{t('replaces a file')}</span>}{' '}
            <button
              type="button"
              class="small"
              onClick={() => setFiles(files.filter((other) => other !== file))}
            >
              {t('Remove')}
              <span class="hidden"> {file.name}</span>
            </button>
          </li>
        ))}
      </ul>
      <CommitFields place={place} proposed={proposed} />
    </ActionForm>
  )
}

/** Returns a form whose message is the proposed one where the user has typed none. */
function withProposed(form: HTMLFormElement, proposed: string): HTMLFormElement {
  const field = form.elements.namedItem('message')
  if (field instanceof HTMLInputElement && field.value === '') field.value = proposed
  return form
}

async function changeOf(file: File, folder: string, present: UploadProps['present']) {
  return {
    operation: 'upload',
    path: folder === '' ? file.name : `${folder}/${file.name}`,
    content: toBase64(new Uint8Array(await file.arrayBuffer())),
    // The version that the page has shown, so that no newer one is replaced unseen.
    sha: present.get(file.name) ?? '',
  }
}
